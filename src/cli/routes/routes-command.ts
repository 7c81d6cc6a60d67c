import { Argument, type Command } from 'commander';
import type {
  BacktestRoutingParams,
  DryRunRoutingParams,
  ListRoutingRoutesParams,
  ListRoutingTransitionsParams,
  OverrideRouteHealthParams,
  RouteStanding,
  RoutingRules,
  RuleSet,
} from '../../../sdk/src/index.ts';
import { ROUTE_HEALTHS } from '../../domain/route.ts';
import { type CommandContext, usualEnvironment, serviceCommand } from '../command-context.ts';
import { EXAMPLE } from '../example-ids.ts';
import { showTable } from '../record-fields.ts';
import { commandGroup } from '../command-group.ts';
import {
  amountOf,
  environmentOption,
  fileOf,
  kindOption,
  metadataOption,
  option,
  usualEnvironmentOption,
  wholeNumberOption,
} from '../options.ts';
import { healthCauseOf, percent, plain, rate, secondsOf, statusCell } from '../cells.ts';
import { OBJECTIVE_OPTIONS, experimentCommand } from './experiment-command.ts';
import { lossInWords, tellBacktest, tellDecision, tellRules, tellWarnings } from './routing-text.ts';

type DryRunOptions = Omit<DryRunRoutingParams, 'amount'>;

const showRoutes = showTable<RouteStanding>({
  ROUTE: 'id',
  KIND: 'kind',
  SCORE: ({ score }) => score.toFixed(1),
  HEALTH: 'health',
  SUCCESS: ({ expectedSuccess }) => percent(expectedSuccess),
  OUTCOMES: ({ outcomes }) => outcomes.toFixed(1),
  FEES: ({ buyerFeeRate, gatewayFeeRate }) => rate(buyerFeeRate + gatewayFeeRate),
  CHARGE: ({ providerCostRate, costCoverage }) =>
    rate(providerCostRate) + (costCoverage > 0 ? ` (${percent(costCoverage)} reported)` : ''),
  WHY: ({ words, override, lostRate }) =>
    [
      healthCauseOf(words) + (override?.until ? `, until ${secondsOf(override.until)}` : ''),
      ...lossInWords(lostRate),
    ].join('; '),
});

/** The `routes` commands, about routes, health, decisions and rules. */
export function routesCommand(context: CommandContext): Command {
  const list = serviceCommand(context, 'list', {
    summary: 'List the routes with score, health and estimates',
    examples: ['tillway routes list', 'tillway routes list --environment production'],
    options: [usualEnvironmentOption()],
    ask: ({ routing }, { environment = usualEnvironment(context) }: ListRoutingRoutesParams) =>
      routing.routes({ environment }),
    show: ({ data }, paint) => showRoutes(data, paint),
  });
  const why = serviceCommand(context, 'why <session>', {
    summary: 'Explain the route of a session: every decision with its candidates and exclusions',
    examples: [`tillway routes why ${EXAMPLE.session}`],
    ask: ({ routing }, _options, session) => routing.decisions(session),
    show: ({ decisions }, paint) => decisions.map((decision) => tellDecision(decision, paint)).join('\n'),
  });
  const replay = serviceCommand(context, 'replay <session>', {
    summary: 'Recompute the decisions about a session; exit code 1 if a result differs',
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
    summary: 'List health changes of routes, newest first',
    examples: ['tillway routes history', 'tillway routes history sandbox_card_acquirer --limit 5'],
    options: [
      environmentOption('routes of this environment; default both'),
      wholeNumberOption('--limit', 'maximum number of changes, 1 to 100; default 20', '20'),
    ],
    ask: ({ routing }, options: ListRoutingTransitionsParams, routeId) => routing.transitions({ routeId, ...options }),
    show: ({ data }, paint) =>
      showTable<(typeof data)[number]>({
        TIME: 'created',
        ROUTE: 'routeId',
        FROM: ({ from }) => statusCell(from),
        TO: ({ to }) => statusCell(to),
        WHY: ({ words }) => healthCauseOf(words),
      })(data, paint),
  });
  const route = 'tillway routes override sandbox_card_acquirer';
  const override = serviceCommand(context, 'override <route>', {
    summary: 'Take a route out of use (standby), force its health, or end the override (automatic)',
    examples: [`${route} standby --until 2027-01-15T12:00:00Z --reason maintenance`, `${route} automatic`],
    options: [
      option('--until <time>', 'end of the override, such as 2027-01-15T12:00:00Z; default: never'),
      option('--reason <text>', 'reason, stored with the override'),
    ],
    ask: ({ routing }, options: Omit<OverrideRouteHealthParams, 'health'>, id, health) =>
      routing.overrideHealth(id, { health: health as OverrideRouteHealthParams['health'], ...options }),
    show: ({ id, words }, paint) => `${paint('bold', plain(id))} is ${plain(words)}\n`,
  }).addArgument(new Argument('<health>', 'health to set').choices([...ROUTE_HEALTHS, 'automatic']));
  const others = [rulesCommand(context), experimentCommand(context), ...supposeCommands(context)];
  const commands = [list, why, replay, history, override, ...others];
  return commandGroup('routes', 'Show routes, decisions, rules and health; test other rules', commands, {
    otherwise: 'list',
  });
}

