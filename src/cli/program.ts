import { type Command, CommanderError } from 'commander';
import { VERSION } from '../domain/version.ts';
import { auditCommand } from './audit-command.ts';
import { checkoutCommand, feesCommand } from './checkout-commands.ts';
import { clockCommand } from './clock-command.ts';
import { complaintOf, misuseMessage } from './complaint.ts';
import { completionCommand } from './completion.ts';
import {
  type CommandContext,
  type Terminal,
  CommandError,
  OutputClosedError,
  createContext,
  examplesOf,
  jsonLineOf,
  jsonOf,
  printsLines,
} from './command-context.ts';
import { endpoints } from './endpoint-commands.ts';
import { deliveries, events } from './event-commands.ts';
import { feedCommand } from './feed-command.ts';
import { forgetSecretsCommand } from './forget-secrets-command.ts';
import { commandAt, commandGroup, commandsIn, withDefaults, withHelp } from './command-group.ts';
import { keysCommand } from './key-commands.ts';
import { ledgerCommand } from './ledger-commands.ts';
import { listenCommand } from './listen/listen-command.ts';
import { type LocalCommands, doctorCommand, migrateCommand, serveCommand } from './local-commands.ts';
import { mcpCommand } from './mcp-command.ts';
import { operatorsCommand } from './operator-commands.ts';
import { customers, discrepancies, invoices, payments, refunds, sessions } from './payment-commands.ts';
import { providersCommand } from './providers-command.ts';
import { resourceCommand } from './resource-command.ts';
import { routesCommand } from './routes/routes-command.ts';
import { schemaCommand } from './schema-command.ts';
import { settlementsCommand } from './settlement-commands.ts';
import { triggerCommand } from './trigger/trigger-command.ts';
import { verifyPageCommand } from './verify-page/verify-page-command.ts';
import { webhookExampleCommand, webhookVerifySampleCommand } from './webhook-samples.ts';
import { webhookVerifyCommand } from './webhook-verify.ts';

const MAX_HELP_WIDTH = 110;
/** Exit code that shells report for SIGPIPE: 128 plus the signal number. */
const UNREAD = 141;

/**
 * Runs the command line `args`, without the program name. Returns the exit code: 0 for success; 1 for a refusal, an
 * unreachable service or a failed check; 2 for wrong usage; 141 for a closed output. Rejects for bugs, and for errors of the
 * settings or the database.
 */
export async function runTillway(args: readonly string[], terminal: Terminal, local: LocalCommands): Promise<number> {
  const context = createContext(terminal);
  const program = createProgram(context, local);
  for (const command of commandsIn(program)) configure(command, terminal);
  program.hook('preAction', (_program, command) => refuseEmpty(command));
  const words = withDefaults(program, withHelp(program, args));
  try {
    await program.parseAsync(words, { from: 'user' });
    return context.exitCode();
  } catch (error) {
    if (error instanceof OutputClosedError) return UNREAD;
    // The user asked for help or the version, or named a group without a command.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    // The parser can stop before it reads --json.
    const isJson = (args.includes('--') ? args.slice(0, args.indexOf('--')) : args).includes('--json');
    return complain(error, commandAt(program, words).command, context, isJson);
  }
}

