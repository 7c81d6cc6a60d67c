import { z } from 'zod';
import { expectedOf } from '../routing/decide.ts';
import type { DecisionInput, DecisionOutput, Snapshot } from '../routing/decision.ts';
import { type ObjectiveName, OBJECTIVES } from '../routing/routing-policy.ts';
import { endpoints } from './endpoint.ts';
import { amount, email, environment, metadata, routeKind, text } from './request-fields.ts';
import * as field from './resource-fields.ts';
import { named, rendererFrom, rendererOf, resource } from './resource.ts';
import { routeHealth } from './route-contract.ts';
import { SAMPLE_IDS, SAMPLE_ROUTE_ID } from './sample-ids.ts';

export const fraction = (what: string, example: number) => field.count(`${what} A fraction: 0.93 is 93 %.`, example);
export const routeId = (what: string) => field.label(what, SAMPLE_ROUTE_ID);
export const environmentField = field.environmentOf('The environment.');

/** Fields of the estimate of a route. */
export const estimate = {
  expectedSuccess: fraction('Share of attempts expected to succeed.', 0.93),
  low: fraction('Lower bound of the expected success; low and high are an 80 % interval.', 0.89),
  high: fraction('Upper bound of the expected success.', 0.96),
  outcomes: field.count(
    'Number of outcomes behind the estimate; older outcomes weigh less, configured outcomes count.',
    412.5,
  ),
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
    kind: routeKind.describe('Payment method of the route.'),
    health: routeHealth('Health at the decision time; standby if the route could not be used.'),
    score: field.count('Published score, 0 to 100, higher is better: the expected value without a random draw.', 90.3),
    ...estimate,
    cost: fraction('Cost under the objective, including lost money, as a share of the amount.', 0.033),
    lostRate: field.rate('Part of the cost: the share of the paid money that is lost.', 0.004),
    etaMinutes: field.count('Duration of a payment, in minutes.', 0.1),
    value: fraction('Expected value as a share of the amount; reduced for standby and degraded.', 0.903),
    index: fraction(
      'Value by which the routes were compared: the expected value with a random draw. null without a draw.',
      0.907,
    ).nullable(),
    offsets: z
      .array(
        z.strictObject({
          context: field.label('Name of the context: amount, hour, mail, metadata, country or card.', 'amount'),
          value: field.label('Its value in this payment.', '200-500'),
          ratio: field.count('Failures of the route in this context, as a multiple of its usual ones.', 5.7),
        }),
      )
      .describe('Contexts of the payment in which the route fails more or less often; expectedSuccess includes them.'),
    rank: field.count('1 for the chosen route; null for an excluded route.', 1).nullable(),
    excluded: field.label('Reason for the exclusion, or null.', 'excluded by rule no-cards').nullable(),
  }),
);

const decisionFields = {
  environment: environmentField,
  purpose: field.choice(
    ['offer', 'attempt'],
    'offer: the route of the quote at session creation; attempt: the route of a payment.',
  ),
  algorithm: field.label('Version of the decision algorithm.', 'sdts/1'),
  rulesVersion: field.count('The version of the routing rules; 0 for none.', 3),
  mode: field.choice(
    ['exploit', 'explore', 'floor', 'probe', 'rule', 'panic', 'none'],
    'exploit: the best known route; explore: another route, to learn about it; floor: the least recently tried one; probe: a standby route, to test it; rule: a rule put the route first; panic: only standby routes were available; none: no route.',
  ),
  chosen: routeId('The chosen route, or null.').nullable(),
  greedy: routeId('The choice without exploration, or null.').nullable(),
  reason: field.label(
    'The reason, in one sentence.',
    'sandbox_card_acquirer over sandbox_card_backup: expected success 93 % against 90 %, cost 2.9 % against 2.9 %',
  ),
  kind: routeKind.nullable().describe('The payment method that the buyer chose, or null.'),
  preferredKind: routeKind.nullable().describe('The payment method that the merchant prefers, or null.'),
  candidates: z.array(candidate).describe('All routes of the environment.'),
  rules: z
    .array(
      z.strictObject({
        id: field.label('The rule.', 'eu-first'),
        effect: field.label('Effect of the rule.', 'prefer sandbox_card_backup'),
      }),
    )
    .describe('The rules that applied, in order.'),
  gapTop2: fraction('Value of the first route minus that of the second; null without a second.', 0.028).nullable(),
  exploreLoss: fraction('Expected value lost by exploration, as a share of the amount.', 0),
};

