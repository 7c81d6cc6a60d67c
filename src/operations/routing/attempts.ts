import { splitFees } from '../../domain/fees.ts';
import type { Cents } from '../../domain/money.ts';
import { contextsOf, lastCard } from '../../domain/payment-contexts.ts';
import { CURRENCY, type Checkout, type Instant, type Session } from '../../domain/records.ts';
import { countsAgainstRoute } from '../../domain/route-outcome.ts';
import type { RouteKind } from '../../domain/route.ts';
import { decide } from '../../routing/decide.ts';
import type { RuleEffect } from '../../routing/evaluate-rules.ts';
import type { RuleFacts } from '../../routing/rule-fields.ts';
import { leaseProbe } from '../../routing/health-probe.ts';
import { DEFAULT_POLICY } from '../../routing/routing-policy.ts';
import type { Change } from '../../store/store.ts';
import type { Deps } from '../deps.ts';
import { writesOf } from './health-watch.ts';
import { changesOfDecision, decisionInput, decisionRecord, effectOf, offsetsFor, routesNotTaking } from './offers.ts';
import type { RouteView, RoutingView } from './routing-view.ts';

/** Request for the route of an attempt: the buyer's choice, and the routes tried so far. */
export interface AttemptRequest {
  /** The checkout before the attempt. Routes that refused its payments are tried again only if no other route is left. */
  checkout: Checkout;
  kind: RouteKind;
  /** Total in cents that the buyer was shown: no route may cost the buyer more. */
  acceptedTotal: Cents;
  paymentId: string;
  /** Routes that refused this attempt, with their reasons. */
  refused: ReadonlyMap<string, string>;
  /** True if the attempt may probe a route in standby. */
  mayProbe: boolean;
}

/** Route that was chosen for an attempt, with the changes to commit. */
export interface ChosenRoute {
  known: RouteView;
  /** Changes to commit with the attempt: the decision and, for a probe, its lease. */
  changes: Change[];
  /** View on which the decision was made. Its `isRecorded` is set once the changes are committed. */
  view: RoutingView;
  isProbe: boolean;
}

// Shortest time after which a session in an experiment counts: younger payments are often still in progress.
const LEAST_AGE_MS = 15 * 60_000;
const TOO_EXPENSIVE = 'would cost the buyer more than was shown';

/** Route of this attempt, or the reason why there is none: `fee_changed` if only the price that the buyer saw excludes routes. */
export function chooseForAttempt(deps: Deps, request: AttemptRequest): ChosenRoute | 'no_route' | 'fee_changed' {
  const { checkout, refused } = request;
  const { session } = checkout;
  const refusedBefore = refusedRoutes(checkout);
  const view = deps.router.view(session.environment);
  const now = deps.now();
  const effect = effectOf(deps, session.environment, () => factsOf(session, now));
  if (effect.rejected !== null || refused.size >= effect.maxAttempts) return 'no_route';
  if (refused.size > 0 && effect.failover === 'none') return 'no_route';

  const expensive = new Map(
    [...view.routes.values()]
      .filter(({ route }) => splitFees(session.amount, route).total > request.acceptedTotal)
      .map(({ route }) => [route.id, TOO_EXPENSIVE]),
  );
  const beyond = routesNotTaking(view, session.amount);
  const decided = (...barred: ReadonlyMap<string, string>[]) =>
    decideAttempt(deps, view, request, effect, new Map([...barred, beyond].flatMap((routes) => [...routes])), now);
  const fresh = decided(expensive, refused, refusedBefore);
  // Before a route that refused is tried again, the buyer is offered the higher price of a route that has not refused.
  if (!fresh && refusedBefore.size > 0 && decided(refused, refusedBefore)) return 'fee_changed';
  const found = fresh ?? decided(expensive, refused);
  if (!found) return decided(refused) ? 'fee_changed' : 'no_route';
  const { input, output, known } = found;
  const about = { sessionId: session.id, paymentId: request.paymentId };
  const changes = changesOfDecision(view, decisionRecord(deps, view, input, output, about));
  if (output.mode === 'probe') {
    // If another payment leases the probe first, the commit conflicts, and the attempt takes another route.
    const record = leaseProbe(known.health, request.paymentId, now, known.medianSeconds);
    if (record) changes.push(...writesOf(deps, session.environment, known.route.id, { record, transition: null }, now));
    view.isProbed = true;
  }
  if (effect.experiment && session.attempts === 0 && refused.size === 0) {
    const countsAt = now + Math.max(LEAST_AGE_MS, 2 * known.route.etaMinutes * 60_000);
    const assigned = { sessionId: session.id, ...effect.experiment, created: now, countsAt };
    changes.push({ type: 'session_assigned', assigned });
  }
  if (output.tokensAfter !== null) deps.router.tokens[session.environment] = output.tokensAfter;
  return { known, changes, view, isProbe: known.facts.health === 'standby' };
}

