import { Argument, type Command } from 'commander';
import type { Environment, HealthOverrideParams } from '../../../sdk/src/index.ts';
import { type CommandContext, usualEnvironment } from '../command-context.ts';
import { EXAMPLE } from '../example-ids.ts';
import { showTable } from '../record-fields.ts';
import { commandGroup } from '../command-group.ts';
import { serviceCommand } from '../service-command.ts';
import { environmentOption, option, usualEnvironmentOption, wholeNumberOption } from '../options.ts';
import { causeOf, percent, plain, rate, secondsOf, statusCell } from '../cells.ts';
import { backtestCommand, dryRunCommand, rulesCommand } from './rules-commands.ts';
import { tellDecision } from './routing-text.ts';

const HEALTHS = ['live', 'degraded', 'standby', 'automatic'] as const;

interface EnvironmentOption {
  environment?: Environment;
}

/** `tillway routes`: the routes, their health, the decisions and the rules. */
export function routesCommand(context: CommandContext): Command {
  const commands = [
    listCommand(context),
    whyCommand(context),
    replayCommand(context),
    historyCommand(context),
    overrideCommand(context),
    rulesCommand(context),
    dryRunCommand(context),
    backtestCommand(context),
  ];
  return commandGroup('routes', 'Ask about routes: why, rules, health, what if', commands, { otherwise: 'list' });
}

function listCommand(context: CommandContext): Command {
  return serviceCommand(context, 'list', {
    summary: 'List the routes with score, health and what they are expected to do',
    examples: ['tillway routes list', 'tillway routes list --environment production'],
    options: [usualEnvironmentOption()],
    ask: ({ routing }, { environment = usualEnvironment(context) }: EnvironmentOption) =>
      routing.routes({ environment }),
    show: ({ data }, paint) =>
      showTable<(typeof data)[number]>({
        ROUTE: 'id',
        KIND: 'kind',
        SCORE: ({ score }) => score.toFixed(1),
        HEALTH: ({ health }) => statusCell(health),
        SUCCESS: ({ expectedSuccess }) => percent(expectedSuccess),
        OUTCOMES: ({ outcomes }) => outcomes.toFixed(1),
        FEES: ({ buyerFeeRate, gatewayFeeRate }) => rate(buyerFeeRate + gatewayFeeRate),
        WHY: ({ words, override }) => causeOf(words) + (override?.until ? `, until ${secondsOf(override.until)}` : ''),
      })(data, paint),
  });
}

function whyCommand(context: CommandContext): Command {
  return serviceCommand(context, 'why <session>', {
    summary: 'Tell why a session got its route: every decision, its candidates and what kept them out',
    examples: [`tillway routes why ${EXAMPLE.session}`],
    ask: ({ routing }, _options, session) => routing.decisions(session),
    show: ({ decisions }, paint) => decisions.map((decision) => tellDecision(decision, paint)).join('\n'),
  });
}

function replayCommand(context: CommandContext): Command {
  return serviceCommand(context, 'replay <session>', {
    summary: 'Make the decisions about a session again; exit code 1 where one differs',
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
}

function historyCommand(context: CommandContext): Command {
  return serviceCommand(context, 'history [route]', {
    summary: 'List changes of health, newest first',
    examples: ['tillway routes history', 'tillway routes history sandbox_card_acquirer --limit 5'],
    options: [
      environmentOption('left out, both'),
      wholeNumberOption('--limit', 'how many at most, 1 to 100; default 20', '20'),
    ],
    ask: ({ routing }, { environment, limit }: EnvironmentOption & { limit?: number }, routeId) =>
      routing.transitions({ routeId, environment, limit }),
    show: ({ data }, paint) =>
      showTable<(typeof data)[number]>({
        TIME: 'created',
        ROUTE: 'routeId',
        FROM: ({ from }) => statusCell(from),
        TO: ({ to }) => statusCell(to),
        WHY: ({ words }) => causeOf(words),
      })(data, paint),
  });
}

function overrideCommand(context: CommandContext): Command {
  const route = 'tillway routes override sandbox_card_acquirer';
  return serviceCommand(context, 'override <route>', {
    summary: 'Take a route out of use (standby), hold it in use, or give it back (automatic)',
    examples: [`${route} standby --until 2027-01-15T12:00:00Z --reason maintenance`, `${route} automatic`],
    options: [
      option('--until <time>', 'when it ends by itself, such as 2027-01-15T12:00:00Z; left out, not by itself'),
      option('--reason <text>', 'why, for those who read it later'),
    ],
    ask: ({ routing }, { until, reason }: Omit<HealthOverrideParams, 'health'>, id, health) =>
      routing.overrideHealth(id, { health: health as HealthOverrideParams['health'], until, reason }),
    show: ({ id, words }, paint) => `${paint('bold', plain(id))} is ${plain(words)}\n`,
  }).addArgument(new Argument('<health>', 'its health').choices(HEALTHS));
}
