import { z } from 'zod';
import { OBJECTIVES } from '../routing/policy.ts';
import { ruleSetSchema } from '../routing/rules.ts';
import { id, label, rate, time } from './described.ts';
import { amount, email, environment, metadata, routeKind, text } from './fields.ts';
import { SAMPLE_ROUTE_ID } from './requests.ts';

// The resources and bodies of the routing endpoints.

const number = (what: string, example: number) =>
  z
    .number()
    .describe(what)
    .meta({ examples: [example] });
const fraction = (what: string, example: number) => number(`${what} A fraction: 0.93 is 93 %.`, example);
const health = (what: string) => z.enum(['live', 'degraded', 'standby']).describe(what);
const routeId = (what: string) => label(what, SAMPLE_ROUTE_ID);
const own = z.enum(['sandbox', 'production']).describe('The environment.');

const MODES = ['exploit', 'explore', 'floor', 'probe', 'rule', 'panic', 'none'] as const;
const RESULTS_PER_BACKTEST = 1000;

const candidate = z.strictObject({
  route: routeId('The route.'),
  kind: routeKind.describe('Its kind.'),
  health: health('Its health then; standby where it could not be used at all.'),
  score: number('0 to 100, higher is better: expected value as published, without any draw.', 90.3),
  expectedSuccess: fraction('Share of attempts expected to succeed.', 0.93),
  low: fraction('It lies above this', 0.89),
  high: fraction('and below this in four cases out of five.', 0.96),
  outcomes: number(
    'How many outcomes that rests on: older ones weigh less, and what was configured counts too.',
    412.5,
  ),
  cost: fraction('What it costs by the objective, of the amount.', 0.029),
  etaMinutes: number('How long a payment takes, in minutes.', 0.1),
  value: fraction('Expected value, of the amount; standby and degraded take from it.', 0.903),
  index: fraction('The same with the draw in it: what was compared. null where nothing was drawn.', 0.907).nullable(),
  rank: number('1 is the chosen one; null where it was excluded.', 1).nullable(),
  excluded: label('Why it could not be chosen, in words; null where it could.', 'excluded by rule no-cards').nullable(),
});

const decisionFields = {
  environment: own,
  purpose: z
    .enum(['offer', 'attempt'])
    .describe('offer: what the session was quoted at its creation; attempt: where its buyer was sent.'),
  algorithm: label('Which version of the algorithm decided.', 'sdts/1'),
  rulesVersion: number('The version of the routing rules; 0 for none.', 3),
  mode: z
    .enum(MODES)
    .describe(
      'exploit: the best known; explore: another, to learn; floor: the one tried least recently; probe: one in standby, to see whether it is back; rule: first by a rule; panic: nothing but standby was left; none: no route.',
    ),
  chosen: routeId('The route; null for none.').nullable(),
  greedy: routeId('What would have been chosen without exploring; null for none.').nullable(),
  reason: label(
    'Why, in one sentence.',
    'sandbox_card_acquirer over sandbox_card_backup: expected success 93 % against 90 %, cost 2.9 % against 2.9 %',
  ),
  kind: routeKind.nullable().describe('The kind that the buyer chose, or null.'),
  preferredKind: routeKind.nullable().describe('The kind that the merchant prefers, or null.'),
  candidates: z.array(candidate).describe('Every route of the environment.'),
  rules: z
    .array(
      z.strictObject({
        id: label('The rule.', 'eu-first'),
        effect: label('What it did.', 'prefer sandbox_card_backup'),
      }),
    )
    .describe('The rules that applied, first to last.'),
  gapTop2: fraction('How far the first is ahead of the second in value; null without a second.', 0.028).nullable(),
  exploreLoss: fraction('What exploring gave up in expected value, of the amount.', 0),
};

/** The fields that a decision and a dry run share. */
export const routingVerdict = z.strictObject(decisionFields);

