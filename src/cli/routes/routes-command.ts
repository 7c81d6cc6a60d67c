import { Argument, type Command } from 'commander';
import type {
  Environment,
  BacktestRoutingParams,
  OverrideRouteHealthParams,
  RouteStanding,
  RoutingRules,
  RuleSet,
} from '../../../sdk/src/index.ts';
import { OBJECTIVES } from '../../routing/routing-policy.ts';
import { type CommandContext, usualEnvironment, serviceCommand } from '../command-context.ts';
import { EXAMPLE } from '../example-ids.ts';
import { showTable } from '../record-fields.ts';
import { commandGroup } from '../command-group.ts';
import {
  amountOf,
  choiceOption,
  environmentOption,
  fileOf,
  kindOption,
  metadataOption,
  numberOf,
  option,
  usualEnvironmentOption,
  wholeNumberOption,
} from '../options.ts';
import { causeOf, percent, plain, rate, secondsOf, statusCell } from '../cells.ts';
import { tellBacktest, tellDecision, tellRules, tellWarnings } from './routing-text.ts';

const HEALTHS = ['live', 'degraded', 'standby', 'automatic'] as const;

interface EnvironmentOption {
  environment?: Environment;
}

interface DryRunOptions extends EnvironmentOption {
  kind?: RouteStanding['kind'];
  rules?: unknown;
  customer?: string;
  product?: string;
  metadata: Record<string, string>;
}

interface BacktestOptions extends EnvironmentOption {
  rules?: unknown;
  margin?: number;
  objective?: NonNullable<BacktestRoutingParams['objective']>;
  limit?: number;
}

const showRoutes = showTable<RouteStanding>({
  ROUTE: 'id',
  KIND: 'kind',
  SCORE: ({ score }) => score.toFixed(1),
  HEALTH: 'health',
  SUCCESS: ({ expectedSuccess }) => percent(expectedSuccess),
  OUTCOMES: ({ outcomes }) => outcomes.toFixed(1),
  FEES: ({ buyerFeeRate, gatewayFeeRate }) => rate(buyerFeeRate + gatewayFeeRate),
  WHY: ({ words, override }) => causeOf(words) + (override?.until ? `, until ${secondsOf(override.until)}` : ''),
});

/** `tillway routes`: the routes, their health, the decisions and the rules. */
export function routesCommand(context: CommandContext): Command {
  const list = serviceCommand(context, 'list', {
    summary: 'List the routes with score, health and estimates',
    examples: ['tillway routes list', 'tillway routes list --environment production'],
    options: [usualEnvironmentOption()],
    ask: ({ routing }, { environment = usualEnvironment(context) }: EnvironmentOption) =>
      routing.routes({ environment }),
    show: ({ data }, paint) => showRoutes(data, paint),
  });
  const why = serviceCommand(context, 'why <session>', {
    summary: 'Show why a session got its route: every decision, its candidates and their exclusions',
    examples: [`tillway routes why ${EXAMPLE.session}`],
    ask: ({ routing }, _options, session) => routing.decisions(session),
    show: ({ decisions }, paint) => decisions.map((decision) => tellDecision(decision, paint)).join('\n'),
  });
  const replay = serviceCommand(context, 'replay <session>', {
    summary: 'Replay the decisions about a session; exit code 1 if one differs',
    examples: [`tillway routes replay ${EXAMPLE.session}`],
    ask: ({ routing }, _options, session) => routing.replay(session),
    show: ({ decisions }, paint) =>
      showTable<(typeof decisions)[number]>({
        DECISION: 'id',
        'SAME BYTES': ({ identical }) => (identical ? { text: 'yes', style: 'green' } : { text: 'NO', style: 'red' }),
        CHOSEN: ({ chosen }) => chosen ?? '-',
        AGAIN: ({ again }) => again ?? '-',
        NOTE: 'note',
      })(decisions, paint),
    isFailure: ({ identical }) => !identical,
  });
  const history = serviceCommand(context, 'history [route]', {
    summary: 'List changes of health, newest first',
    examples: ['tillway routes history', 'tillway routes history sandbox_card_acquirer --limit 5'],
    options: [
      environmentOption('left out, both'),
      wholeNumberOption('--limit', 'how many at most, 1 to 100; default 20', '20'),
    ],
    ask: ({ routing }, options: EnvironmentOption & { limit?: number }, routeId) =>
      routing.transitions({ routeId, ...options }),
    show: ({ data }, paint) =>
      showTable<(typeof data)[number]>({
        TIME: 'created',
        ROUTE: 'routeId',
        FROM: ({ from }) => statusCell(from),
        TO: ({ to }) => statusCell(to),
        WHY: ({ words }) => causeOf(words),
      })(data, paint),
  });
  const route = 'tillway routes override sandbox_card_acquirer';
  const override = serviceCommand(context, 'override <route>', {
    summary: 'Take a route out of use (standby), force its health, or end the override (automatic)',
    examples: [`${route} standby --until 2027-01-15T12:00:00Z --reason maintenance`, `${route} automatic`],
    options: [
      option('--until <time>', 'when the override ends, such as 2027-01-15T12:00:00Z; default: never'),
      option('--reason <text>', 'reason, for later readers'),
    ],
    ask: ({ routing }, options: Omit<OverrideRouteHealthParams, 'health'>, id, health) =>
      routing.overrideHealth(id, { health: health as OverrideRouteHealthParams['health'], ...options }),
    show: ({ id, words }, paint) => `${paint('bold', plain(id))} is ${plain(words)}\n`,
  }).addArgument(new Argument('<health>', 'its health').choices(HEALTHS));
  const commands = [list, why, replay, history, override, rulesCommand(context), ...supposeCommands(context)];
  return commandGroup('routes', 'Show routes, decisions, rules and health; try other rules', commands, {
    otherwise: 'list',
  });
}

