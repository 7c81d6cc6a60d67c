import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CACHE_ENV, SERVICE_FILE, freePort, httpStatusOf } from '../process/program.ts';
import { until } from '../support/until.ts';

/**
 * A fenced block of a guide. `runGuide` runs all blocks in order, in one shell with its own home folder, starting in the
 * folder of the repository. The info string gives the kind of a block:
 *
 * - `sh` is a command that must succeed; `sh server` keeps running and replaces an earlier server with the same command.
 * - `ts file=NAME` is written to a file in the current folder; `ts` and `js` without a name are run there.
 * - `json` must have the same fields as the output of the command before it, with any values; `json sample` must be JSON.
 * - `text` contains lines of the output, in order; `...` stands for any text.
 */
export interface GuideBlock {
  language: string;
  words: string[];
  text: string;
  /** Line number in the guide, from 1. */
  line: number;
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const FENCE = /^( *)```(\S*)(?: (.*))?\n([\s\S]*?)\n\1```$/gm;
/** Long timeouts, because on a busy machine the start of a process alone can take 20 s. */
const COMMAND_LIMIT_MS = 120_000;
const TIMEOUT_MS = 60_000;
// Ports in the guides. The runner replaces them with free ports.
const SERVICE_PORT = /(?<=127\.0\.0\.1:|localhost:)3000\b/g;
const SHOP_PORT = /(?<=127\.0\.0\.1:|localhost:|PORT=|listen\()4000\b/g;

/** All fenced blocks of a guide, in order. */
export function guideBlocksOf(markdown: string): GuideBlock[] {
  return Array.from(
    markdown.matchAll(FENCE),
    ({ 1: indent = '', 2: language = '', 3: words = '', 4: text = '', index }) => ({
      language,
      words: words.split(' ').filter((word) => word !== ''),
      text: text
        .split('\n')
        .map((line) => line.slice(Math.min(indent.length, line.search(/\S|$/))))
        .join('\n'),
      line: markdown.slice(0, index).split('\n').length,
    }),
  );
}

/** Runs every block, and resolves with the number of blocks. Rejects at the first block that fails. */
export async function runGuide(markdown: string, { timeoutMs = TIMEOUT_MS } = {}): Promise<number> {
  await using runner = await createRunner(timeoutMs);
  const blocks = guideBlocksOf(markdown);
  for (const block of blocks) {
    try {
      await runner.runBlock(block);
    } catch (error) {
      throw new Error(`line ${block.line}: ${(error as Error).message}\n${block.text}`, { cause: error });
    }
  }
  return blocks.length;
}

let lastPacking: Promise<unknown> = Promise.resolve();

/** Runs one `npm pack` at a time, because every `npm pack` builds the SDK in the same folder of the repository. */
function packOneAtATime(work: () => Promise<void>): Promise<void> {
  const packing = lastPacking.then(work);
  lastPacking = packing.catch(() => undefined);
  return packing;
}

interface Server {
  command: string;
  process: ChildProcess;
  output(): string;
}

interface Runner extends AsyncDisposable {
  runBlock(block: GuideBlock): Promise<void>;
}

async function createRunner(timeoutMs: number): Promise<Runner> {
  const home = mkdtempSync(join(tmpdir(), 'tillway-guide-'));
  const ports = { service: await freePort(), shop: await freePort() };
  const url = `http://127.0.0.1:${ports.service}`;
  const environment = environmentOf(home, { PORT: String(ports.service), TILLWAY_URL: url });
  const servers: Server[] = [];
  let folder = ROOT;
  let state = '';
  let lastOutput = '';

  function withFreePorts(text: string): string {
    return text.replace(SERVICE_PORT, String(ports.service)).replace(SHOP_PORT, String(ports.shop));
  }

  function script(text: string): string {
    return `set -a\n${state}\ncd '${folder}'\nset -eo pipefail\n${text}\n`;
  }

  async function runCommand(text: string): Promise<void> {
    const stateFile = join(home, '.state');
    const child = bash(`${script(text)}{ pwd; declare -px; declare -f; } > '${stateFile}'`);
    const output = outputOf(child);
    const timer = setTimeout(() => kill(child), COMMAND_LIMIT_MS);
    const code = await new Promise((resolve) => child.once('close', resolve));
    clearTimeout(timer);
    lastOutput = output.stdout();
    if (code !== 0) throw new Error(`ended with ${String(code)}: ${output.stdout()}${output.stderr()}`);
    [, folder = '', state = ''] = /^(.*)\n([^]*)$/.exec(readFileSync(stateFile, 'utf8')) ?? [];
  }

  async function startServer(text: string): Promise<void> {
    const [lastLine = ''] = text.trim().split('\n').slice(-1);
    const words = lastLine.replace(/^(?:\w+=(?:\$\([^)]*\)|\S)+ )+/, '').split(' ');
    const command = words.slice(0, 2).join(' ');
    const earlier = servers.findIndex((server) => server.command === command);
    if (earlier !== -1) await stopServers(...servers.splice(earlier, 1));
    const child = bash(script(text));
    const output = outputOf(child);
    servers.push({ command, process: child, output: output.stdout });
    const ready = () =>
      command === 'npm start' ? httpStatusOf(`${url}/readyz`).then((status) => status === 200) : output.stdout() !== '';
    await until(
      () => child.exitCode !== null || ready(),
      () => `the server did not become ready: ${output.stdout()}${output.stderr()}`,
      timeoutMs,
    );
    const printed = `${output.stdout()}${output.stderr()}`;
    if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}: ${printed}`);
  }

  function bash(text: string): ChildProcess {
    // The shell gets its own process group, so that `kill` also ends the children.
    return spawn('bash', ['--noprofile', '--norc', '-c', text], { env: environment, detached: true, cwd: ROOT });
  }

  async function expectPrinted(expected: string): Promise<void> {
    const pattern = patternOf(expected);
    const printed = () => [lastOutput, ...servers.map(({ output }) => output())].map(withoutColours);
    await until(
      () => printed().some((text) => pattern.test(text)),
      () => `the expected text was not printed, but:\n${printed().join('\n---\n')}`,
      timeoutMs,
    );
  }

  async function runBlock(block: GuideBlock): Promise<void> {
    const { language, words } = block;
    const text = withFreePorts(block.text);
    const file = words.find((word) => word.startsWith('file='))?.slice('file='.length);
    if (file !== undefined) write(file, text);
    else if (language === 'sh' && words.includes('server')) await startServer(text);
    else if (language === 'sh')
      await (/\bnpm pack\b/.test(text) ? packOneAtATime(() => runCommand(text)) : runCommand(text));
    else if (language === 'ts' || language === 'js') {
      const name = `snippet.${language === 'ts' ? 'ts' : 'mjs'}`;
      write(name, text);
      await runCommand(`node ${name}`);
    } else if (language === 'json' && words.includes('sample')) JSON.parse(text);
    else if (language === 'json') assertAlike(JSON.parse(lastOutput), JSON.parse(text), 'the output');
    else if (language === 'text') await expectPrinted(text);
    else throw new Error(`blocks of "${language}" cannot be run`);
  }

  function write(name: string, text: string): void {
    if (join(folder, '/') === ROOT) throw new Error(`${name} would be written into the repository`);
    writeFileSync(join(folder, name), `${text}\n`);
  }

  return {
    runBlock,
    async [Symbol.asyncDispose]() {
      await stopServers(...servers);
      rmSync(home, { recursive: true, force: true });
    },
  };
}

/** Environment of the commands of a guide, with `tillway` and `npx tillway` from this repository. */
export function environmentOf(home: string, variables: Record<string, string>): Record<string, string> {
  const programs = join(home, '.programs');
  mkdirSync(programs);
  const scripts = {
    tillway: `exec '${process.execPath}' '${fileURLToPath(SERVICE_FILE)}' "$@"`,
    // The real npx takes half a second; test/process/commands.test.ts runs it once.
    npx: '[ "$1" = tillway ] || { echo "npx $1?" >&2; exit 1; }\nexec "$@"',
    // A rejected request must fail the block.
    curl: 'PATH=${PATH#*:} exec curl --fail-with-body "$@"',
  };
  for (const [name, script] of Object.entries(scripts)) {
    writeFileSync(join(programs, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }
  return {
    ...CACHE_ENV,
    HOME: home,
    PATH: [programs, dirname(process.execPath), process.env['PATH']].join(delimiter),
    DATABASE_URL: `sqlite:${join(home, '.tillway.db')}`,
    SHUTDOWN_DELAY: '0',
    npm_config_audit: 'false',
    npm_config_fund: 'false',
    npm_config_offline: 'true',
    npm_config_update_notifier: 'false',
    ...variables,
  };
}

function outputOf(child: ChildProcess): { stdout(): string; stderr(): string } {
  let stdout = '';
  let stderr = '';
  child.stdout!.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr!.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  return { stdout: () => stdout, stderr: () => stderr };
}

async function stopServers(...servers: Server[]): Promise<void> {
  await Promise.all(
    servers.map(async ({ process: child }) => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = new Promise((resolve) => child.once('close', resolve));
      kill(child);
      await ended;
    }),
  );
}

function kill(child: ChildProcess): void {
  process.kill(-child.pid!, 'SIGKILL');
}

function withoutColours(text: string): string {
  return text.replace(/\u001B\[[\d;]*m/g, '');
}

/** Pattern of all lines in order, with any text before, between and after them. */
function patternOf(expected: string): RegExp {
  const lines = expected
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) =>
      line
        .trim()
        .split(/\.{3}|…/)
        .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`).replace(/ +/g, ' +'))
        .join('.*'),
    );
  return new RegExp(lines.map((line) => `^.*${line}.*$`).join(String.raw`\n(?:.*\n)*?`), 'm');
}

/** Asserts that both values have the same fields, with values of the same types. */
function assertAlike(actual: unknown, expected: unknown, where: string): void {
  if (kindOf(actual) !== kindOf(expected))
    throw new Error(`${where} is ${kindOf(actual)}, shown as ${kindOf(expected)}`);
  if (Array.isArray(expected)) {
    for (const [index, item] of expected.entries())
      assertAlike((actual as unknown[])[index], item, `${where}[${index}]`);
  } else if (typeof expected === 'object' && expected !== null) {
    const names = (value: object) => Object.keys(value).toSorted().join(', ');
    if (names(actual as object) !== names(expected)) throw new Error(`${where} has ${names(actual as object)}`);
    for (const [name, value] of Object.entries(expected)) {
      assertAlike((actual as Record<string, unknown>)[name], value, `${where}.${name}`);
    }
  }
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}