/** Creates the command tree. Creating it sends no request. */
export function createProgram(context: CommandContext, local: LocalCommands): Command {
  const program = commandGroup('tillway', 'Hosted checkout and payment routing, self-hosted', [
    ...inGroup('Service:', [
      serveCommand(local),
      migrateCommand(context, local),
      doctorCommand(context, local),
      keysCommand(context, local),
      auditCommand(context),
      operatorsCommand(context, local),
      verifyPageCommand(context),
    ]),
    ...inGroup('Payments:', [
      feesCommand(context),
      checkoutCommand(context),
      resourceCommand(context, sessions),
      resourceCommand(context, payments),
      resourceCommand(context, refunds),
      resourceCommand(context, discrepancies),
      settlementsCommand(context),
      ledgerCommand(context),
      resourceCommand(context, customers),
      resourceCommand(context, invoices),
    ]),
    ...inGroup('Webhooks:', [
      listenCommand(context),
      triggerCommand(context),
      resourceCommand(context, events, [feedCommand(context)]),
      resourceCommand(context, deliveries),
      resourceCommand(context, endpoints, [forgetSecretsCommand(context, local)]),
      commandGroup('webhook', 'Verify a webhook, or show an example', [
        webhookVerifyCommand(context),
        webhookExampleCommand(context),
        webhookVerifySampleCommand(context),
      ]),
      clockCommand(context),
    ]),
    ...inGroup('Routing:', [routesCommand(context), providersCommand(context, local)]),
    ...inGroup('Agents and shells:', [
      mcpCommand(context),
      schemaCommand(context),
      completionCommand(context, () => program),
    ]),
  ]);
  return (
    program
      // Lets a command define its own --version option.
      .enablePositionalOptions()
      .version(VERSION, '-V, --version', 'print the version')
      .addHelpText('after', () =>
        [
          '',
          'Commands that use a service take --url (default TILLWAY_URL, else http://127.0.0.1:3000) and --json.',
          'If the service requires an API key, set TILLWAY_API_KEY.',
          'Exit codes: 0 success; 1 request refused, service unreachable or check failed; 2 wrong usage, nothing sent.',
          'The service is configured by environment variables such as DATABASE_URL, see README.md.',
          'Help with examples: tillway <command> --help',
        ].join('\n'),
      )
  );
}

function inGroup(heading: string, commands: Command[]): Command[] {
  return commands.map((command) => command.helpGroup(heading));
}

/** Configures a command to throw instead of ending the process, and to write through `terminal`. */
function configure(command: Command, terminal: Terminal): void {
  const { colour, columns = MAX_HELP_WIDTH } = terminal;
  command
    .helpCommand(false)
    .helpOption('-h, --help', 'show this help')
    .exitOverride((refusal) => {
      const isHelp = refusal.exitCode === 0 || refusal.code === 'commander.help';
      throw isHelp ? refusal : new CommandError(2, misuseMessage(refusal, command));
    })
    .configureOutput({
      writeOut: terminal.write,
      // Commander writes here only the help of a group without a command; `complain` writes all errors.
      writeErr: terminal.complain,
      outputError: () => undefined,
      getOutHelpWidth: () => Math.min(columns, MAX_HELP_WIDTH),
      getErrHelpWidth: () => Math.min(columns, MAX_HELP_WIDTH),
      getOutHasColors: () => colour.output,
      getErrHasColors: () => colour.errors,
    })
    .configureHelp({
      subcommandTerm: (each) => `${each.name()} ${each.usage().replaceAll(/\[(?:options|command)\] ?/g, '')}`.trim(),
      optionDescription: ({ description, argChoices, mandatory }) => {
        const choices = argChoices ? ` (${argChoices.join(', ')})` : '';
        return `${description}${choices}${mandatory ? ' (required)' : ''}`;
      },
      styleTitle: (text) => `\u001B[1m${text}\u001B[22m`,
    });
  const examples = command.parent ? examplesIn(command) : FIRST_EXAMPLES;
  if (examples.length > 0) {
    command.addHelpText('after', () => `\nExamples:\n${examples.map((line) => `  ${line}`).join('\n')}`);
  }
}

/** The first commands for a user who has just started a service. */
const FIRST_EXAMPLES = [
  'tillway trigger payment.paid',
  'tillway payments list --limit 5',
  'tillway listen --forward-to http://127.0.0.1:4000/webhooks',
];

/** Examples of a command; for a group, the first example of each command. */
function examplesIn(command: Command): readonly string[] {
  if (command.commands.length === 0) return examplesOf(command);
  return command.commands.flatMap((each) => examplesIn(each).slice(0, 1));
}

/** Rejects the operands "", "." and "..", which would change the path of the request. */
function refuseEmpty(command: Command): void {
  for (const [index, word] of command.args.entries()) {
    const name = command.registeredArguments[index]?.name() ?? 'argument';
    if (/^\.{0,2}$/.test(word)) {
      throw new CommandError(2, `${name} must not be ${JSON.stringify(word)}`);
    }
  }
}

function complain(error: unknown, command: Command, context: CommandContext, isJson: boolean): number {
  const { terminal } = context;
  const complaint = complaintOf(error, command, context);
  if (!complaint) throw error;
  const written = printsLines(command) ? jsonLineOf : jsonOf;
  if (isJson) terminal.write(`${written(complaint.document)}\n`);
  terminal.complain(`tillway: ${complaint.text}`);
  return complaint.exitCode;
}
