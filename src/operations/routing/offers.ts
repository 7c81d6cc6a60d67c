import { type Cents, usd } from '../../domain/money.ts';
import type { Environment, Route, RouteKind } from '../../domain/route.ts';
import { type PaymentContexts, bandOf } from '../../domain/payment-contexts.ts';
import { GatewayError, invalidField } from '../../domain/gateway-error.ts';
import { decide } from '../../routing/decide.ts';
import { writeDecision } from '../../routing/decision-record.ts';
import { offsetsOf } from '../../routing/context-offsets.ts';
import type { DecisionInput, DecisionOutput } from '../../routing/decision.ts';
import { NO_EFFECT, NO_RULES, type RuleEffect, effectKey, evaluateRules } from '../../routing/evaluate-rules.ts';
import type { RuleFacts } from '../../routing/rule-fields.ts';
import { DEFAULT_POLICY } from '../../routing/routing-policy.ts';
import type { RoutingDecision } from '../../store/tables/routing-tables.ts';
import type { Change } from '../../store/store.ts';
import type { Deps } from '../deps.ts';
import type { RouteView, Quote, RoutingView } from './routing-view.ts';
import type { RouteSummary } from '../../contract/route-contract.ts';
import type { z } from 'zod';
import { renderFeeSplit } from '../../contract/payment-contract.ts';
import type { FeesEstimateRequest, feesEstimateResult } from '../../contract/action-contract.ts';
import { splitFees } from '../../domain/fees.ts';
import { assertEnvironment } from '../access/caller.ts';
import { centsOf } from '../cents-of.ts';

// Limit of cached quotes, because rules with many conditions give many different effects, and sessions bar different routes.
const MAX_CACHED_QUOTES = 1000;

/** Input of a quote in addition to the routes. */
export interface QuoteRequest {
  environment: Environment;
  amount: Cents;
  preferredKind: RouteKind | null;
  /** The payment kind that the buyer has chosen, or could choose. */
  kind?: RouteKind;
  effect: RuleEffect;
  contexts: PaymentContexts;
  /** Routes to exclude, with the reasons. */
  barred?: ReadonlyMap<string, string>;
}

type RoutingDeps = Pick<Deps, 'router' | 'newId' | 'now'>;

/** Input of a decision by the current algorithm; by default without a draw, an amount or barred routes. */
export function decisionInput(
  fields: Pick<DecisionInput, 'purpose' | 'at' | 'kind' | 'preferredKind' | 'effect'> & Partial<DecisionInput>,
): DecisionInput {
  return {
    algorithm: DEFAULT_POLICY.algorithm,
    draw: null,
    amount: null,
    barred: {},
    offsets: {},
    failed: [],
    ...fields,
  };
}

/** Record of a decision about a payment, or about no session if it is a quote. */
export function decisionRecord(
  { newId, now }: Pick<Deps, 'newId' | 'now'>,
  { snapshot: { id: snapshotId, environment } }: RoutingView,
  input: DecisionInput,
  output: DecisionOutput,
  about: { sessionId: string; paymentId: string } | { sessionId: null; paymentId: null },
): RoutingDecision {
  return { id: newId('dec'), snapshotId, environment, ...about, body: writeDecision(input, output), created: now() };
}

/** Effect of the rules on a checkout. `factsOf` is called only if there are rules. */
export function effectOf(deps: Pick<Deps, 'router'>, environment: Environment, factsOf: () => RuleFacts): RuleEffect {
  const { rules } = deps.router.view(environment);
  return rules === NO_RULES ? NO_EFFECT : evaluateRules(rules, factsOf());
}

/** The quote of the best known route, without exploration. It is cached until the view of the routes changes. */
export function quoteFor(deps: RoutingDeps, request: QuoteRequest): Quote {
  const { environment, amount, preferredKind, kind = null, effect, contexts, barred = new Map() } = request;
  const view = deps.router.view(environment);
  const about = {
    kind,
    preferredKind,
    barred: Object.fromEntries([...barred, ...routesNotTaking(view, amount)]),
    offsets: offsetsFor(view, contexts),
  };
  const key = effectKey(effect) + JSON.stringify(about);
  let quote = view.quotes.get(key);
  if (!quote) {
    quote = newQuote(deps, view, decisionInput({ purpose: 'offer', at: view.snapshot.at, ...about, effect }));
    if (view.quotes.size >= MAX_CACHED_QUOTES) view.quotes.clear();
    view.quotes.set(key, quote);
  }
  return quote;
}

/** The offsets of each route for a payment with these contexts; none for a route that has none. */
export function offsetsFor({ ratios, routes }: RoutingView, contexts: PaymentContexts): DecisionInput['offsets'] {
  const offsets: DecisionInput['offsets'] = {};
  for (const id of routes.keys()) {
    const own = offsetsOf(ratios.get(id), contexts);
    if (own.length > 0) offsets[id] = own;
  }
  return offsets;
}

/** The routes of a view that do not take payments of `amount`, with the reasons. */
export function routesNotTaking({ routes }: RoutingView, amount: Cents): ReadonlyMap<string, string> {
  const reasons = new Map<string, string>();
  for (const [id, { route }] of routes) {
    const { minAmount = 0, maxAmount = Infinity } = route;
    if (amount > maxAmount) reasons.set(id, `takes at most ${usd(maxAmount)}`);
    if (amount < minAmount) reasons.set(id, `takes ${usd(minAmount)} or more`);
  }
  return reasons;
}

