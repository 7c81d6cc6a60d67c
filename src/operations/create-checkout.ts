import { hash } from 'node:crypto';
import { type SessionRequest, checkoutUrl, redirectUrlOf } from '../contract/session-contract.ts';
import { type FeeSplitResource, renderFeeSplit } from '../contract/payment-contract.ts';
import type { CheckoutResult } from '../contract/action-contract.ts';
import type { RouteSummary } from '../contract/route-contract.ts';
import { type PendingTransfer, renderTransfer } from '../contract/transfer-contract.ts';
import { contextsOf } from '../domain/payment-contexts.ts';
import { newSession } from '../domain/checkout-state.ts';
import { GatewayError, idempotencyConflict } from '../domain/gateway-error.ts';
import { isErased } from '../domain/personal-data.ts';
import { splitFees } from '../domain/fees.ts';
import { amountFromCents } from '../domain/money.ts';
import type { Customer, Session } from '../domain/records.ts';
import type { Change } from '../store/store.ts';
import { assertEnvironment } from './access/caller.ts';
import { spendingOf, spendingRefusal } from './access/spend-limit.ts';
import { centsOf } from './cents-of.ts';
import type { Deps } from './deps.ts';
import { factsOf } from './routing/attempts.ts';
import { changesOfQuote, effectOf, quoteFor, quoteRecorded, routeOfQuote } from './routing/offers.ts';
import type { Quote } from './routing/routing-view.ts';
import { retryOnConflict } from './retry-on-conflict.ts';

/** Chosen route and its fees, stored with the session so that a replay returns the same response. */
interface Offer {
  route: RouteSummary;
  feeSplit: FeeSplitResource;
}

/**
 * Creates a session, and its customer if the address is new, in one transaction. The same idempotency key with the same
 * input returns the first session again (`replayed`). Throws GatewayError `idempotency_conflict` for the same key with
 * other input, `forbidden` for a blocked customer, by a routing rule or for production on a service with a test clock,
 * `no_eligible_route` if rules leave no route, `spend_limit_exceeded` if an agent's limits are reached.
 */
export async function createCheckout(
  deps: Deps,
  request: SessionRequest,
): Promise<{ session: Session; replayed: boolean }> {
  assertEnvironment(deps, request.environment);
  const replayed = (first: Session) => ({ changes: [], result: { session: replay(first, request), replayed: true } });
  let draft: Draft | undefined;
  let remembered: ReturnType<Deps['directory']['find']>;
  const created = await retryOnConflict(deps, 'this customer', async (conflict) => {
    const first = conflict && (await firstOf(deps, request));
    if (first) return replayed(first);
    if (conflict === 'spend_limit') {
      const refusal = await spendingRefusal(deps, draft!.session);
      if (refusal) throw refusal;
    }
    // The commit checks the customer from the directory; after a conflict the customer is read from the database.
    remembered = conflict ? undefined : deps.directory.find(request.environment, request.customer);
    const known = remembered ?? (await deps.store.customerByEmail(request.environment, request.customer));
    const drafted = known?.status === 'blocked' ? blocked() : draftSession(deps, request, known?.id);
    if (drafted instanceof GatewayError) {
      const earlier = await firstOf(deps, request);
      if (earlier) return replayed(earlier);
      throw drafted;
    }
    draft = drafted;
    const { session, quote } = drafted;
    const changes: Change[] = [...changesOfQuote(quote), { type: 'session_created', session }];
    if (!known) changes.unshift({ type: 'customer_created', customer: customerOf(session) });
    return { changes: [...spendingOf(deps, session), ...changes], result: { session, replayed: false } };
  });
  if (!created.replayed) {
    quoteRecorded(draft!.quote);
    if (!remembered) deps.directory.remember(request.environment, request.customer, created.session.customerId);
  }
  return created;
}

/** Returns and throws the same as {@link createCheckout}, but writes nothing. */
export async function previewCheckout(
  deps: Deps,
  request: SessionRequest,
): Promise<{ result: CheckoutResult; replayed: boolean }> {
  assertEnvironment(deps, request.environment);
  const first = await firstOf(deps, request);
  if (first) return { result: checkoutResult(deps, replay(first, request), true), replayed: true };
  const known = await deps.store.customerByEmail(request.environment, request.customer);
  if (known?.status === 'blocked') throw blocked();
  const drafted = draftSession(deps, request, known?.id);
  if (drafted instanceof GatewayError) throw drafted;
  const refusal = deps.caller?.key?.scope === 'agent' ? await spendingRefusal(deps, drafted.session) : undefined;
  if (refusal) throw refusal;
  const result = checkoutResult(deps, drafted.session, true);
  return { result: { ...result, checkoutUrl: `${result.checkoutUrl}?preview=1` }, replayed: false };
}

