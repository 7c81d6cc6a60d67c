import { z } from 'zod';
import type { Environment } from '../domain/route.ts';
import type { DecisionInput, DecisionOutput, RouteFacts } from '../routing/decision.ts';
import { type ObjectiveName, OBJECTIVES } from '../routing/routing-policy.ts';
import { endpoints } from './endpoint.ts';
import { amount, email, environment, metadata, routeKind, text } from './request-fields.ts';
import * as field from './resource-fields.ts';
import { named, rendererFrom, rendererOf, resource } from './resource.ts';
import { routeHealth } from './route-contract.ts';
import { SAMPLE_ROUTE_ID } from './sample-ids.ts';

const fraction = (what: string, example: number) => field.count(`${what} A fraction: 0.93 is 93 %.`, example);
export const routeId = (what: string) => field.label(what, SAMPLE_ROUTE_ID);
export const environmentField = field.environmentOf('The environment.');

export const estimate = {
  expectedSuccess: fraction('Share of attempts expected to succeed.', 0.93),
  low: fraction('Lower bound of the expected success, with high the interval of four cases out of five.', 0.89),
  high: fraction('Upper bound of the expected success.', 0.96),
  outcomes: field.count('Number of outcomes behind it: older ones weigh less, and configured ones count too.', 412.5),
};

export const ruleWarnings = z.array(
  z.strictObject({
    path: field.label('Dotted path of the rule or its part.', 'rules.2.then.smart'),
    code: field.label('Code of the warning.', 'dead_rule'),
    message: field.label('Text of the warning.', 'is never reached'),
  }),
);

const candidate = named(
  'RoutingCandidate',
  z.strictObject({
    route: routeId('The route.'),
    kind: routeKind.describe('Its kind.'),
    health: routeHealth('Its health then; standby if it could not be used at all.'),
    score: field.count('0 to 100, higher is better: expected value as published, without any draw.', 90.3),
    ...estimate,
    cost: fraction('Its cost by the objective, of the amount.', 0.029),
    etaMinutes: field.count('Duration of a payment, in minutes.', 0.1),
    value: fraction('Expected value, of the amount; standby and degraded reduce it.', 0.903),
    index: fraction(
      'The compared value: the expected value with the draw in it. null without a draw.',
      0.907,
    ).nullable(),
    rank: field.count('1 is the chosen one; null if it was excluded.', 1).nullable(),
    excluded: field.label('Reason for its exclusion, or null.', 'excluded by rule no-cards').nullable(),
  }),
);

const decisionFields = {
  environment: environmentField,
  purpose: field.choice(
    ['offer', 'attempt'],
    'offer: the route quoted when the session was created; attempt: the route to which its buyer was sent.',
  ),
  algorithm: field.label('Version of the algorithm that decided.', 'sdts/1'),
  rulesVersion: field.count('The version of the routing rules; 0 for none.', 3),
  mode: field.choice(
    ['exploit', 'explore', 'floor', 'probe', 'rule', 'panic', 'none'],
    'exploit: the best known; explore: another, to learn; floor: the one tried least recently; probe: one in standby, to see whether it has recovered; rule: first by a rule; panic: only standby routes were left; none: no route.',
  ),
  chosen: routeId('The route; null for none.').nullable(),
  greedy: routeId('The choice without exploring; null for none.').nullable(),
  reason: field.label(
    'The reason, in one sentence.',
    'sandbox_card_acquirer over sandbox_card_backup: expected success 93 % against 90 %, cost 2.9 % against 2.9 %',
  ),
  kind: routeKind.nullable().describe('The kind that the buyer chose, or null.'),
  preferredKind: routeKind.nullable().describe('The kind that the merchant prefers, or null.'),
  candidates: z.array(candidate).describe('Every route of the environment.'),
  rules: z
    .array(
      z.strictObject({
        id: field.label('The rule.', 'eu-first'),
        effect: field.label('Its effect.', 'prefer sandbox_card_backup'),
      }),
    )
    .describe('The rules that applied, first to last.'),
  gapTop2: fraction('Lead of the first over the second in value; null without a second.', 0.028).nullable(),
  exploreLoss: fraction('Expected value given up by exploring, of the amount.', 0),
};

