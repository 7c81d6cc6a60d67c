// @run needs=process
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, it, test } from 'node:test';
import { promisify } from 'node:util';
import manifest from '../../package.json' with { type: 'json' };
import { hasColour } from '../../src/cli/colour.ts';
import { OutputClosedError, examplesOf } from '../../src/cli/command-context.ts';
import { commandsIn, pathOf } from '../../src/cli/command-group.ts';
import { LOCAL, parsedAs, commandTree } from './parsed-as.ts';
import { runOn, runWith } from './terminal.ts';

// These commands print no data, or report their progress while they run.
const WITHOUT_JSON = new Set([
  'tillway serve',
  'tillway mcp',
  'tillway completion',
  'tillway ledger export',
  'tillway providers routes',
]);
const LOCAL_COMMANDS = new Set([
  'tillway serve',
  'tillway migrate',
  'tillway doctor',
  'tillway endpoints forget-secrets',
  'tillway providers addresses',
  'tillway providers check',
  'tillway providers routes',
  'tillway providers scan',
  'tillway keys create',
  'tillway keys list',
  'tillway keys revoke',
  'tillway operators invite',
  'tillway completion',
  'tillway webhook verify',
]);

const commands = commandsIn(commandTree());
const leaves = commands.filter((command) => command.commands.length === 0);

describe('every command', () => {
  it('the tests find the commands in the command tree', () => assert.ok(leaves.length > 60));

  it('every command reads API keys from environment variables, never from arguments, which other programs can read', () => {
    const takes = (word: RegExp) =>
      commands.flatMap((command) =>
        [
          ...command.options.map(({ flags }) => flags),
          ...command.registeredArguments.map((argument) => argument.name()),
        ]
          .filter((text) => word.test(text) && !/^--idempotency-key|<key=value>$/.test(text))
          .map((text) => `${pathOf(command)} ${text}`),
      );
    // The id of a key, and the address of a contract, are not secret.
    assert.deepEqual(takes(/key|token|password|credential/i), [
      'tillway keys revoke key',
      'tillway providers scan --token <address>',
    ]);
    // These commands help to develop a receiver, which has a test secret. Both also read WEBHOOK_SECRET.
    assert.deepEqual(takes(/secret/i), [
      'tillway listen --secret <secret>',
      'tillway webhook verify --secret <secret>',
    ]);
  });

  for (const command of leaves) {
    const path = pathOf(command);
    it(`every command has help with examples and the common options: ${path}`, async () => {
      const { code, stdout, stderr } = await runOn(LOCAL, {}, `${path} --help`.slice('tillway '.length));
      assert.deepEqual([code, stderr], [0, '']);
      assert.ok(stdout.startsWith(`Usage: ${path} `), stdout);
      assert.ok(command.summary() !== '' && stdout.includes(command.summary().split(' ')[0]!));
      const [prose = '', examples] = stdout.split('\nExamples:\n  ');
      assert.ok(examples !== undefined && prose.split('\n').every((line) => line.length <= 110), stdout);
      const flags = command.options.map(({ long }) => long);
      assert.equal(flags.includes('--json'), !WITHOUT_JSON.has(path));
      assert.equal(flags.includes('--url'), !LOCAL_COMMANDS.has(path));
      assert.ok(flags.includes('--no-color'));
    });

    for (const line of examplesOf(command)) {
      it(`every command has a valid example: ${line}`, () => assert.equal(parsedAs(line), path));
    }
  }

  for (const group of commandsIn(commandTree()).filter(({ commands }) => commands.length > 0)) {
    it(`the help of a command group shows an example of each of its commands: ${pathOf(group)}`, async () => {
      const { stdout } = await runOn(LOCAL, {}, ...pathOf(group).split(' ').slice(1), '--help');
      const examples = stdout.split('\nExamples:\n')[1]!.match(/^ {2}tillway .*$/gm)!;
      for (const line of examples) assert.ok(parsedAs(line.trim()).startsWith(pathOf(group)), line);
    });
  }

  it('`tillway help <command>` prints the same help as `--help`', async () => {
    const { stdout } = await runOn(LOCAL, {}, 'payments', 'list', '--help');
    assert.deepEqual(await runOn(LOCAL, {}, 'help', 'payments', 'list'), { code: 0, stdout, stderr: '' });
    assert.equal((await runOn(LOCAL, {}, 'help', 'payments', 'list', 'x')).stdout, stdout);
    assert.match(
      (await runOn(LOCAL, {}, 'payments', '--help')).stdout,
      /^Usage: tillway payments \[options\] \[command\]/,
    );
  });
});

/** Packages that a file imports statically, directly or through other files. */
function packagesOf(file: URL, seen = new Set<string>()): Set<string> {
  const packages = new Set<string>();
  if (seen.has(file.href)) return packages;
  seen.add(file.href);
  const imports = readFileSync(file, 'utf8').matchAll(/^(?:import|export) (?!type )[^;]*?from '([^']+)';$/gms);
  for (const [, specifier] of imports) {
    const inner = specifier!.startsWith('.') ? packagesOf(new URL(specifier!, file), seen) : [specifier!];
    for (const each of inner) packages.add(each);
  }
  return packages;
}

