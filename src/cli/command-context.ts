import { styleText } from 'node:util';
import { Command, type Option } from 'commander';
import { Tillway } from '../../sdk/src/index.ts';
import { environmentOfKey } from '../domain/api-key.ts';
import type { Environment } from '../domain/route.ts';

/** Input, output and environment variables of a command: a real terminal, a pipe, or a test. */
export interface Terminal {
  /** Writes to standard output. Throws {@link OutputClosedError} once the reader has closed it. */
  write(text: string): void;
  /** Writes to standard error. */
  complain(text: string): void;
  /** Reads all of standard input. */
  readInput(): Promise<Uint8Array>;
  /** True for each of the streams standard output and standard error that is a terminal with colours. */
  colour: { output: boolean; errors: boolean };
  /** The width of the terminal in characters; undefined if the output is not a terminal. */
  columns: number | undefined;
  /** TILLWAY_URL: the base URL of the service if the command has no --url. */
  url: string | undefined;
  /** TILLWAY_API_KEY. It is not an option, because a command line would show it to every user of the machine. */
  apiKey: string | undefined;
  /** WEBHOOK_SECRET: the signing secret if the command has no --secret. */
  webhookSecret: string | undefined;
  /** Milliseconds since 1970-01-01 UTC. */
  now(): number;
  /** Cryptographically secure random bytes. */
  randomBytes(size: number): Uint8Array;
  /** Resolves after that many milliseconds, or at once when the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Makes Ctrl-C abort the returned signal instead of ending the process. A second Ctrl-C ends the process. */
  interruption(): AbortSignal;
}

/** Error of a command: exit code 1 if the service refused or a check failed, 2 for wrong usage. `help` is shown below the message. */
export class CommandError extends Error {
  readonly exitCode: 1 | 2;
  readonly help: string;

  constructor(exitCode: 1 | 2, message: string, help = '', cause?: unknown) {
    super(message, { cause });
    this.name = 'CommandError';
    this.exitCode = exitCode;
    this.help = help;
  }
}

/** Thrown when the reader closes the output, as `head` does after some lines. Commands that only print then exit. */
export class OutputClosedError extends Error {
  constructor() {
    super('the reader of the output has closed it');
    this.name = 'OutputClosedError';
  }
}

export type Style = Parameters<typeof styleText>[0];
/** Applies a style to a text if the output is a terminal with colours. */
export interface Paint {
  (style: Style, text: string): string;
  /** Width of the terminal in characters; undefined if lines can have any length. */
  columns?: number | undefined;
}

export const withoutStyle: Paint = (_style, text) => text;
const withStyle: Paint = (style, text) => styleText(style, text, { validateStream: false });

function paintOf(hasStyle: boolean, columns: number | undefined): Paint {
  const paint = hasStyle ? withStyle : withoutStyle;
  return Object.assign((style: Style, text: string) => paint(style, text), { columns });
}

const DEFAULT_URL = 'http://127.0.0.1:3000';

/** Helpers that every command receives. */
export type CommandContext = ReturnType<typeof createContext>;

export function createContext(terminal: Terminal) {
  let exitCode: 0 | 1 | 2 = 0;

  const hasColour = (command: Command) => command.opts<CommonOptions>().color !== false;
  const paint = (command: Command) => paintOf(terminal.colour.output && hasColour(command), terminal.columns);
  const isJson = (command: Command) => command.opts<CommonOptions>().json === true;

  /** Base URL of the service from the options, without a trailing slash. Throws {@link CommandError} if it is not a URL. */
  const urlOf = (command: Command) => httpUrlOf(command.opts<CommonOptions>().url ?? urlOfEnvironment(terminal));

  function foreign(command: Command, cause?: unknown): CommandError {
    return new CommandError(1, `${urlOf(command)} answered, but is not a Tillway service`, '', cause);
  }

  /** Maps an error from reading a response to the error to report: a TypeError means that the response is not from Tillway. */
  function misread(command: Command, cause: unknown): unknown {
    return cause instanceof TypeError ? foreign(command, cause) : cause;
  }

  /** Writes the answer: as JSON with --json, otherwise as the text that `inWords` returns, which ends with a newline. */
  function tell<Answer>(command: Command, answer: Answer, inWords: (answer: Answer, paint: Paint) => string): void {
    if (typeof answer !== 'object' || answer === null || Object.keys(answer).length === 0) throw foreign(command);
    if (isJson(command)) return terminal.write(`${jsonOf(answer)}\n`);
    let words: string;
    try {
      words = inWords(answer, paint(command));
    } catch (cause) {
      throw misread(command, cause);
    }
    terminal.write(words);
  }

  return {
    terminal,
    // No retries: a person at a terminal wants an immediate answer, and can repeat the command.
    client: (command: Command) => new Tillway({ baseUrl: urlOf(command), maxRetries: 0, apiKey: apiKeyOf(terminal) }),
    urlOf,
    isJson,
    paint,
    /** Styles for standard error. */
    paintErrors: (command: Command) => paintOf(terminal.colour.errors && hasColour(command), terminal.columns),
    tell,
    misread,
    /** Sets the exit code of a command that does not throw, for example after a failed check. */
    fail(code: 1 | 2 = 1): void {
      exitCode = code;
    },
    exitCode: () => exitCode,
  };
}

function urlOfEnvironment({ url = DEFAULT_URL }: Pick<Terminal, 'url'>): string {
  if (url === '') throw new CommandError(2, 'TILLWAY_URL is set but empty: unset it, or give it a value');
  return url;
}