/** The fields that a decision and a dry run share. */
const routingVerdict = named('RoutingVerdict', z.strictObject(decisionFields));

const routingDecision = resource('RoutingDecision', 'routing_decision', {
  id: field.id('dec', 'The decision.'),
  paymentId: field.id('pay', 'The attempt; null for an offer.').nullable(),
  created: field.time('Decision time; all sessions with the same offer share it.'),
  snapshot: field.label(
    'The state of the routes; the same for decisions with the same state.',
    'snp_01m7x0e9zb4c7r2k5v8q1w3n6t0y9f2d4h7j',
  ),
  snapshotAt: field.time('Time of that state.'),
  seed: field.label('Seed of the draws, with session and attempt; null without draws.', '9f86d081884c7d65').nullable(),
  tokensBefore: fraction(
    'Exploration budget before the decision, as a share of one ticket; null for an offer.',
    1,
  ).nullable(),
  tokensAfter: fraction('Exploration budget after the decision; null for an offer.', 1).nullable(),
  ...decisionFields,
});
export type RoutingDecisionResource = z.output<typeof routingDecision>;

const routingDecisions = resource('RoutingDecisions', 'routing_decisions', {
  sessionId: field.id('chk', 'The session.'),
  decisions: z.array(routingDecision).describe('The offer first, then each attempt and failover, oldest first.'),
});

export const routingReplay = resource('RoutingReplay', 'routing_replay', {
  sessionId: field.id('chk', 'The session.'),
  identical: z.boolean().describe('True if every replayed decision gave the same bytes.'),
  decisions: z.array(
    z.strictObject({
      id: field.label('The decision.', 'dec_01m7x0e9zb4c7r2k5v8q1w3n6t0y9f2d4h7j'),
      identical: z.boolean().describe('True if it gave the same bytes.'),
      chosen: routeId('The original choice.').nullable(),
      again: routeId('The choice when it is made again.').nullable(),
      note: field.label('Known reason for a difference, else null.', 'decided by algorithm sdts/0').nullable(),
    }),
  ),
});

/** Rule set for a dry run. The operation validates it and names every fault. */
const supposedRules = z.unknown().check((context) => {
  if (context.value === null) context.issues.push({ code: 'invalid_type', expected: 'object', input: null });
});

/** Body of the dry run: a checkout as it would be created, and the assumptions about it. */
const dryRunRequest = z.strictObject({
  product: text(1, 120).default('Dry run').describe('The product. Default: Dry run.'),
  amount,
  customer: email.default('buyer@example.com').describe("The buyer's email address. Default: buyer@example.com."),
  preferredRoute: routeKind.optional().describe('Payment method to prefer.'),
  metadata,
  clientReferenceId: text(3, 120).optional().describe('Your id of the order, 3 to 120 characters.'),
  environment,
  kind: routeKind.optional().describe('Suppose that the buyer chose this payment method. Default: the offer.'),
  rules: supposedRules
    .optional()
    .describe('Suppose these rules instead of the saved ones: a rule set as PUT /api/gateway/routing/rules takes it.'),
});
export type DryRunRequest = z.output<typeof dryRunRequest>;

export const dryRunResult = resource('RoutingDryRun', 'routing_dry_run', {
  rejected: field.label('The code of the rule that refuses the checkout, or null.', 'blocked').nullable(),
  warnings: ruleWarnings.describe('Likely mistakes in the rules of the request; empty without rules.'),
  ...decisionFields,
});

const backtestRequest = z.strictObject({
  environment,
  rules: supposedRules.optional().describe('The rule set to try. Default: the saved one.'),
  margin: z
    .number()
    .gt(0)
    .max(1)
    .optional()
    .describe('Value of a paid payment, as a fraction of its amount, unless a rule sets it.')
    .meta({ examples: [0.15] }),
  objective: z.optional(
    field.choice(Object.keys(OBJECTIVES) as ObjectiveName[], 'Cost to minimise, unless a rule sets it.'),
  ),
  limit: z.int().min(1).max(1000).default(200).describe('Number of decisions, newest first: 1 to 1000. Default 200.'),
});
export type BacktestRequest = z.output<typeof backtestRequest>;

