import assert from 'node:assert/strict';
import type { Terminal } from '../../src/cli/command-context.ts';
import type { LocalCommands } from '../../src/cli/local-commands.ts';
import { runTillway } from '../../src/cli/program.ts';

/** Exit code and output of a command. */
export interface CommandResult {
  code: number;
  stdout: string;
  stderr: string;
}

/** Terminal for a command, with the output that the command has written. */
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

/** Local commands that fail. The tests of local commands start a process. */
export const NOTHING_LOCAL: LocalCommands = {
  serve: () => Promise.reject(new Error('no service is started here')),
  database: () => Promise.reject(new Error('there is no database here')),
  providers: () => Promise.reject(new Error('there are no settings here')),
};

/** Words of a command line: the first argument is split at spaces, further arguments are one word each. */
function wordsOf([start, ...others]: readonly string[]): string[] {
  return start === undefined ? [] : [...start.split(' '), ...others];
}

/** Runs a command line in the test process, against a service. Only the first argument can contain several words. */
export function runIn(on: { url: string }, ...args: string[]): Promise<CommandResult> {
  return runWith({ url: on.url }, ...args);
}

/** Runs a command line with overrides of the terminal. */
export function runWith(overrides: Partial<Terminal>, ...args: string[]): Promise<CommandResult> {
  return runOn(NOTHING_LOCAL, overrides, ...args);
}

/** Runs a command line with local commands and overrides of the terminal. */
export async function runOn(
  local: Partial<LocalCommands>,
  overrides: Partial<Terminal>,
  ...args: string[]
): Promise<CommandResult> {
  const { terminal, stdout, stderr } = createTerminal(overrides);
  const code = await runTillway(wordsOf(args), terminal, { ...NOTHING_LOCAL, ...local });
  return { code, stdout: stdout(), stderr: stderr() };
}

/** Functions that run commands against a service and assert their exit code. `group`: the first words of each command line. */
export function commandsOn(on: () => { url: string }, ...group: string[]) {
  /** Runs a command that succeeds; returns its output. */
  async function stdoutOf(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await runIn(on(), ...group, ...wordsOf(args));
    assert.deepEqual([code, stderr], [0, ''], `${args.join(' ')}: ${stdout}${stderr}`);
    return stdout;
  }
  return {
    stdoutOf,
    json: async <Body>(...args: string[]) => JSON.parse(await stdoutOf(...args, '--json')) as Body,
    /** Runs a command that fails with the given exit code and prints only errors; returns the error output. */
    async stderrOf(code: 1 | 2, ...args: string[]): Promise<string> {
      const ended = await runIn(on(), ...group, ...wordsOf(args));
      assert.deepEqual([ended.code, ended.stdout], [code, ''], ended.stderr);
      assert.match(ended.stderr, /^tillway: .+\n/);
      return ended.stderr;
    },
  };
}
