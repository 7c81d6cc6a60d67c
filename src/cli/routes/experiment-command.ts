import type { Command } from 'commander';
import type { Experiment, ExperimentVariant, StartExperimentParams, Tillway } from '../../../sdk/src/index.ts';
import { OBJECTIVES } from '../../routing/routing-policy.ts';
import { type Cell, percent, plain, rate, secondsOf } from '../cells.ts';
import { CommandError, type CommandContext, type Paint, serviceCommand, usualEnvironment } from '../command-context.ts';
import { commandGroup } from '../command-group.ts';
import { choiceOption, numberOf, option, usualEnvironmentOption, wholeNumberOption } from '../options.ts';
import { table } from '../table.ts';

type StartOptions = Omit<StartExperimentParams, 'variant'> &
  ExperimentVariant & { minimum?: number; guardrail?: number };

const VERDICTS: Record<Experiment['result']['verdict'], string> = {
  too_small: 'No verdict yet: an arm has fewer sessions than the minimum sample.',
  better: 'The variant is better than the router.',
  worse: 'The variant is worse than the router.',
  no_difference_shown: 'No difference is shown.',
};

/** Options that replace parts of the routing policy. */
export const OBJECTIVE_OPTIONS = [
  choiceOption('--objective <objective>', 'cost to minimize', Object.keys(OBJECTIVES)),
  option('--margin <number>', 'profit margin of a paid payment, as a fraction of its amount', (text) =>
    numberOf('--margin', text, '0.15'),
  ),
];

const idsOf = (text: string) => text.split(',').map((id) => id.trim());
const signed = (points: number) => `${points > 0 ? '+' : ''}${points.toFixed(2)}`;

/** The `routes experiment` commands, about experiments with the routing. */
export function experimentCommand(context: CommandContext): Command {
  const show = serviceCommand(context, 'show', {
    summary: 'Show the running or the newest experiment with its result',
    examples: ['tillway routes experiment', 'tillway routes experiment show --json'],
    options: [usualEnvironmentOption()],
    ask: (client, { environment = usualEnvironment(context) }: StartOptions) => newestOf(client, environment),
    show: tellExperiment,
  });
  const start = serviceCommand(context, 'start', {
    summary: 'Start an experiment: route a share of the sessions by another order or objective',
    details: 'Exclusions and limits of the routing rules apply to both arms.',
    examples: [
      'tillway routes experiment start --prefer sandbox_card_backup',
      'tillway routes experiment start --objective total --margin 0.15 --share 20',
    ],
    options: [
      option('--priority <routes>', 'strict order of the routes, separated by commas', idsOf),
      option('--prefer <routes>', 'routes that come before all others, separated by commas', idsOf),
      ...OBJECTIVE_OPTIONS,
      option('--name <text>', 'name of the experiment'),
      wholeNumberOption('--share', 'percentage of the sessions in the variant, 1 to 50; default 10', '10'),
      wholeNumberOption('--minimum', 'sessions in each arm before a verdict; default 500', '500'),
      option('--guardrail <points>', 'largest accepted loss of the success rate, in points; default 1', (text) =>
        numberOf('--guardrail', text, '1'),
      ),
      usualEnvironmentOption(),
    ],
    ask: async ({ routing }, options: StartOptions) => routing.startExperiment(requestOf(context, options)),
    show: tellExperiment,
  });
  const stop = serviceCommand(context, 'stop', {
    summary: 'End the running experiment, and store its result',
    examples: ['tillway routes experiment stop'],
    options: [usualEnvironmentOption()],
    async ask(client, { environment = usualEnvironment(context) }: StartOptions) {
      const { id, status } = await newestOf(client, environment);
      if (status === 'running') return client.routing.endExperiment(id);
      throw new CommandError(1, `no experiment of ${environment} is running`);
    },
    show: tellExperiment,
  });
  return commandGroup('experiment', 'Compare the router with another order or objective', [show, start, stop], {
    otherwise: 'show',
  });
}

/** The running experiment, or else the newest one: an experiment starts only if none is running. */
async function newestOf({ routing }: Tillway, environment: Experiment['environment']): Promise<Experiment> {
  const { data } = await routing.experiments({ environment, limit: 1 });
  if (!data[0]) throw new CommandError(1, `there is no experiment of ${environment}`);
  return data[0];
}

function requestOf(context: CommandContext, options: StartOptions): StartExperimentParams {
  const { name, share, minimum: minimumSample, guardrail: guardrailPoints, ...rest } = options;
  const { environment = usualEnvironment(context), ...variant } = rest;
  return { environment, name, variant, share, minimumSample, guardrailPoints };
}

function tellExperiment(experiment: Experiment, paint: Paint): string {
  const { id, name, environment, variant, share, status, endedBy, created, endedAt, result } = experiment;
  const end = endedAt === null ? '' : `, ended ${secondsOf(endedAt)} by the ${endedBy}`;
  const head = [
    `${id}  ${name}  (${environment}, ${status})`,
    `${share} % of the sessions since ${secondsOf(created)}${end}`,
    `variant: ${JSON.stringify(variant)}`,
    `counted at ${secondsOf(result.until)}: sessions whose first payment began at least 15 minutes before`,
  ].map((line) => `${plain(line)}\n`);
  const rows = result.arms.map(({ arm, sessions, paid, rate: success, cost }): Cell[] => [
    arm,
    String(sessions),
    String(paid),
    success === null ? '-' : percent(success),
    cost === null ? '-' : rate(cost),
  ]);
  const { difference, low, high, verdict } = result;
  const interval = `95 % interval: ${signed(low)} to ${signed(high)}`;
  const gap = difference === null ? '' : `Difference: ${signed(difference)} points (${interval}). `;
  const arms = table(['ARM', 'SESSIONS', 'PAID', 'RATE', 'COST'], rows, paint);
  return `${head.join('')}\n${arms}\n${gap}${paint('bold', VERDICTS[verdict])}\n`;
}