/** One decision with everything that it was made of. */
export const routingDecision = z.strictObject({
  id: label('The decision. Starts with dec_.', 'dec_01m7x0e9zb4c7r2k5v8q1w3n6t0y9f2d4h7j'),
  object: z.literal('routing_decision').describe('Always routing_decision.'),
  paymentId: id('pay', 'The attempt; null for an offer.').nullable(),
  created: time('When it was made; an offer is shared by all sessions that got the same.'),
  snapshot: label(
    'What was known of the routes; the same for decisions that knew the same.',
    'snp_01m7x0e9zb4c7r2k5v8q1w3n6t0y9f2d4h7j',
  ),
  snapshotAt: time('When that was read.'),
  seed: label(
    'What the draws follow from, with session and attempt; null where nothing was drawn.',
    '9f86d081884c7d65',
  ).nullable(),
  tokensBefore: fraction('Exploration budget before it, of one ticket; null where none was asked for.', 1).nullable(),
  tokensAfter: fraction('The same after it.', 1).nullable(),
  ...decisionFields,
});
export type RoutingDecisionResource = z.output<typeof routingDecision>;

export const routingDecisions = z.strictObject({
  object: z.literal('routing_decisions').describe('Always routing_decisions.'),
  sessionId: id('chk', 'The session.'),
  decisions: z.array(routingDecision).describe('The offer first, then each attempt and failover, oldest first.'),
});

export const routingReplay = z.strictObject({
  object: z.literal('routing_replay').describe('Always routing_replay.'),
  sessionId: id('chk', 'The session.'),
  identical: z.boolean().describe('Whether every decision, made again, gave the same bytes.'),
  decisions: z.array(
    z.strictObject({
      id: label('The decision.', 'dec_01m7x0e9zb4c7r2k5v8q1w3n6t0y9f2d4h7j'),
      identical: z.boolean().describe('Whether it gave the same bytes.'),
      chosen: routeId('What was chosen.').nullable(),
      again: routeId('What is chosen when it is made again.').nullable(),
      note: label(
        'Why it cannot be the same, where that is known; else null.',
        'decided by algorithm sdts/0',
      ).nullable(),
    }),
  ),
});

/** Rule set for a dry run. The operation validates it and names every fault. */
const supposedRules = z.unknown().check((context) => {
  if (context.value === null) context.issues.push({ code: 'invalid_type', expected: 'object', input: null });
});

/** Body of the dry run: a checkout as it would be created, and what to suppose about it. */
export const dryRunRequest = z.strictObject({
  product: text(1, 120).default('Dry run').describe('What is sold. Default: Dry run.'),
  amount,
  customer: email.default('buyer@example.com').describe("The buyer's email address. Default: buyer@example.com."),
  preferredRoute: routeKind.optional().describe('Way to pay to prefer.'),
  metadata,
  clientReferenceId: text(3, 120).optional().describe('Your id of the order, 3 to 120 characters.'),
  environment,
  kind: routeKind.optional().describe('Suppose that the buyer chose this way to pay; without it, what is offered.'),
  rules: supposedRules
    .optional()
    .describe('Suppose these rules instead of the saved ones: a rule set as PUT /api/gateway/routing/rules takes it.'),
});
export type DryRunRequest = z.output<typeof dryRunRequest>;

const warnings = z.array(
  z.strictObject({
    path: label('Dotted path of the rule or its part.', 'rules.2.then.smart'),
    code: label('Code of the warning.', 'dead_rule'),
    message: label('Text of the warning.', 'is never reached'),
  }),
);

export const dryRunResult = z.strictObject({
  object: z.literal('routing_dry_run').describe('Always routing_dry_run.'),
  rejected: label('The code of the rule that refuses the checkout; null where none does.', 'blocked').nullable(),
  warnings: warnings.describe('Likely mistakes in the rules of the request; empty without rules.'),
  ...decisionFields,
});

export const rulesResource = z.strictObject({
  object: z.literal('routing_rules').describe('Always routing_rules.'),
  version: number('Grows with every change; 0 where no rules were ever saved.', 3),
  source: z.enum(['none', 'api', 'file']).describe('Where they came from.'),
  ruleSet: ruleSetSchema.describe('The rules.'),
  warnings: warnings.describe('Likely mistakes in the rules.'),
  created: time('When this version was saved; null for none.').nullable(),
});

