import assert from 'node:assert/strict';
import type { Terminal } from '../../src/cli/command-context.ts';
import type { LocalCommands } from '../../src/cli/local-commands.ts';
import { runTillway } from '../../src/cli/program.ts';

export interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

export interface TestTerminal {
  terminal: Terminal;
  /** Everything written so far. */
  stdout(): string;
  stderr(): string;
}

/** A terminal that records the output: no colours, no input, a fixed clock and fixed random bytes. */
export function createTerminal(overrides: Partial<Terminal> = {}): TestTerminal {
  let stdout = '';
  let stderr = '';
  return {
    terminal: {
      write: (text) => void (stdout += text),
      complain: (text) => void (stderr += text),
      readInput: () => Promise.resolve(new Uint8Array()),
      colour: { output: false, errors: false },
      columns: undefined,
      url: undefined,
      apiKey: undefined,
      webhookSecret: undefined,
      now: () => Date.parse('2026-03-01T12:00:00.000Z'),
      randomBytes: (size) => new Uint8Array(size),
      sleep: () => Promise.resolve(),
      interruption: () => new AbortController().signal,
      ...overrides,
    },
    stdout: () => stdout,
    stderr: () => stderr,
  };
}

/** Commands that work on this machine are tested as processes. */
const NOTHING_LOCAL: LocalCommands = {
  serve: () => Promise.reject(new Error('no service is started here')),
  database: () => Promise.reject(new Error('there is no database here')),
};

/** The words of a command line: its start, separated by spaces, and further words that can contain spaces. */
function wordsOf([start, ...others]: readonly string[]): string[] {
  return start === undefined ? [] : [...start.split(' '), ...others];
}

/** Runs a command line in this process, against a service. Only its first argument can be several words. */
export function runIn(on: { url: string }, ...args: string[]): Promise<Ended> {
  return runWith({ url: on.url }, ...args);
}

/** The same with overrides of the terminal. */
export function runWith(overrides: Partial<Terminal>, ...args: string[]): Promise<Ended> {
  return runOn(NOTHING_LOCAL, overrides, ...args);
}

/** The same with local commands. */
export async function runOn(local: LocalCommands, overrides: Partial<Terminal>, ...args: string[]): Promise<Ended> {
  const { terminal, stdout, stderr } = createTerminal(overrides);
  const code = await runTillway(wordsOf(args), terminal, local);
  return { code, stdout: stdout(), stderr: stderr() };
}

/** Runs commands against a service, and asserts how they end. `group`: the first words of each command line. */
export function commandsOn(on: () => { url: string }, ...group: string[]) {
  /** The output of a command that succeeds. */
  async function told(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await runIn(on(), ...group, ...wordsOf(args));
    assert.deepEqual([code, stderr], [0, ''], `${args.join(' ')}: ${stdout}${stderr}`);
    return stdout;
  }
  return {
    told,
    json: async <Body>(...args: string[]) => JSON.parse(await told(...args, '--json')) as Body,
    /** The error output of a command that fails with that exit code and prints nothing else. */
    async complaint(code: 1 | 2, ...args: string[]): Promise<string> {
      const ended = await runIn(on(), ...group, ...wordsOf(args));
      assert.deepEqual([ended.code, ended.stdout], [code, ''], ended.stderr);
      assert.match(ended.stderr, /^tillway: .+\n/);
      return ended.stderr;
    },
  };
}