/** Commands that compute decisions for a hypothetical checkout or other rules. */
function supposeCommands(context: CommandContext): Command[] {
  const dryRun = serviceCommand(context, 'dry-run <amount>', {
    summary: 'Show which route a hypothetical checkout would get, and why',
    details: 'Does not explore, and writes nothing.',
    examples: ['tillway routes dry-run 49.99', 'tillway routes dry-run 49.99 --kind wallet --metadata country=DE'],
    options: [
      kindOption('payment method that the buyer chose'),
      option('--rules <file>', 'use the rules of this file instead of the saved rules', fileOf),
      option('--customer <email>', 'email address of the buyer'),
      option('--product <text>', 'product name'),
      metadataOption(),
      usualEnvironmentOption(),
    ],
    ask: async ({ routing }, { environment = usualEnvironment(context), ...options }: DryRunOptions, amount) =>
      routing.dryRun({ amount: amountOf('amount', amount), environment, ...options }),
    show: tellDecision,
  });
  const backtest = serviceCommand(context, 'backtest', {
    summary: 'Show how other rules or another objective would have changed past decisions',
    details: 'Recomputes the newest payment decisions from their stored snapshots. Writes nothing.',
    examples: ['tillway routes backtest --margin 0.15', 'tillway routes backtest --objective total --limit 1000'],
    options: [
      option('--rules <file>', 'use the rules of this file instead of the saved rules', fileOf),
      ...OBJECTIVE_OPTIONS,
      wholeNumberOption('--limit', 'number of decisions, 1 to 1000; default 200', '200'),
      usualEnvironmentOption(),
    ],
    ask: async ({ routing }, { environment = usualEnvironment(context), ...options }: BacktestRoutingParams) =>
      routing.backtest({ environment, ...options }),
    show: tellBacktest,
  });
  return [dryRun, backtest];
}

/** The `routes rules` commands, about the routing rules of the operator. */
function rulesCommand(context: CommandContext): Command {
  const show = serviceCommand(context, 'show', {
    summary: 'Show the routing rules in force',
    examples: ['tillway routes rules show', 'tillway routes rules --json'],
    options: [wholeNumberOption('--version', 'show this version', '3')],
    ask: ({ routing }, options: { version?: number }) => routing.rules(options),
    show: tellRules,
  });
  // Rules that reject every session are valid, because operators may close the checkout; `check` fails so that CI notices.
  const isClosed = ({ warnings }: Pick<RoutingRules, 'warnings'>) =>
    warnings.some(({ code }) => code === 'rejects_all');
  const check = serviceCommand(context, 'check <file>', {
    summary: 'Check a rule file without saving it',
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
    summary: 'Save a rule file; its rules apply immediately',
    examples: ['tillway routes rules save rules.json'],
    // The service validates the file.
    ask: async ({ routing }, _options, file) => routing.saveRules(fileOf(file) as RuleSet),
    show: tellRules,
  });
  return commandGroup('rules', 'Show, check and save the routing rules', [show, check, save], { otherwise: 'show' });
}