const totals = z.strictObject({
  expectedSuccess: fraction('Mean expected success of the chosen routes.', 0.921),
  cost: fraction('Their mean cost by the objective of the backtest.', 0.027),
});

const backtestResult = resource('RoutingBacktest', 'routing_backtest', {
  environment: environmentField,
  decisions: field.count('Number of replayed decisions.', 200),
  different: field.count('Number of different results.', 12),
  was: totals.describe('The original result.'),
  wouldBe: totals.describe('The result of the backtest.'),
  changes: z
    .array(
      z.strictObject({
        sessionId: field.id('chk', 'The session.'),
        paymentId: field.id('pay', 'The attempt.'),
        created: field.time('Decision time.'),
        was: routeId('The original choice.').nullable(),
        wouldBe: routeId('The choice of the backtest.').nullable(),
        reason: field.label('The reason, in one sentence.', 'sandbox_card_backup comes first by rule cheap'),
      }),
    )
    .describe('The first 100 that differ, newest first.'),
});

export const renderBacktest = rendererOf(backtestResult);

/** A decision as it is stored, with the state of the routes when it was made. */
export interface StoredDecision {
  id: string;
  paymentId: string | null;
  created: number;
  snapshot: { id: string; at: number; environment: Environment; rulesVersion: number };
  routes: readonly RouteFacts[];
  input: DecisionInput;
  output: DecisionOutput;
}

type Verdict = Pick<StoredDecision, 'snapshot' | 'routes' | 'input' | 'output'>;

function verdictOf({ snapshot, routes, input, output }: Verdict) {
  const facts = new Map(routes.map(({ p, n, ...route }) => [route.id, { ...route, expectedSuccess: p, outcomes: n }]));
  const candidates = output.candidates.map((each) => ({ ...facts.get(each.route)!, ...each }));
  const { environment: of, rulesVersion } = snapshot;
  return { ...input, ...output, environment: of, rulesVersion, candidates, rules: input.effect.matched };
}

export const renderDecision = rendererFrom(routingDecision, (decision: StoredDecision) => ({
  ...verdictOf(decision),
  id: decision.id,
  paymentId: decision.paymentId,
  created: decision.created,
  snapshot: decision.snapshot.id,
  snapshotAt: decision.snapshot.at,
  seed: decision.input.draw?.seed ?? null,
  tokensBefore: decision.input.draw?.tokens ?? null,
}));

/** The choice and its reasons, without ids. */
export const renderVerdict = rendererFrom(routingVerdict, verdictOf);

export const ROUTING_DECISION_ENDPOINTS = endpoints('routing', {
  listRoutingDecisions: {
    route: 'GET /api/gateway/routing/decisions/{sessionId}',
    summary: 'Explain the route of a session',
    description:
      'Every routing decision about a session, with all candidates, their numbers and why they were not chosen: the offer, and the route of each attempt.',
    response: routingDecisions,
  },
  replayRoutingDecisions: {
    route: 'GET /api/gateway/routing/decisions/{sessionId}/replay',
    summary: 'Make the decisions of a session again',
    description:
      'Repeats every decision about a session from its stored inputs, and reports whether each gives the same bytes. Changes nothing.',
    response: routingReplay,
  },
  dryRunRouting: {
    route: 'POST /api/gateway/routing/dry-run',
    access: 'read',
    summary: 'Ask which route a checkout would get',
    description:
      'The route that the quote of this checkout would have, with the reasons. With kind, the route that its buyer would use; with rules, the result under these rules instead of the saved ones. Explores nothing and writes nothing.',
    body: dryRunRequest,
    requestExample: { amount: 49.99, metadata: { country: 'DE' } },
    response: dryRunResult,
  },
  backtestRouting: {
    route: 'POST /api/gateway/routing/backtest',
    access: 'read',
    summary: 'Try rules on past payments',
    description:
      'Makes the newest decisions about attempts again, from their stored inputs, under other rules, margin or objective, and reports the differences. Writes nothing.',
    body: backtestRequest,
    requestExample: { margin: 0.15, limit: 500 },
    response: backtestResult,
  },
});