/** The route of a quote, or the error: `forbidden` if a rule refuses the checkout, or `no_eligible_route` with the reasons. */
export function routeOfQuote({ route, output }: Quote, { rejected, matched }: RuleEffect): RouteView | GatewayError {
  if (rejected !== null) {
    const message = `This checkout is refused by routing rule ${matched.at(-1)!.id}: ${rejected}.`;
    return new GatewayError('forbidden', message, {
      suggestion: 'Stop: no checkout like this can be created unless the operator changes the routing rules.',
    });
  }
  if (route) return route;
  const why = output.candidates.map(({ route: id, excluded }) => `${id}: ${excluded}`).join('; ');
  return new GatewayError('no_eligible_route', `No route can take this checkout: ${why || 'there are no routes'}.`, {
    suggestion: 'Ask the operator to change the routing rules or the routes, or change what they look at.',
  });
}

/** Changes to commit with a session of the quote; none if they are committed already. */
export function changesOfQuote({ view, decision, isRecorded }: Quote): Change[] {
  return isRecorded ? [] : changesOfDecision(view, decision);
}

/** Marks the changes of {@link changesOfQuote} as committed. */
export function quoteRecorded(quote: Quote): void {
  quote.isRecorded = true;
  quote.view.isRecorded = true;
}

/** Changes that store a decision, after the snapshot of its view unless that is stored already. */
export function changesOfDecision({ snapshot, isRecorded }: RoutingView, decision: RoutingDecision): Change[] {
  const recorded: Change = { type: 'decision_recorded', decision };
  if (isRecorded) return [recorded];
  const { id, environment, at, ...facts } = snapshot;
  const stored = { id, environment, created: at, body: JSON.stringify(facts) };
  return [{ type: 'snapshot_recorded', snapshot: stored }, recorded];
}

/** The best route of each kind: the preferred kind first, standby last, otherwise always in the same order. */
export function paymentMethods(deps: RoutingDeps, request: Omit<QuoteRequest, 'kind'>): Route[] {
  if (request.effect.rejected !== null) return [];
  const best = (kind: RouteKind) => {
    const quote = quoteFor(deps, { ...request, kind });
    const isUsable = quote.route !== undefined && quote.output.mode !== 'panic';
    return isUsable ? quote : quoteFor(deps, { ...request, kind, barred: new Map() });
  };
  const quotes = deps.router.view(request.environment).kinds.map(best);
  const rankOf = ({ route, output }: Quote) =>
    (output.mode === 'panic' ? 2 : 0) - (route!.route.kind === request.preferredKind ? 1 : 0);
  return quotes
    .filter(({ route }) => route?.facts.off === null)
    .toSorted((a, b) => rankOf(a) - rankOf(b))
    .map(({ route }) => route!.route);
}

/** The route with the id `routeId`. Throws GatewayError `invalid_input`, naming the existing routes. */
function namedRoute(deps: Pick<Deps, 'router'>, environment: Environment, routeId: string): RouteView {
  const { routes, ranked } = deps.router.view(environment);
  const named = routes.get(routeId);
  if (named) return named;
  const ids = ranked.map(({ route }) => route.id);
  const advice = `Set routeId to one of ${ids.join(', ')}, for example ${JSON.stringify(ids[0] ?? '')}, or remove it; then resend.`;
  throw invalidField('routeId', 'invalid_value', `is not a route of ${environment}`, advice);
}

function newQuote(deps: RoutingDeps, view: RoutingView, input: DecisionInput): Quote {
  if (view.routes.size === 0) {
    const advice = 'Use the other environment, or add routes for this one to the catalogue.';
    const problem = `has no routes: the catalogue names none for ${view.snapshot.environment}`;
    throw invalidField('environment', 'invalid_value', problem, advice);
  }
  const output = decide(view.snapshot, input, DEFAULT_POLICY);
  const decision = decisionRecord(deps, view, input, output, { sessionId: null, paymentId: null });
  const route = output.chosen === null ? undefined : view.routes.get(output.chosen);
  return { view, route, output, decision, isRecorded: false };
}

/** The current routes of an environment, the best first. Routes in standby come last. */
export function listRoutes(deps: Pick<Deps, 'router'>, environment: Environment): RouteSummary[] {
  return deps.router.view(environment).ranked.map(({ summary }) => summary);
}

/** Fees of an amount on the best route, or on a named route. Writes nothing. Rules do not apply, because they need a whole checkout. */
export function estimateFees(
  deps: RoutingDeps & Pick<Deps, 'caller'>,
  { environment, preferredRoute, routeId, amount }: FeesEstimateRequest,
): z.output<typeof feesEstimateResult> {
  assertEnvironment(deps, environment);
  const cents = centsOf(amount);
  const contexts = { amount: bandOf(cents / 100) };
  const asked = { environment, amount: cents, preferredKind: preferredRoute ?? null, effect: NO_EFFECT, contexts };
  const quoted = () => quoteFor(deps, asked);
  const found = routeId === undefined ? routeOfQuote(quoted(), NO_EFFECT) : namedRoute(deps, environment, routeId);
  if (found instanceof GatewayError) throw found;
  const { route, summary } = found;
  return { environment, route: summary, feeSplit: renderFeeSplit(splitFees(cents, route)) };
}