describe('static imports', () => {
  it('the static imports of the command line and the service omit packages that are not needed for the start', () => {
    const packages = packagesOf(new URL('../../src/cli/program.ts', import.meta.url));
    assert.deepEqual(
      [...packages].filter((name) => !name.startsWith('node:')),
      ['commander'],
    );
    assert.deepEqual([...packagesOf(new URL('../../src/main.ts', import.meta.url))], []);
    const served = packagesOf(new URL('../../src/service.ts', import.meta.url));
    assert.ok(served.has('fastify'));
    // The code imports these packages when it first needs them (docs/benchmarks.md).
    for (const name of ['node:http', 'undici', 'pg', 'csv-parse/sync', 'csv-stringify/sync', 'prom-client']) {
      assert.ok(!served.has(name), name);
    }
  });
});

describe('the program tillway', () => {
  it('the program `tillway` lists the commands on one screen', async () => {
    const { code, stdout, stderr } = await runOn(LOCAL, {}, '--help');
    assert.deepEqual([code, stderr], [0, '']);
    const lines = stdout.split('\n');
    assert.ok(lines.length <= 60 && lines.every((line) => line.length <= 110), stdout);
    for (const heading of ['Service:', 'Payments:', 'Webhooks:', 'Routing:']) assert.ok(lines.includes(heading));
    for (const command of commandTree().commands)
      assert.match(stdout, new RegExp(`^ {2}${command.name()}\\b.* {2,}\\S`, 'm'));
    assert.equal((await runOn(LOCAL, {}, 'help')).stdout, stdout);
    assert.ok((await runOn(LOCAL, { columns: 64 }, '--help')).stdout.split('\n').length > lines.length);
  });

  it('the program `tillway` prints its version', async () => {
    const { code, stdout } = await runOn(LOCAL, {}, '--version');
    assert.equal(code, 0);
    assert.equal(stdout, `${manifest.version}\n`);
  });

  it('`tillway serve` starts the service', async () => {
    let started = 0;
    const serve = () => Promise.resolve(void started++);
    for (const line of ['serve', 'serve --no-color'])
      assert.equal((await runOn({ ...LOCAL, serve }, {}, line)).code, 0);
    assert.equal(started, 2);
  });

  it('`tillway` without a command shows its help, starts nothing, and exits with 2', async () => {
    const serve = () => Promise.reject(new Error('nothing may start'));
    const { stdout: help } = await runOn(LOCAL, {}, '--help');
    assert.deepEqual(await runOn({ ...LOCAL, serve }, {}), { code: 2, stdout: '', stderr: help });
  });

  it('the program function rejects with the error of the service if the service cannot start', async () => {
    const serve = () => Promise.reject(new Error('it cannot start'));
    await assert.rejects(runOn({ ...LOCAL, serve }, {}, 'serve', '--no-color'), /it cannot start/);
  });

  for (const [line, expected] of [
    [
      'docter',
      /^tillway: unknown command 'docter'\n\(Did you mean doctor\?\)\n\nUsage: +tillway \[options\] \[command\]/,
    ],
    ['nothing at all', /^tillway: unknown command 'nothing'\n/],
    ['help docter', /^tillway: unknown command 'docter'\n/],
    ['help payments lst', /^tillway: unknown command 'lst'\n/],
    ['--verison', /^tillway: unknown option '--verison'\n/],
    [
      'doctor --fix',
      /^tillway: unknown option '--fix'\n\nUsage: +tillway doctor \[options\]\nExample: +tillway doctor\n/,
    ],
    ['serve now', /^tillway: too many arguments for 'serve'/],
    ['migrate now', /^tillway: too many arguments for 'migrate'/],
    ['fees 5 --jsn', /^tillway: unknown option '--jsn'\n\(Did you mean --json\?\)\n/],
    ['fees 5 --kind', /^tillway: option '--kind <kind>' argument missing\n/],
    ['checkout', /^Usage: tillway checkout \[options\] \[command\]/],
    ['completion powershell', /Allowed choices are bash, zsh, fish/],
  ] as const) {
    it(`the program exits with 2, names the mistake, and does nothing: ${line}`, async () => {
      const local = {
        serve: () => assert.fail('the service was started'),
        database: () => assert.fail('the database was opened'),
      };
      const { code, stdout, stderr } = await runOn(local, { url: 'http://127.0.0.1:1' }, line);
      assert.deepEqual([code, stdout], [2, '']);
      assert.match(stderr, expected);
    });
  }

  for (const args of [['docter'], ['fees abc'], ['fees 5 --kind cash'], ['checkout create'], ['payments get', '']]) {
    it(`the program reports misuse as JSON: ${args.join(' ')} --json`, async () => {
      const { code, stdout, stderr } = await runOn(LOCAL, { url: 'http://127.0.0.1:1' }, ...args, '--json');
      const { ok, error } = JSON.parse(stdout) as { ok: boolean; error: Record<string, string> };
      assert.deepEqual([code, ok, error['code']], [2, false, 'misuse']);
      assert.ok(stderr.startsWith(`tillway: ${error['message']}`), stderr);
      assert.match(error['suggestion']!, /^See tillway .*--help\.$/);
    });
  }
});