/** Answer of the checkout actions: the session as it was created. */
export function checkoutResult(
  deps: Pick<Deps, 'urls' | 'merchantName'>,
  session: Session,
  dryRun: boolean,
  transfer: PendingTransfer | null = null,
): CheckoutResult {
  const offer = JSON.parse(session.offerJson) as Offer;
  return {
    id: session.id,
    merchant: deps.merchantName,
    product: session.product,
    amount: amountFromCents(session.amount),
    customer: session.customerEmail,
    route: offer.route,
    feeSplit: offer.feeSplit,
    checkoutUrl: checkoutUrl(deps.urls, session.id),
    redirectUrl: redirectUrlOf(deps.urls, session),
    status: 'routed',
    environment: session.environment,
    dryRun,
    ...(session.idempotencyKey !== null && { idempotencyKey: session.idempotencyKey }),
    ...(session.clientReferenceId !== null && { clientReferenceId: session.clientReferenceId }),
    transfer: transfer && renderTransfer(transfer),
  };
}

interface Draft {
  session: Session;
  quote: Quote;
}

/** A session that is not stored yet, or the error if the routing rules or the test clock refuse it. */
function draftSession(deps: Deps, request: SessionRequest, customerId: string | undefined): Draft | GatewayError {
  const { environment } = request;
  if (deps.testClock && environment === 'production') {
    return new GatewayError(
      'forbidden',
      'This service has a test clock (TEST_CLOCK=true), and takes no production sessions.',
      {
        suggestion: 'Set environment to "sandbox", or send it to a service without a test clock; then resend.',
        field: 'environment',
      },
    );
  }
  const now = deps.now();
  const fields = {
    environment,
    product: request.product,
    amount: centsOf(request.amount),
    customerEmail: request.customer,
    preferredRoute: request.preferredRoute ?? null,
    metadata: request.metadata,
    clientReferenceId: request.clientReferenceId ?? null,
    idempotencyKey: request.idempotencyKey ?? null,
  };
  const { amount, preferredRoute: preferredKind } = fields;
  const id = deps.newId('chk');
  const effect = effectOf(deps, environment, () => factsOf(fields, now));
  const contexts = contextsOf(fields, now, deps.routingMetadataKey);
  const quote = quoteFor(deps, { environment, amount, preferredKind, effect, contexts });
  const offered = routeOfQuote(quote, effect);
  if (offered instanceof GatewayError) return offered;
  const { route, summary } = offered;
  const offer: Offer = { route: summary, feeSplit: renderFeeSplit(splitFees(amount, route)) };
  const session = newSession({
    ...fields,
    id,
    customerId: customerId ?? deps.newId('cus'),
    redirectUrl: request.redirectUrl ?? null,
    requestHash: request.idempotencyKey === undefined ? null : hashOf(request, amount),
    offerJson: JSON.stringify(offer),
    decisionId: quote.decision.id,
    created: now,
    expiresAt: now + deps.sessionTtlMs,
  });
  return { session, quote };
}

function customerOf(session: Session): Customer {
  const { customerId: id, customerEmail: email, environment, created } = session;
  return { id, environment, email, status: 'active', statusReason: null, created };
}

async function firstOf(deps: Deps, { environment, idempotencyKey }: SessionRequest): Promise<Session | undefined> {
  return idempotencyKey === undefined ? undefined : deps.store.sessionByIdempotencyKey(environment, idempotencyKey);
}

/** The session of the first request with this idempotency key. Throws GatewayError `idempotency_conflict` for other input. */
function replay(first: Session, request: SessionRequest): Session {
  if (first.requestHash === hashOf(request, centsOf(request.amount))) return { ...first, status: 'routed' };
  // The idempotency key of an erased buyer stays used, but its first answer is no longer stored.
  const [message, problem, suggestion] = isErased(first)
    ? [
        'This idempotencyKey was used for a session whose customer has been erased.',
        'was used for an erased customer',
        'Set idempotencyKey to a new key to create another session; then resend.',
      ]
    : [
        'This idempotencyKey was used with another body.',
        'was used with another body',
        'Resend the first body to get its session again, or set idempotencyKey to a new key; then resend.',
      ];
  throw idempotencyConflict(message, problem, suggestion);
}

function blocked(): GatewayError {
  return new GatewayError('forbidden', 'This customer is blocked.', {
    field: 'customer',
    suggestion: 'Stop: no checkout can be created for this customer until an operator unblocks it.',
  });
}

/** A hash of the parsed input in one canonical form: defaults applied, cents, metadata by key. */
function hashOf(request: SessionRequest, amount: number): string {
  const metadata = Object.entries(request.metadata).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const canonical = [
    request.product,
    amount,
    request.customer,
    request.preferredRoute ?? null,
    request.redirectUrl ?? null,
    metadata,
    request.clientReferenceId ?? null,
    request.environment,
  ];
  return hash('sha256', JSON.stringify(canonical), 'base64url');
}