export const routeStanding = z.strictObject({
  id: routeId('The route.'),
  object: z.literal('routing_route').describe('Always routing_route.'),
  environment: own,
  kind: routeKind.describe('Its kind.'),
  health: health('Its health now.'),
  words: label('Its health in words.', 'live: as configured in the catalogue'),
  since: time('Since when.'),
  retryAt: time('In standby: when it may be tried again; else null.').nullable(),
  override: z
    .strictObject({
      health: health('What the operator set.'),
      until: time('When that ends by itself; null for never.').nullable(),
      reason: label('In the words of the operator.', 'maintenance at the provider'),
    })
    .nullable()
    .describe('What the operator decided over it; null for nothing.'),
  score: number('0 to 100, higher is better.', 90.3),
  expectedSuccess: fraction('Share of attempts expected to succeed.', 0.93),
  low: fraction('It lies above this', 0.89),
  high: fraction('and below this in four cases out of five.', 0.96),
  outcomes: number(
    'How many outcomes that rests on: older ones weigh less, and what was configured counts too.',
    412.5,
  ),
  buyerFeeRate: rate("The buyer's fee.", 0),
  gatewayFeeRate: rate("The gateway's fee.", 0.029),
  providerCostRate: rate('What the provider charges.', 0.019),
  lastOutcomeAt: time('About when an attempt over it last ended; null for never.').nullable(),
});

/** Body of the operator's override. */
export const overrideRequest = z.strictObject({
  health: z
    .enum(['live', 'degraded', 'standby', 'automatic'])
    .describe('standby takes the route out of use; automatic gives it back to the health machine.')
    .meta({ examples: ['standby'] }),
  until: z.iso
    .datetime({ offset: true })
    .optional()
    .describe('When it ends by itself: ISO 8601, in the future. Left out: not by itself.'),
  reason: text(1, 200)
    .default('no reason given')
    .describe('Why, for those who read it later: 1 to 200 characters.')
    .meta({ examples: ['maintenance at the provider'] }),
});
export type OverrideRequest = z.output<typeof overrideRequest>;

export const transitionResource = z.strictObject({
  id: label('The transition. Starts with rtr_.', 'rtr_01m7x0e9zb4c7r2k5v8q1w3n6t0y9f2d4h7j'),
  object: z.literal('routing_transition').describe('Always routing_transition.'),
  routeId: routeId('The route.'),
  environment: own,
  from: health('Before.'),
  to: health('After.'),
  cause: label('Why, for programs.', 'handoff_errors_in_a_row'),
  words: label('The same for people.', 'standby: 3 handoff errors in a row'),
  numbers: z
    .record(z.string(), z.number())
    .describe('What it was decided on; shares are 0 to 1.')
    .meta({ examples: [{ handoffErrors: 3 }] }),
  created: time('When.'),
});

/** Body of a backtest. */
export const backtestRequest = z.strictObject({
  environment,
  rules: supposedRules.optional().describe('The rule set to try; without it, the saved one.'),
  margin: z
    .number()
    .gt(0)
    .max(1)
    .optional()
    .describe('What a paid payment is worth, as a fraction of its amount, where no rule says so.')
    .meta({ examples: [0.15] }),
  objective: z
    .enum(Object.keys(OBJECTIVES) as ['merchant', 'total', 'operator'])
    .optional()
    .describe('Whose cost counts, where no rule says so.'),
  limit: z
    .int()
    .min(1)
    .max(RESULTS_PER_BACKTEST)
    .default(200)
    .describe('How many decisions, the newest first: 1 to 1000. Default 200.'),
});
export type BacktestRequest = z.output<typeof backtestRequest>;

const totals = z.strictObject({
  expectedSuccess: fraction('Mean expected success of the chosen routes.', 0.921),
  cost: fraction('Their mean cost by the objective of the backtest.', 0.027),
});

export const backtestResult = z.strictObject({
  object: z.literal('routing_backtest').describe('Always routing_backtest.'),
  environment: own,
  decisions: number('How many were made again.', 200),
  different: number('How many of them fell differently.', 12),
  was: totals.describe('As it was.'),
  wouldBe: totals.describe('As it would have been.'),
  changes: z
    .array(
      z.strictObject({
        sessionId: id('chk', 'The session.'),
        paymentId: id('pay', 'The attempt.'),
        created: time('When it was decided.'),
        was: routeId('What was chosen.').nullable(),
        wouldBe: routeId('What would have been.').nullable(),
        reason: label('Why, in one sentence.', 'sandbox_card_backup comes first by rule cheap'),
      }),
    )
    .describe('The first 100 that differ, newest first.'),
});
