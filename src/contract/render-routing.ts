import type { z } from 'zod';
import type { Environment, RouteHealth } from '../domain/route.ts';
import type { HealthRecord } from '../routing/health-record.ts';
import type { DecidedCandidate, DecisionInput, DecisionOutput, RouteFacts } from '../routing/decision.ts';
import { fractionFromPpm } from '../domain/money.ts';
import { timestamp } from './render.ts';
import type { RoutingDecisionResource, dryRunResult, routeStanding, transitionResource } from './routing.ts';

/** A decision as it is stored, with what was known when it was made. */
export interface ToldDecision {
  id: string;
  paymentId: string | null;
  created: number;
  snapshot: { id: string; at: number; environment: Environment; rulesVersion: number };
  routes: readonly RouteFacts[];
  input: DecisionInput;
  output: DecisionOutput;
}

type Shared = Omit<z.output<typeof dryRunResult>, 'object' | 'rejected' | 'warnings'>;

export function renderDecision(told: ToldDecision): RoutingDecisionResource {
  const { id, paymentId, created, snapshot, input, output } = told;
  return {
    id,
    object: 'routing_decision',
    paymentId,
    created: timestamp(created),
    snapshot: snapshot.id,
    snapshotAt: timestamp(snapshot.at),
    seed: input.draw?.seed ?? null,
    tokensBefore: input.draw?.tokens ?? null,
    tokensAfter: output.tokensAfter,
    ...renderVerdict(told),
  };
}

/** What was decided and why, without its ids. */
export function renderVerdict({
  snapshot,
  routes,
  input,
  output,
}: Pick<ToldDecision, 'snapshot' | 'routes' | 'input' | 'output'>): Shared {
  const facts = new Map(routes.map((route) => [route.id, route]));
  return {
    environment: snapshot.environment,
    purpose: input.purpose,
    algorithm: input.algorithm,
    rulesVersion: snapshot.rulesVersion,
    mode: output.mode,
    chosen: output.chosen,
    greedy: output.greedy,
    reason: output.reason,
    kind: input.kind,
    preferredKind: input.preferredKind,
    candidates: output.candidates.map((candidate) => renderCandidate(candidate, facts.get(candidate.route)!)),
    rules: input.effect.matched.map(({ id, effect }) => ({ id, effect })),
    gapTop2: output.gapTop2,
    exploreLoss: output.exploreLoss,
  };
}

function renderCandidate(candidate: DecidedCandidate, facts: RouteFacts): Shared['candidates'][number] {
  const { route, score, cost, value, index, rank, excluded } = candidate;
  const { kind, health, p: expectedSuccess, low, high, n: outcomes, etaMinutes } = facts;
  return {
    route,
    kind,
    health,
    score,
    expectedSuccess,
    low,
    high,
    outcomes,
    cost,
    etaMinutes,
    value,
    index,
    rank,
    excluded,
  };
}

/** A route as the router knows it; `score` is 0 to 100. */
export function renderStanding(
  environment: Environment,
  facts: RouteFacts,
  record: HealthRecord,
  score: number,
): z.output<typeof routeStanding> {
  const { id, kind, health, off, p: expectedSuccess, low, high, n: outcomes, triedAt } = facts;
  const { manual, since, retryAt } = record;
  return {
    id,
    object: 'routing_route',
    environment,
    kind,
    health,
    words: off === null ? facts.words : `standby: ${off}`,
    since: timestamp(since),
    retryAt: retryAt === null ? null : timestamp(retryAt),
    override: manual && {
      health: manual.state,
      until: manual.until === null ? null : timestamp(manual.until),
      reason: manual.reason,
    },
    score,
    expectedSuccess,
    low,
    high,
    outcomes,
    buyerFeeRate: fractionFromPpm(facts.buyerFeeRate),
    gatewayFeeRate: fractionFromPpm(facts.gatewayFeeRate),
    providerCostRate: fractionFromPpm(facts.providerCostRate),
    lastOutcomeAt: triedAt === null ? null : timestamp(triedAt),
  };
}

/** A change of a route's health; `created` is ms since 1970. */
export function renderTransition(transition: {
  id: string;
  routeId: string;
  environment: Environment;
  from: RouteHealth;
  to: RouteHealth;
  cause: string;
  words: string;
  numbers: Record<string, number>;
  created: number;
}): z.output<typeof transitionResource> {
  const { id, routeId, environment, from, to, cause, words, numbers, created } = transition;
  return {
    id,
    object: 'routing_transition',
    routeId,
    environment,
    from,
    to,
    cause,
    words,
    numbers,
    created: timestamp(created),
  };
}
