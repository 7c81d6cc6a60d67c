import type { Command, CommanderError } from 'commander';
import { TillwayConnectionError, TillwayError } from '../../sdk/src/index.ts';
import { GatewayError } from '../domain/gateway-error.ts';
import { type CommandContext, type Paint, CommandError, examplesOf } from './command-context.ts';
import { pathOf } from './command-group.ts';
import { plain } from './cells.ts';

/** A reported error as text and as JSON, with the exit code. */
export interface Complaint {
  exitCode: 1 | 2;
  /** Text of the error; ends with a newline. */
  text: string;
  document: { ok: false; error: Record<string, unknown> };
}

/** Describes an expected error of a command; returns undefined for a bug of the program. */
export function complaintOf(error: unknown, command: Command, context: CommandContext): Complaint | undefined {
  // A command that opens the database itself runs the operations of the service.
  if (error instanceof GatewayError) {
    const { code, message, details } = error;
    const text = `${message} ${details.suggestion ?? ''}`.trim();
    return complaintOf(new CommandError(code === 'invalid_input' ? 2 : 1, text), command, context);
  }
  if (error instanceof CommandError) {
    const { exitCode } = error;
    const message = harmless(error.message);
    const help = error.help === '' && exitCode === 2 ? usageOf(command) : harmless(error.help);
    const text = help === '' ? `${message}\n` : `${message}\n\n${help.trimEnd()}\n`;
    const misuse = { code: 'misuse', message, suggestion: `See ${pathOf(command)} --help.` };
    return { exitCode, text, document: documentOf(exitCode === 2 ? misuse : { code: 'command_failed', message }) };
  }
  if (!(error instanceof TillwayError)) return undefined;
  const { code, message, status, field, issues, requestId } = error;
  const suggestion = adviceOf(error);
  const text = linesOf(error, context.urlOf(command), context.paintErrors(command)).map((line) => `${line}\n`);
  const document = documentOf({ code, message, status, field, issues, suggestion, requestId });
  return { exitCode: 1, text: text.join(''), document };
}

function documentOf(error: Record<string, unknown>): Complaint['document'] {
  return { ok: false, error };
}

/** Suggestion for an error: CLI options in place of the SDK settings that the SDK suggests. */
function adviceOf(error: TillwayError): string | undefined {
  if (error.code === 'connection_failed') return 'Start the service with "tillway serve", or set its URL with --url.';
  if (error.code === 'timed_out') return 'Try again later.';
  if (error.code === 'unexpected_response') {
    return 'Check --url, and any proxy or login page in front of the service.';
  }
  if (error.code === 'unauthorized') {
    return 'Set TILLWAY_API_KEY to a key of this service. Its operator creates keys with "tillway keys create".';
  }
  return error.suggestion;
}

// The CLI suggests the command in place of the API request.
const SCHEMA = /\bGET \S+\/api\/agent\/schema\/([\w.]+)/g;

function linesOf(error: TillwayError, url: string, paint: Paint): string[] {
  if (error.code === 'timed_out') return [`${url} did not answer in time`, paint('dim', plain(error.message))];
  if (error instanceof TillwayConnectionError) {
    return [
      `${url} cannot be reached. Start the service with "tillway serve", or set its URL with --url`,
      paint('dim', plain(error.message)),
    ];
  }
  const suggestion = adviceOf(error)?.replace(SCHEMA, 'tillway schema $1');
  if (error.code === 'unexpected_response') {
    const answered = error.status === undefined ? 'answered' : `answered ${error.status}`;
    return [`${url} ${answered}, but is not a Tillway service`, paint('dim', suggestion!)];
  }
  const { message, issues, requestId } = error;
  return [
    // The message names only the first problem, so several problems get one line each.
    issues.length > 1 ? `${issues.length} problems` : plain(message),
    ...(issues.length > 1 ? issues.map((issue) => `  ${plain(issue.path)}: ${plain(issue.message)}`) : []),
    ...(suggestion === undefined ? [] : [plain(suggestion)]),
    ...(requestId === undefined ? [] : [paint('dim', `request ${plain(requestId)}`)]),
  ];
}

/** Removes control characters, because error messages can contain user input. */
function harmless(text: string): string {
  return text.split('\n').map(plain).join('\n');
}

/** Message of a Commander error. Names all missing options, where Commander names only the first. */
export function misuseMessage({ code, message }: CommanderError, command: Command): string {
  const missing = command.options.filter(
    (option) => option.mandatory && command.getOptionValue(option.attributeName()) === undefined,
  );
  if (code !== 'commander.missingMandatoryOptionValue' || missing.length === 1) return message.replace(/^error: /, '');
  return `required options ${missing.map(({ flags }) => `'${flags}'`).join(', ')} not specified`;
}

/** Usage, example and help command of a command, one line each. */
function usageOf(command: Command): string {
  const [example] = examplesOf(command);
  return [
    `Usage:    ${command.createHelp().commandUsage(command)}\n`,
    example === undefined ? '' : `Example:  ${example}\n`,
    `Help:     ${pathOf(command)} --help\n`,
  ].join('');
}