/** API key from TILLWAY_API_KEY. Throws {@link CommandError} 2 if it is malformed, without showing it. */
export function apiKeyOf({ apiKey }: Pick<Terminal, 'apiKey'>): string | undefined {
  if (apiKey === '') throw new CommandError(2, 'TILLWAY_API_KEY is set but empty: unset it, or give it a value');
  if (apiKey === undefined || environmentOfKey(apiKey) !== undefined) return apiKey;
  throw new CommandError(2, 'TILLWAY_API_KEY must be sk_sandbox_ or sk_live_ and 43 letters or digits');
}

/** Default environment of a request: that of the API key, else sandbox. Throws {@link CommandError} 2 for an invalid key. */
export function usualEnvironment({ terminal }: Pick<CommandContext, 'terminal'>): Environment {
  const key = apiKeyOf(terminal);
  return key === undefined ? 'sandbox' : environmentOfKey(key)!;
}

/** URL of a service without a trailing slash. Throws {@link CommandError} 2 for a password, which could end up in logs. */
function httpUrlOf(text: string): string {
  const url = URL.parse(text);
  const isHttp = url !== null && /^https?:$/.test(url.protocol);
  if (isHttp ? url.username !== '' || url.password !== '' : text.includes('@')) {
    throw new CommandError(2, 'the URL of the service must not contain a user name or password');
  }
  if (!isHttp || url.search || url.hash) throw new CommandError(2, `${text} is not a URL such as ${DEFAULT_URL}`);
  return text.replace(/\/+$/, '');
}

// Characters that control a terminal: C0, C1 and direction controls. Newlines are allowed.
const OBEYED = /(?!\n)[\p{C}\p{Zl}\p{Zp}]/gu;

/** The document as indented JSON, with terminal control characters escaped. */
export function jsonOf(document: unknown): string {
  return harmlessJson(JSON.stringify(document, null, 2));
}

/** The document as JSON on one line, with terminal control characters escaped. */
export function jsonLineOf(document: unknown): string {
  return harmlessJson(JSON.stringify(document));
}

function harmlessJson(text: string): string {
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return text.replaceAll(OBEYED, (character) => character.replaceAll(/[^]/g, escaped));
}

interface CommonOptions {
  url?: string;
  json?: boolean;
  color?: boolean;
}

export interface CommandDescription {
  /** One line without a full stop at its end, for the list of commands. */
  summary: string;
  /** Further sentences, shown above the options. */
  details?: string;
  /** Complete command lines that work as written, including `tillway`. */
  examples: readonly string[];
  /** The command's own options. */
  options?: readonly Option[];
  /** True (default) if the command sends requests to a service and therefore takes --url. */
  remote?: boolean;
  /** True (default) if the command prints data and therefore takes --json; or the help text of --json. */
  data?: boolean | string;
  /** True if --json prints one JSON document per line, including errors. */
  lines?: boolean;
}

/** Creates a command with the common options. `usage` is the name with the operands: `fees <amount>`, `listen`. */
export function describedCommand(
  usage: string,
  { summary, details, examples, options = [], remote = true, data = true, lines = false }: CommandDescription,
): Command {
  const [name, ...operands] = usage.split(' ');
  const command = new Command(name).summary(summary).description(`${summary}.${details ? `\n\n${details}` : ''}`);
  if (operands.length > 0) command.arguments(operands.join(' '));
  for (const option of options) command.addOption(option);
  if (remote) command.option('--url <url>', `URL of the service; default TILLWAY_URL, else ${DEFAULT_URL}`);
  const usual = remote ? 'print the API response as JSON' : 'print JSON';
  if (data !== false) command.option('--json', data === true ? usual : data);
  command.option('--no-color', 'print without colours');
  DETAILS.set(command, { examples, lines });
  return command;
}

const DETAILS = new WeakMap<Command, { examples: readonly string[]; lines: boolean }>();

/** True if the command prints one JSON document per line. */
export function printsLines(command: Command): boolean {
  return DETAILS.get(command)?.lines ?? false;
}

/** Options of a command without the common options. */
export function ownOptions(command: Command): Record<string, unknown> {
  const { url: _url, json: _json, color: _color, ...options } = command.opts();
  return options;
}

/** Example command lines of a command. */
export function examplesOf(command: Command): readonly string[] {
  return DETAILS.get(command)?.examples ?? [];
}

export interface ServiceCommand<Answer, Options> extends CommandDescription {
  ask(client: Tillway, options: Options, ...operands: string[]): PromiseLike<Answer>;
  /** Formats the answer as text; not used with --json. */
  show(answer: Answer, paint: Paint, options: Options): string;
  /** Returns true if the program must exit with 1 after this answer. */
  isFailure?(answer: Answer): boolean;
}

/** Creates a command that sends one request. `usage` is the name with the operands: `fees <amount>`. */
export function serviceCommand<Answer, Options = unknown>(
  context: CommandContext,
  usage: string,
  { ask, show, isFailure, ...description }: ServiceCommand<Answer, Options>,
): Command {
  const command = describedCommand(usage, description);
  return command.action(async () => {
    const options = ownOptions(command) as Options;
    const answer = await ask(context.client(command), options, ...(command.processedArgs as string[]));
    context.tell(command, answer, (each, paint) => show(each, paint, options));
    if (isFailure?.(answer)) context.fail();
  });
}