/** Choice among routes and its reasons: the fields that decisions and dry runs share. */
const routingVerdict = named('RoutingVerdict', z.strictObject(decisionFields));

const routingDecision = resource('RoutingDecision', 'routing_decision', {
  id: field.id('dec', 'The decision.'),
  paymentId: field.id('pay', 'The payment; null for an offer.').nullable(),
  created: field.time('Decision time; sessions with the same offer share one decision time.'),
  snapshot: field.label(
    'Id of the stored state of the routes; decisions with the same state share it.',
    'snp_01m7x0e9zb4c7r2k5v8q1w3n6t0y9f2d4h7j',
  ),
  snapshotAt: field.time('Time of the stored state.'),
  seed: field
    .label('Seed of the draws, combined with session and attempt; null without draws.', '9f86d081884c7d65')
    .nullable(),
  tokensBefore: field
    .count('Exploration budget before the decision, in multiples of the amount; null for an offer.', 1)
    .nullable(),
  tokensAfter: field.count('Exploration budget after the decision; null for an offer.', 1).nullable(),
  ...decisionFields,
});
export type RoutingDecisionResource = z.output<typeof routingDecision>;

const routingDecisions = resource('RoutingDecisions', 'routing_decisions', {
  sessionId: field.id('chk', 'The session.'),
  decisions: z.array(routingDecision).describe('The offer, then all attempts and failovers, oldest first.'),
});

export const routingReplay = resource('RoutingReplay', 'routing_replay', {
  sessionId: field.id('chk', 'The session.'),
  identical: z.boolean().describe('True if all replayed decisions gave the same bytes.'),
  decisions: z.array(
    z.strictObject({
      id: field.label('The decision.', SAMPLE_IDS.dec),
      identical: z.boolean().describe('True if the replay gave the same bytes.'),
      chosen: routeId('The original choice.').nullable(),
      again: routeId('The choice of the replay.').nullable(),
      note: field.label('Known reason for a difference, or null.', 'decided by algorithm sdts/0').nullable(),
    }),
  ),
});

/** Rule set of a dry run or backtest. The operation validates the rules, so that it can report all their problems. */
const supposedRules = z.unknown().check((context) => {
  if (context.value === null) context.issues.push({ code: 'invalid_type', expected: 'object', input: null });
});

/** Body of a dry run: the fields of a checkout request, the payment method that the buyer would choose, and the rules to use. */
const dryRunRequest = z.strictObject({
  product: text(1, 120).default('Dry run').describe('The product. Default: Dry run.'),
  amount,
  customer: email.default('buyer@example.com').describe("The buyer's email address. Default: buyer@example.com."),
  preferredRoute: routeKind.optional().describe('Preferred payment method.'),
  metadata,
  clientReferenceId: text(3, 120).optional().describe('Your id of the order, 3 to 120 characters.'),
  environment,
  kind: routeKind.optional().describe('Payment method that the buyer chose. Default: none, which computes the offer.'),
  rules: supposedRules
    .optional()
    .describe('Rule set to use instead of the saved rules, in the format of PUT /api/gateway/routing/rules.'),
});
export type DryRunRequest = z.output<typeof dryRunRequest>;

export const dryRunResult = resource('RoutingDryRun', 'routing_dry_run', {
  rejected: field.label('The code of the rule that rejects the checkout, or null.', 'blocked').nullable(),
  warnings: ruleWarnings.describe('Likely mistakes in the rules of the request; empty without rules.'),
  ...decisionFields,
});

