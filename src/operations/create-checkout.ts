import { hash } from 'node:crypto';
import { checkoutUrl, redirectUrlOf, renderFeeSplit } from '../contract/render.ts';
import type { SessionRequest } from '../contract/requests.ts';
import type { CheckoutResult, FeeSplitResource, RouteSummary } from '../contract/resources.ts';
import { newSession } from '../domain/checkout.ts';
import { GatewayError } from '../domain/errors.ts';
import { splitFees } from '../domain/fees.ts';
import { amountFromCents } from '../domain/money.ts';
import type { Customer, Session } from '../domain/records.ts';
import type { Change } from '../store/store.ts';
import { centsOf } from './cents-of.ts';
import { chooseRoute } from './choose-route.ts';
import type { Deps } from './deps.ts';
import { describeRoute } from './list-routes.ts';

// Two callers who both meet a new address, or a new key, race once; after that it is there.
const MAX_TRIES = 5;

/** The route chosen at creation and what it costs: kept with the session, so that a replay answers the same. */
interface Offer {
  route: RouteSummary;
  feeSplit: FeeSplitResource;
}

/**
 * Creates a session, and its customer where the address is new, in one transaction. The same idempotency key with the
 * same input answers the first session again (`replayed`). Throws GatewayError `idempotency_conflict` for the same key
 * with other input, `forbidden` for a blocked customer.
 */
export async function createCheckout(
  deps: Deps,
  request: SessionRequest,
): Promise<{ session: Session; replayed: boolean }> {
  for (let attempt = 0; attempt < MAX_TRIES; attempt++) {
    // The commit checks what the directory remembers; after a conflict the database is asked.
    const remembered = attempt === 0 ? deps.directory.find(request.environment, request.customer) : undefined;
    const known = remembered ?? (await readCustomer(deps, request));
    if (known?.status === 'blocked') return replayOrRefuse(deps, request);

    const session = draftSession(deps, request, known?.id);
    const changes: Change[] = [{ type: 'session_created', session }];
    if (!known) changes.unshift({ type: 'customer_created', customer: customerOf(session) });
    const result = await deps.store.commit(changes);
    if (result.done) {
      if (!remembered) deps.directory.remember(request.environment, request.customer, session.customerId);
      return { session, replayed: false };
    }
    const first = await firstOf(deps, request);
    if (first) return { session: replay(first, request), replayed: true };
  }
  throw new GatewayError('unavailable', 'This customer is being created by too many requests at once; try again.');
}

/**
 * Everything that creating would do and answer, without writing: the id belongs to no session. Where the idempotency
 * key has been used, that is the first session again, or GatewayError `idempotency_conflict`.
 */
export async function previewCheckout(deps: Deps, request: SessionRequest): Promise<CheckoutResult> {
  const first = await firstOf(deps, request);
  if (first) return checkoutResult(deps, replay(first, request), true);
  const known = await readCustomer(deps, request);
  if (known?.status === 'blocked') throw blocked();
  const result = checkoutResult(deps, draftSession(deps, request, known?.id), true);
  return { ...result, checkoutUrl: `${result.checkoutUrl}?preview=1` };
}

/** What the checkout actions answer of a session: how it was when it was created. */
export function checkoutResult(
  deps: Pick<Deps, 'urls' | 'merchantName'>,
  session: Session,
  dryRun: boolean,
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
  };
}

function draftSession(deps: Deps, request: SessionRequest, customerId: string | undefined): Session {
  const now = deps.now();
  const amount = centsOf(request.amount);
  const route = chooseRoute(deps, request);
  const offer: Offer = { route: describeRoute(route), feeSplit: renderFeeSplit(splitFees(amount, route)) };
  return newSession({
    id: deps.newId('chk'),
    environment: request.environment,
    product: request.product,
    amount,
    customerId: customerId ?? deps.newId('cus'),
    customerEmail: request.customer,
    preferredRoute: request.preferredRoute ?? null,
    redirectUrl: request.redirectUrl ?? null,
    metadata: request.metadata,
    clientReferenceId: request.clientReferenceId ?? null,
    idempotencyKey: request.idempotencyKey ?? null,
    requestHash: request.idempotencyKey === undefined ? null : hashOf(request, amount),
    offerJson: JSON.stringify(offer),
    created: now,
    expiresAt: now + deps.sessionTtlMs,
  });
}

function customerOf(session: Session): Customer {
  const { customerId: id, customerEmail: email, environment, created } = session;
  return { id, environment, email, status: 'active', created };
}

function readCustomer(deps: Deps, { environment, customer }: SessionRequest): Promise<Customer | undefined> {
  return deps.store.customerByEmail(environment, customer);
}

async function firstOf(deps: Deps, { environment, idempotencyKey }: SessionRequest): Promise<Session | undefined> {
  return idempotencyKey === undefined ? undefined : deps.store.sessionByIdempotencyKey(environment, idempotencyKey);
}

async function replayOrRefuse(deps: Deps, request: SessionRequest): Promise<{ session: Session; replayed: boolean }> {
  const first = await firstOf(deps, request);
  if (!first) throw blocked();
  return { session: replay(first, request), replayed: true };
}

/** The first answer again. Throws GatewayError `idempotency_conflict` where the input is another one. */
function replay(first: Session, request: SessionRequest): Session {
  if (first.requestHash === hashOf(request, centsOf(request.amount))) return { ...first, status: 'routed' };
  throw new GatewayError('idempotency_conflict', 'This idempotencyKey was used with another body.', {
    field: 'idempotencyKey',
    suggestion: 'Resend the first body to get its session again, or set idempotencyKey to a new key; then resend.',
    issues: [{ path: 'idempotencyKey', code: 'idempotency_conflict', message: 'was used with another body' }],
  });
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