test('required options are marked in the help, and the error names all missing ones', async () => {
  const { stdout } = await runOn(LOCAL, {}, 'checkout create --help');
  const marked = Array.from(stdout.matchAll(/^ +(--\w+) .*\(required\)$/gm), ([, name]) => name);
  assert.deepEqual(marked, ['--product', '--amount', '--customer']);
  const { code, stderr } = await runOn(LOCAL, {}, 'checkout create --amount 5');
  assert.equal(code, 2);
  assert.match(stderr, /^tillway: required options '--product <text>', '--customer <email>' not specified\n/);
});

test('a command whose output is closed exits with the code of SIGPIPE', async () => {
  const write = () => {
    throw new OutputClosedError();
  };
  assert.equal((await runOn(LOCAL, { write }, 'completion bash')).code, 141);
});

describe('colours', () => {
  const cases: [variables: Record<string, string>, isTerminal: boolean, expected: boolean][] = [
    [{}, true, true],
    [{}, false, false],
    [{ NO_COLOR: '1' }, true, false],
    [{ NO_COLOR: '', FORCE_COLOR: '' }, true, true],
    [{ TERM: 'dumb' }, true, false],
    [{ FORCE_COLOR: '1' }, false, true],
    [{ FORCE_COLOR: '0' }, true, false],
    [{ FORCE_COLOR: '1', NO_COLOR: '1' }, true, true],
  ];
  for (const [variables, isTerminal, expected] of cases) {
    it(`colours are ${expected ? '' : 'not '}written to a ${isTerminal ? 'terminal' : 'pipe'} with the variables ${JSON.stringify(variables)}`, () =>
      assert.equal(hasColour(variables, isTerminal), expected));
  }
});

describe('tillway completion', () => {
  /** Completions that bash offers at the end of a command line. */
  async function completionsOf(line: string): Promise<string[]> {
    const { stdout: script } = await runWith({}, 'completion', 'bash');
    // Bash splits words at `=`, which is a separate word.
    const words = line.split(' ').flatMap((word) => word.split(/(?==)|(?<==)/));
    const quoted = words.map((word) => `'${word}'`).join(' ');
    const completionScript = `COMP_WORDS=(${quoted}); COMP_CWORD=${words.length - 1}; _tillway; printf '%s\\n' "\${COMPREPLY[@]}"`;
    // The PATH is invalid, because the completion must need no program besides bash.
    const ended = await promisify(execFile)('bash', ['--norc', '-c', `PATH=/nowhere\n${script}\n${completionScript}`]);
    assert.equal(ended.stderr, '');
    return ended.stdout.split('\n').filter((word) => word !== '');
  }

  const lines: [line: string, words: string[]][] = [
    ['tillway pay', ['payments']],
    ['tillway payments ', ['list', 'get']],
    ['tillway payments l', ['list']],
    ['tillway routes rules ', ['show', 'check', 'save']],
    ['tillway fees 10 --k', ['--kind']],
    ['tillway fees 10 --kind ', ['card', 'wallet', 'local']],
    ['tillway fees 10 --kind=w', ['wallet']],
    ['tillway fees 10 --kind=', ['card', 'wallet', 'local']],
    ['tillway payments --st', ['--status', '--starting-after']],
    ['tillway invoices list --status ', ['open', 'paid', 'void']],
    ['tillway routes override sandbox_card_backup ', ['live', 'degraded', 'standby', 'automatic']],
    ['tillway completion ', ['bash', 'zsh', 'fish']],
    ['tillway --v', ['--version']],
    ['tillway fees --url ', []],
    ['tillway payments get ', []],
  ];
  for (const [line, words] of lines) {
    it(`\`tillway completion\` completes in bash: ${line}`, async () =>
      assert.deepEqual(await completionsOf(line), words));
  }

  it('`tillway completion` does not execute words of the command line', async () => {
    assert.deepEqual(await completionsOf('tillway fees $(exit;echo`exit`) --k'), ['--kind']);
  });

  it('`tillway completion` offers every command and option in each shell', async () => {
    for (const shell of ['bash', 'zsh', 'fish']) {
      const { code, stdout } = await runWith({}, 'completion', shell);
      assert.equal(code, 0);
      for (const command of leaves) {
        const path = pathOf(command).split(' ').slice(1).join(' ');
        assert.ok(stdout.includes(`'${path}'`), `${path} in ${shell}`);
        for (const { long } of command.options) {
          assert.ok(stdout.includes(shell === 'fish' ? `-l ${long!.slice(2)}` : long!), `${long} in ${shell}`);
        }
      }
    }
  });
});
