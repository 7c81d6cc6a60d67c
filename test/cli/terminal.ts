import type { Terminal } from '../../src/cli/context.ts';
import type { LocalCommands } from '../../src/cli/local.ts';
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

/** A terminal that keeps what is written to it: no colours, no input, a clock and chance that stand still. */
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

/** What works on this machine is left to tests that run the program as a process. */
const NOTHING_LOCAL: LocalCommands = {
  serve: () => Promise.reject(new Error('no service is started here')),
  database: () => Promise.reject(new Error('there is no database here')),
};

/** Runs a command line in this process, against a service. */
export function runIn(on: { url: string }, ...args: string[]): Promise<Ended> {
  return runWith({ url: on.url }, ...args);
}

/** The same in a terminal with something of its own. */
export function runWith(overrides: Partial<Terminal>, ...args: string[]): Promise<Ended> {
  return runOn(NOTHING_LOCAL, overrides, ...args);
}

/** The same on a machine that has something. */
export async function runOn(local: LocalCommands, overrides: Partial<Terminal>, ...args: string[]): Promise<Ended> {
  const { terminal, stdout, stderr } = createTerminal(overrides);
  const code = await runTillway(args, terminal, local);
  return { code, stdout: stdout(), stderr: stderr() };
}
