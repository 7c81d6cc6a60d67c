import type { Route } from '../../src/domain/route.ts';
import type { OutcomeResult } from '../../src/domain/route-outcome.ts';
import { changesOf, RESULTS_READ, signalsOf } from '../../src/operations/routing/health-watch.ts';
import { decisionInput, offsetsFor } from '../../src/operations/routing/offers.ts';
import { cleared, clearingsOf, NO_ESTIMATES, priorsOf } from '../../src/operations/routing/read-estimates.ts';
import { buildView, type RoutingView } from '../../src/operations/routing/routing-view.ts';
import { decide } from '../../src/routing/decide.ts';
import { estimateRoutes } from '../../src/routing/estimate.ts';
import { NO_EFFECT, NO_RULES } from '../../src/routing/evaluate-rules.ts';
import { leaseProbe } from '../../src/routing/health-probe.ts';
import { healthPeers, configuredHealth } from '../../src/routing/health-record.ts';
import { DEFAULT_POLICY } from '../../src/routing/routing-policy.ts';
import type { RecentOutcome } from '../../src/store/tables/routing-tables.ts';
import type { BenchHandoff, BenchOutcome, BenchPayment, Contender, WorldBriefing } from './contender.ts';
import { contextsOf, outcomeMemory } from './outcome-memory.ts';
import { payoutMemory } from './payout-memory.ts';
import { randomStream } from './world/random.ts';
import type { BenchRouter } from './world/simulate.ts';

const ENVIRONMENT = 'production';

/**
 * The router as the running service uses it. It looks at the outcomes at most once a second, the interval of the routing worker: it evaluates the
 * health of the routes and builds the view for the decisions until the next look. A route in standby gets a payment only as a probe.
 */
export const TILLWAY_SERVICE: BenchRouter = { name: 'tillway service', create: service };

const RESULTS: Record<BenchOutcome['result'], OutcomeResult> = {
  paid: 'paid',
  route_failure: 'failed',
  issuer_decline: 'failed',
  buyer_failure: 'neutral',
};

function service(world: WorldBriefing): Contender {
  const routes = Array.from({ length: world.arms }, (_, arm) => routeOf(arm));
  const priors = priorsOf(routes);
  const health = new Map(routes.map((route) => [route.id, configuredHealth(route.health, 0)]));
  /** Latest results of each route, newest first. */
  const results = new Map(routes.map(({ id }): [string, RecentOutcome[]] => [id, []]));
  /** Payments in progress on routes in standby. */
  const probes = new Set<string>();
  const memory = outcomeMemory(priors, DEFAULT_POLICY, (states, bucket) =>
    cleared(states, bucket, clearingsOf(health)),
  );
  const payouts = new Map(routes.map(({ id }) => [id, payoutMemory(DEFAULT_POLICY)]));
  const jitter = randomStream(world.seed);
  let tokens = DEFAULT_POLICY.exploration.budgetCap;
  let view: RoutingView | undefined;
  let lookedAt = -1;
  /** Time of the next look: the first whole second after the oldest unread news. */
  let dueAt = Infinity;

  const look = (at: number): RoutingView => {
    const now = at * 1000;
    const estimates = { ...NO_ESTIMATES, ...memory.at(at) };
    const known = estimateRoutes(estimates.states, priors, now, DEFAULT_POLICY);
    for (const { id } of routes) {
      const record = health.get(id)!;
      const recent = results.get(id)!.filter((result) => result.at >= record.since);
      const signals = signalsOf(known.get(id)!, record, recent, healthPeers([...health.values()], now), now);
      const change = changesOf(record, undefined, recent, signals, jitter.uniform()).at(-1);
      if (change) health.set(id, change.record);
    }
    lookedAt = at;
    dueAt = Infinity;
    return buildView({
      environment: ENVIRONMENT,
      at: now,
      routes,
      providerReason: () => null,
      healthOf: ({ id }) => health.get(id)!,
      estimates,
      moneyOf: ({ id }) => payouts.get(id)!.at(at),
      rules: { compiled: NO_RULES, version: 0 },
      newId: (prefix) => `${prefix}_${now}`,
      before: view,
    });
  };
  // A look without news only lets times expire, which matters at the next payment. So the looks are the first after news and the last
  // before a payment.
  const lookAtNews = (at: number): void => {
    if (dueAt <= at) view = look(dueAt);
  };
  const add = ({ arm, payment, at }: BenchHandoff, result: OutcomeResult): boolean => {
    lookAtNews(at);
    dueAt = Math.min(dueAt, Math.floor(at) + 1);
    const paymentId = idOf(payment, arm);
    const probe = probes.has(paymentId);
    const latest = results.get(routes[arm]!.id)!;
    latest.unshift({ at: at * 1000, result, paymentId, sessionId: `chk_${payment.number}`, probe });
    if (latest.length > RESULTS_READ) latest.pop();
    return probe;
  };

  return {
    choose(payment, excluded) {
      lookAtNews(payment.at);
      const second = Math.floor(payment.at);
      if (view === undefined || second > lookedAt) view = look(second);
      const at = payment.at * 1000;
      const input = decisionInput({
        purpose: 'attempt',
        at,
        draw: {
          seed: `bench-${world.seed}`,
          sessionId: `chk_${payment.number}`,
          attempt: excluded ? excluded.size + 1 : 1,
          tokens,
          mayProbe: !excluded && !view.isProbed,
        },
        kind: 'card',
        preferredKind: null,
        amount: Math.round(payment.amount * 100),
        barred: Object.fromEntries([...(excluded ?? [])].map((arm) => [routes[arm]!.id, 'refused'])),
        offsets: offsetsFor(view, contextsOf(payment)),
        effect: NO_EFFECT,
      });
      const { mode, chosen, tokensAfter } = decide(view.snapshot, input, DEFAULT_POLICY);
      const { route, facts, health: record, medianSeconds } = view.routes.get(chosen!)!;
      tokens = tokensAfter!;
      const arm = routes.indexOf(route);
      if (facts.health === 'standby') probes.add(idOf(payment, arm));
      if (mode === 'probe') {
        health.set(route.id, leaseProbe(record, idOf(payment, arm), at, medianSeconds)!);
        view.isProbed = true;
      }
      return arm;
    },
    learnHandoff(handoff) {
      add(handoff, 'accepted');
    },
    learn(outcome) {
      const { arm, payment, handoffError, result } = outcome;
      const isProbe = add(outcome, handoffError ? 'refused' : RESULTS[result]);
      memory.add(routes[arm]!.id, outcome, isProbe);
      probes.delete(idOf(payment, arm));
      if (result === 'paid') payouts.get(routes[arm]!.id)!.addPaid(payment);
    },
    learnPayout: (arm, payment) => payouts.get(routes[arm]!.id)!.addPayout(payment),
  };
}

function idOf({ number }: BenchPayment, arm: number): string {
  return `pay_${number}_${arm}`;
}

/** A route without costs, because the service runs only where success alone counts. */
function routeOf(arm: number): Route {
  return {
    id: `rt_${arm}`,
    label: `Route ${arm}`,
    environment: ENVIRONMENT,
    integrationId: 'bench',
    integrationLabel: 'Benchmark',
    kind: 'card',
    network: 'card',
    asset: 'USD',
    health: 'live',
    payerLabel: 'Card',
    eta: 'at once',
    etaMinutes: 0,
    buyerFeeRate: 0,
    gatewayFeeRate: 0,
    providerCostRate: 0,
    kycPolicy: 'none',
    successRate: 850_000,
    paymentTimeoutSeconds: 1800,
  };
}