/** The routes that refused attempts of this checkout, with their reasons. */
export function refusedRoutes({ payments }: Checkout): ReadonlyMap<string, string> {
  // If this service never handed the payment off, no provider refused it.
  const refused = payments.filter(
    ({ failureCode, failureSource }) => failureCode === 'handoff_refused' && failureSource === 'route',
  );
  return new Map(refused.map(({ route }) => [route.id, 'did not take an earlier payment of this session']));
}

/** The routes on which payments of this checkout failed for a reason other than the buyer. */
function failedRoutes({ payments }: Checkout): string[] {
  const failed = payments.filter(({ failureSource }) => countsAgainstRoute(failureSource));
  return [...new Set(failed.map(({ route }) => route.id))].toSorted();
}

type RequestedSession = Pick<
  Session,
  | 'amount'
  | 'environment'
  | 'preferredRoute'
  | 'product'
  | 'customerEmail'
  | 'clientReferenceId'
  | 'idempotencyKey'
  | 'metadata'
>;

/** Facts of a session, or of a request for one, for the rules. */
export function factsOf(session: RequestedSession, at: Instant): RuleFacts {
  const { amount, environment, preferredRoute: preferredKind, product, customerEmail: customer } = session;
  const { clientReferenceId, metadata, idempotencyKey } = session;
  const about = { amount, currency: CURRENCY, environment, preferredKind, product, customer, clientReferenceId };
  const pairs = Object.entries(metadata).toSorted(([a], [b]) => (a < b ? -1 : 1));
  // Key for a split by session. It is derived from the request, not from the session's id, so that a preview, the session that
  // follows it and the attempts of that session have the same key.
  const sessionId = idempotencyKey ?? JSON.stringify([clientReferenceId, product, amount, customer, pairs]);
  return { ...about, metadata, at, sessionId };
}

/** Decision within the kind that the buyer chose, or within any kind if a rule allows that after a refusal. */
function decideAttempt(
  deps: Deps,
  view: RoutingView,
  request: AttemptRequest,
  effect: RuleEffect,
  barred: ReadonlyMap<string, string>,
  at: Instant,
) {
  const { checkout, refused } = request;
  const { session } = checkout;
  const kinds = refused.size > 0 && effect.failover === 'any' ? [request.kind, null] : [request.kind];
  for (const kind of kinds) {
    const input = decisionInput({
      purpose: 'attempt',
      at,
      draw: {
        seed: deps.router.seed,
        sessionId: session.id,
        attempt: session.attempts + 1,
        tokens: deps.router.tokens[session.environment],
        mayProbe: request.mayProbe && refused.size === 0 && !view.isProbed,
      },
      kind,
      preferredKind: session.preferredRoute,
      amount: session.amount,
      barred: Object.fromEntries([...barred].toSorted(([a], [b]) => (a < b ? -1 : 1))),
      offsets: offsetsFor(view, contextsOf(session, at, deps.routingMetadataKey, lastCard(checkout.payments))),
      failed: failedRoutes(checkout),
      effect,
    });
    const output = decide(view.snapshot, input, DEFAULT_POLICY);
    const known = output.chosen === null ? undefined : view.routes.get(output.chosen);
    if (known) return { input, output, known };
  }
  return undefined;
}
