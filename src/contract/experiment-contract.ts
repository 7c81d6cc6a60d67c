import { z } from 'zod';
import { ARMS, LARGEST_SAMPLE, VERDICTS } from '../domain/experiment.ts';
import { ruleSchema } from '../routing/rule-set.ts';
import { endpoints, get } from './endpoint.ts';
import { environment as environmentFilter, list, listQuery } from './list-query.ts';
import { environment, text } from './request-fields.ts';
import * as field from './resource-fields.ts';
import { named, rendererOf, resource } from './resource.ts';
import { environmentField, fraction } from './routing-decision-contract.ts';

// Experiments, which compare a variant of the routing rules with the router on a share of the sessions.

const effects = ruleSchema.shape.then;
const { priority, prefer, smart, objective, margin } = effects.shape;
const variant = named(
  'ExperimentVariant',
  z
    .strictObject({ priority, prefer, smart, objective, margin })
    // The same checks as for the effects of a rule: at least one effect, and at most one ordering.
    .check(({ value, issues }) => {
      for (const issue of effects.safeParse(value).error?.issues ?? [])
        issues.push({ ...issue, input: value } as never);
    })
    .meta({ minProperties: 1, examples: [{ priority: ['sandbox_card_backup', 'sandbox_card_acquirer'] }] }),
  'both',
);

const whole = (min: number, max: number, usual: number, what: string) =>
  z.int().min(min).max(max).default(usual).describe(`${what}: ${min} to ${max}. Default ${usual}.`);

export const experimentRequest = z.strictObject({
  environment,
  name: text(1, 120).default('Experiment').describe('Name: 1 to 120 characters. Default: Experiment.'),
  variant: variant.describe('An order of the routes, an objective or a margin, as in a rule.'),
  share: whole(1, 50, 10, 'Percentage of the sessions in the variant'),
  minimumSample: whole(100, LARGEST_SAMPLE, 500, 'Sessions in each arm before a verdict'),
  guardrailPoints: whole(0, 100, 1, 'Largest accepted loss of the success rate, in percentage points'),
});
export type ExperimentRequest = z.output<typeof experimentRequest>;

const points = (what: string, example: number) => field.count(`${what} In percentage points.`, example);

const result = named(
  'ExperimentResult',
  z.strictObject({
    arms: z
      .array(
        z.strictObject({
          arm: field.choice(ARMS, 'router: the sessions without the variant.', 'variant'),
          sessions: field.count('Sessions whose first payment began at least 15 minutes ago.', 512),
          paid: field.count('Number of paid sessions among them.', 471),
          rate: fraction('Success rate: the share of paid sessions; null without sessions.', 0.9199).nullable(),
          cost: field
            .rate(
              "Mean cost of the paid sessions: the provider's charge as a share of the amount; null without paid sessions.",
              0.029,
            )
            .nullable(),
        }),
      )
      .describe('The variant, then the router.'),
    difference: points('Rate of the variant minus that of the router; null if an arm is empty.', 1.9).nullable(),
    low: points('Lower bound; low and high are a 95 % interval, valid at every look.', -0.8),
    high: points('Upper bound.', 4.6),
    verdict: field.choice(
      VERDICTS,
      'too_small: an arm has fewer sessions than minimumSample; better, worse: the interval excludes 0.',
      'no_difference_shown',
    ),
    until: field.time('Time of the count.'),
  }),
);

const experimentResource = resource('Experiment', 'experiment', {
  id: field.id('exp', 'The experiment.'),
  environment: environmentField,
  name: field.label('Name.', 'Backup first'),
  variant: variant.describe('Effects of the variant.'),
  share: field.count('Percentage of the sessions in the variant.', 10),
  minimumSample: field.count('Sessions in each arm before a verdict.', 500),
  guardrailPoints: field.count('Largest accepted loss of the success rate, in percentage points.', 1),
  status: field.choice(['running', 'ended'], 'running: sessions are assigned to the arms.', 'running'),
  endedBy: field.choice(['operator', 'guardrail'], 'guardrail: the loss was too large. null while it runs.').nullable(),
  created: field.time('Start of the experiment.'),
  endedAt: field.time('End of the experiment; null while it runs.').nullable(),
  result: result.describe('Result at this moment, or at the end of the experiment.'),
});

export const renderExperiment = rendererOf(experimentResource);

const PATH = '/api/gateway/routing/experiments';

export const EXPERIMENT_ENDPOINTS = endpoints('routing', {
  listExperiments: list(
    PATH,
    'List the experiments',
    listQuery('exp', { environment: environmentFilter }),
    experimentResource,
    'Newest first. At most one of an environment is running.',
  ),
  getExperiment: get(`${PATH}/{experimentId}`, 'Get an experiment', experimentResource, 'With its result.'),
  startExperiment: {
    route: `POST ${PATH}`,
    access: 'admin',
    summary: 'Start an experiment',
    description:
      'Routes a share of the sessions by a variant. Exclusions and limits of the routing rules apply to it too. Starting the running experiment again returns it; another one is rejected.',
    body: experimentRequest,
    requestExample: { variant: { objective: 'total' } },
    response: experimentResource,
    errors: ['invalid_state'],
  },
  endExperiment: {
    route: `POST ${PATH}/{experimentId}/end`,
    access: 'admin',
    summary: 'End an experiment',
    description: 'Stores the result. Ending it again changes nothing.',
    response: experimentResource,
  },
});