const backtestRequest = z.strictObject({
  environment,
  rules: supposedRules.optional().describe('The rule set to use. Default: the saved rules.'),
  margin: z
    .number()
    .gt(0)
    .max(1)
    .optional()
    .describe('Value of a paid payment, as a fraction of its amount. Rules can override it.')
    .meta({ examples: [0.15] }),
  objective: z.optional(
    field.choice(Object.keys(OBJECTIVES) as ObjectiveName[], 'Cost to minimise. Rules can override it.'),
  ),
  limit: z.int().min(1).max(1000).default(200).describe('Number of decisions, newest first: 1 to 1000. Default 200.'),
});
export type BacktestRequest = z.output<typeof backtestRequest>;

const totals = z.strictObject({
  expectedSuccess: fraction('Mean expected success of the chosen routes.', 0.921),
  cost: fraction('Mean cost of the chosen routes under the objective of the backtest.', 0.027),
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
        paymentId: field.id('pay', 'The payment.'),
        created: field.time('Decision time.'),
        was: routeId('The original choice.').nullable(),
        wouldBe: routeId('The choice of the backtest.').nullable(),
        reason: field.label('The reason, in one sentence.', 'sandbox_card_backup comes first by rule cheap'),
      }),
    )
    .describe('The newest 100 differences, newest first.'),
});

export const renderBacktest = rendererOf(backtestResult);

/** A stored decision, with the state of the routes when it was made. */
export interface StoredDecision {
  id: string;
  sessionId: string | null;
  paymentId: string | null;
  created: number;
  snapshot: Snapshot;
  input: DecisionInput;
  output: DecisionOutput;
}

type Verdict = Pick<StoredDecision, 'snapshot' | 'input' | 'output'>;

function verdictOf({ snapshot, input, output }: Verdict) {
  const facts = new Map(
    snapshot.routes.map((route) => {
      const { p: expectedSuccess, ...expected } = expectedOf(route, input);
      return [route.id, { lostRate: 0, ...route, ...expected, expectedSuccess, outcomes: route.n }];
    }),
  );
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

/** Renders the choice among routes and its reasons, without the ids of a decision. */
export const renderVerdict = rendererFrom(routingVerdict, verdictOf);

export const ROUTING_DECISION_ENDPOINTS = endpoints('routing', {
  listRoutingDecisions: {
    route: 'GET /api/gateway/routing/decisions/{sessionId}',
    summary: 'Explain the route of a session',
    description:
      'All routing decisions about a session, for the offer and for each attempt, with all candidates, their numbers and the reasons for exclusions.',
    response: routingDecisions,
  },
  replayRoutingDecisions: {
    route: 'GET /api/gateway/routing/decisions/{sessionId}/replay',
    summary: 'Replay the decisions of a session',
    description:
      'Computes all decisions about a session again from their stored inputs, and reports whether the results have the same bytes. Changes nothing.',
    response: routingReplay,
  },
  dryRunRouting: {
    route: 'POST /api/gateway/routing/dry-run',
    access: 'read',
    summary: 'Preview the route of a checkout',
    description:
      'Returns the route that a checkout would get, with the reasons. With kind, the route for a buyer who chose this payment method; with rules, the result under these rules instead of the saved rules. Does not explore, and writes nothing.',
    body: dryRunRequest,
    requestExample: { amount: 49.99, metadata: { country: 'DE' } },
    response: dryRunResult,
  },
  backtestRouting: {
    route: 'POST /api/gateway/routing/backtest',
    access: 'read',
    summary: 'Try rules on past payments',
    description:
      'Computes the newest decisions about attempts again from their stored inputs, with other rules, margin or objective, and reports the differences. Writes nothing.',
    body: backtestRequest,
    requestExample: { margin: 0.15, limit: 500 },
    response: backtestResult,
  },
});
