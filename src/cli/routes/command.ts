import { Argument, type Command } from 'commander';
import type { Environment, HealthOverrideParams } from '../../../sdk/src/index.ts';
import { type CommandContext, type Paint, describedCommand, usualEnvironment } from '../context.ts';
import { commandGroup } from '../group.ts';
import { backtestCommand, dryRunCommand, rulesCommand } from './rules.ts';
import { tellDecision } from './words.ts';
import { table } from '../table.ts';
import { environmentOption, usualEnvironmentOption, wholeNumberOf } from '../values.ts';
import { type Cell, causeOf, percent, plain, rate, secondsOf, statusCell } from '../words.ts';

const SESSION = 'chk_01m7x0e4kq3v8n5c2t9y6w1r4b7d0f3h5j8m';
const HEALTHS = ['live', 'degraded', 'standby', 'automatic'] as const;

/** `tillway routes`: what the operator sees and sets of routing. */
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
  const command = describedCommand('list', {
    summary: 'List the routes with score, health and what they are expected to do',
    examples: ['tillway routes list', 'tillway routes list --environment production'],
  }).addOption(usualEnvironmentOption());
  return command.action(async ({ environment = usualEnvironment(context) }: { environment?: Environment }) => {
    const answer = await context.client(command).routing.routes({ environment });
    context.tell(command, answer, ({ data }, paint) => {
      const rows = data.map((route): Cell[] => [
        route.id,
        route.kind,
        route.score.toFixed(1),
        statusCell(route.health),
        percent(route.expectedSuccess),
        route.outcomes.toFixed(1),
        rate(route.buyerFeeRate + route.gatewayFeeRate),
        causeOf(route.words) + (route.override?.until ? `, until ${secondsOf(route.override.until)}` : ''),
      ]);
      return table(['ROUTE', 'KIND', 'SCORE', 'HEALTH', 'SUCCESS', 'OUTCOMES', 'FEES', 'WHY'], rows, paint);
    });
  });
}

function whyCommand(context: CommandContext): Command {
  const command = describedCommand('why <session>', {
    summary: 'Tell why a session got its route: every decision, its candidates and what kept them out',
    examples: [`tillway routes why ${SESSION}`],
  });
  return command.action(async (session: string) => {
    const answer = await context.client(command).routing.decisions(session);
    context.tell(command, answer, ({ decisions }, paint) =>
      decisions.map((decision) => tellDecision(decision, paint)).join('\n'),
    );
  });
}

function replayCommand(context: CommandContext): Command {
  const command = describedCommand('replay <session>', {
    summary: 'Make the decisions about a session again; exit code 1 where one differs',
    examples: [`tillway routes replay ${SESSION}`],
  });
  return command.action(async (session: string) => {
    const answer = await context.client(command).routing.replay(session);
    context.tell(command, answer, ({ decisions }, paint) => {
      const rows = decisions.map(({ id, identical, chosen, again, note }): Cell[] => [
        id,
        identical ? { text: 'yes', style: 'green' } : { text: 'NO', style: 'red' },
        chosen ?? '-',
        again ?? '-',
        note ?? '',
      ]);
      return table(['DECISION', 'SAME BYTES', 'CHOSEN', 'AGAIN', 'NOTE'], rows, paint);
    });
    if (!answer.identical) context.fail();
  });
}

function historyCommand(context: CommandContext): Command {
  const command = describedCommand('history [route]', {
    summary: 'List changes of health, newest first',
    examples: ['tillway routes history', 'tillway routes history sandbox_card_acquirer --limit 5'],
  })
    .addOption(environmentOption('left out, both'))
    .option('--limit <number>', 'how many at most, 1 to 100; default 20', (text) =>
      wholeNumberOf('--limit', text, '20'),
    );
  return command.action(async (routeId: string | undefined, options: { environment?: Environment; limit?: number }) => {
    const { environment, limit } = options;
    const answer = await context.client(command).routing.transitions({ routeId, environment, limit });
    context.tell(command, answer, ({ data }, paint) => {
      const rows = data.map((change): Cell[] => [
        secondsOf(change.created),
        change.routeId,
        statusCell(change.from),
        statusCell(change.to),
        causeOf(change.words),
      ]);
      return table(['TIME', 'ROUTE', 'FROM', 'TO', 'WHY'], rows, paint);
    });
  });
}

function overrideCommand(context: CommandContext): Command {
  const route = 'tillway routes override sandbox_card_acquirer';
  const command = describedCommand('override <route>', {
    summary: 'Take a route out of use (standby), hold it in use, or give it back (automatic)',
    examples: [`${route} standby --until 2027-01-15T12:00:00Z --reason maintenance`, `${route} automatic`],
  })
    .addArgument(new Argument('<health>', 'its health').choices(HEALTHS))
    .option('--until <time>', 'when it ends by itself, such as 2027-01-15T12:00:00Z; left out, not by itself')
    .option('--reason <text>', 'why, for those who read it later');
  return command.action(
    async (
      route: string,
      health: HealthOverrideParams['health'],
      { until, reason }: Omit<HealthOverrideParams, 'health'>,
    ) => {
      const answer = await context.client(command).routing.overrideHealth(route, { health, until, reason });
      context.tell(command, answer, (set, paint) => tellStanding(set, paint));
    },
  );
}

function tellStanding({ id, words }: { id: string; words: string }, paint: Paint): string {
  return `${paint('bold', plain(id))} is ${plain(words)}\n`;
}