/** Commands that try a hypothetical checkout, or other rules. */
function supposeCommands(context: CommandContext): Command[] {
  const dryRun = serviceCommand(context, 'dry-run <amount>', {
    summary: 'Show which route a checkout would get, and why',
    details: 'Explores nothing and writes nothing.',
    examples: ['tillway routes dry-run 49.99', 'tillway routes dry-run 49.99 --kind wallet --metadata country=DE'],
    options: [
      kindOption('suppose that the buyer chose this way to pay'),
      option('--rules <file>', 'suppose the rules of this file', fileOf),
      option('--customer <email>', 'suppose this customer'),
      option('--product <text>', 'suppose this product'),
      metadataOption(),
      usualEnvironmentOption(),
    ],
    ask: async ({ routing }, { environment = usualEnvironment(context), ...options }: DryRunOptions, amount) =>
      routing.dryRun({ amount: amountOf('amount', amount), environment, ...options }),
    show: tellDecision,
  });
  const backtest = serviceCommand(context, 'backtest', {
    summary: 'Show what other rules or another objective would have changed',
    details: 'Repeats the newest decisions about payments, from their stored snapshots. Writes nothing.',
    examples: ['tillway routes backtest --margin 0.15', 'tillway routes backtest --objective total --limit 1000'],
    options: [
      option('--rules <file>', 'the rules of this file instead of the saved ones', fileOf),
      option('--margin <number>', 'what a paid payment is worth, as a fraction of its amount', (text) =>
        numberOf('--margin', text, '0.15'),
      ),
      choiceOption('--objective <objective>', 'whose cost counts', Object.keys(OBJECTIVES)),
      wholeNumberOption('--limit', 'how many decisions, 1 to 1000; default 200', '200'),
      usualEnvironmentOption(),
    ],
    ask: async ({ routing }, { environment = usualEnvironment(context), ...options }: BacktestOptions) =>
      routing.backtest({ environment, ...options }),
    show: tellBacktest,
  });
  return [dryRun, backtest];
}

/** `tillway routes rules`: the operator's routing rules. */
function rulesCommand(context: CommandContext): Command {
  const show = serviceCommand(context, 'show', {
    summary: 'Show the routing rules in force',
    examples: ['tillway routes rules show', 'tillway routes rules --json'],
    options: [wholeNumberOption('--version', 'this version instead', '3')],
    ask: ({ routing }, options: { version?: number }) => routing.rules(options),
    show: tellRules,
  });
  // Operators may close the checkout on purpose, so such rules are valid. A pipeline must not close it unnoticed.
  const isClosed = ({ warnings }: Pick<RoutingRules, 'warnings'>) =>
    warnings.some(({ code }) => code === 'rejects_all');
  const check = serviceCommand(context, 'check <file>', {
    summary: 'Check a rule file, and put nothing in force',
    details:
      'Prints the same warnings as save. Exit code 1: the rules are rejected, or they reject every session of an environment. Other warnings leave the exit code at 0.',
    examples: ['tillway routes rules check rules.json'],
    // A dry run rejects invalid rules exactly as saving them does.
    ask: async ({ routing }, _options, file) =>
      routing.dryRun({ amount: 10, environment: usualEnvironment(context), rules: fileOf(file) }),
    show(answer, paint) {
      const verdict = isClosed(answer)
        ? 'The rules reject every session of an environment'
        : 'The rules are well formed';
      return `${tellWarnings(answer.warnings, paint)}${verdict}; nothing was changed.\n`;
    },
    isFailure: isClosed,
  });
  const save = serviceCommand(context, 'save <file>', {
    summary: 'Put a rule file in force',
    examples: ['tillway routes rules save rules.json'],
    // The service validates the file.
    ask: async ({ routing }, _options, file) => routing.saveRules(fileOf(file) as RuleSet),
    show: tellRules,
  });
  return commandGroup('rules', 'Show, check and save the routing rules', [show, check, save], { otherwise: 'show' });
}
