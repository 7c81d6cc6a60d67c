import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { pendingPayment } from '../domain/checkout-state.ts';
import { GatewayError } from '../domain/gateway-error.ts';
import { isId } from '../domain/id.ts';
import type { Checkout } from '../domain/records.ts';
import { ROUTE_KINDS } from '../domain/route.ts';
import { type Html, html } from '../html/html.ts';
import { loadScript, loadStyle, serveAssets } from '../html/assets.ts';
import { acceptForms, formOf, seeOther, sendPage, wantsJson } from '../html/html-page.ts';
import { sessionNotFound } from '../operations/not-found.ts';
import type { Deps } from '../operations/deps.ts';
import { cancelCheckout, chooseAnotherMethod } from '../operations/leave-payment.ts';
import { queueReturn } from '../operations/provider-hints.ts';
import { type StartedPayment, startPayment } from '../operations/start-payment.ts';
import {
  renderAttempt,
  renderChoose,
  renderContinue,
  renderMismatched,
  renderNoMethod,
  renderNotTaken,
  renderProcessing,
  refreshHead,
} from './open-pages.ts';
import { type Page, type Shop, createPaths, initialOf, renderDocument } from './checkout-layout.ts';
import { type Notice, readNotice } from './checkout-parts.ts';
import { PREVIEW_PAGE, UNKNOWN_PAGE, problemPage } from './plain-pages.ts';
import { renderExpired, renderFailed, renderPaid } from './result-page.ts';
import { type CheckoutState, isFinalState, pageStateOf, shownStateOf, versionOf } from './checkout-page-state.ts';
import { refusalOfPayment, statusDocument } from './checkout-status.ts';
import { renderTransferPage } from './transfer-page.ts';

interface Visit {
  Params: { id: string };
  Querystring: { notice?: unknown; preview?: unknown; returned?: unknown };
}

/** The buyer's pages. They work without JavaScript, and no GET or HEAD changes a checkout. */
export function checkoutPages(app: FastifyInstance, deps: Deps): void {
  const style = loadStyle(new URL('assets/checkout.css', import.meta.url));
  const script = loadScript(new URL('assets/checkout.js', import.meta.url));
  const { merchantName: merchant, redirectSchemes } = deps;
  const shop: Shop = {
    merchant,
    initial: initialOf(merchant),
    redirectSchemes,
    paths: createPaths(deps.urls),
    style,
    script,
  };
  serveAssets(app, [style, script]);
  // The state that the script compares to detect a change.
  app.get<Visit>('/checkout/:id/status', async (request) => {
    const checkout = await checkoutOf(deps, request);
    return statusDocument(checkout, await shownStateOf(deps, checkout));
  });
  app.register(async (scope) => {
    acceptForms(scope, [deps.urls.checkout]);
    scope.decorate('errorPage', problemPage(shop));
    showPages(scope, deps, shop);
    takeForms(scope, deps, shop);
  });
}

/** Throws GatewayError `not_found`, which the pages show as {@link UNKNOWN_PAGE}. */
async function checkoutOf({ store }: Deps, { params: { id } }: FastifyRequest<Visit>): Promise<Checkout> {
  const checkout = await store.checkout(id);
  if (!checkout) throw sessionNotFound(id);
  return checkout;
}

function showPages(scope: FastifyInstance, deps: Deps, shop: Shop): void {
  scope.get<Visit>('/checkout/:id', async (request, reply) => {
    const { params, query } = request;
    const isPreview = query.preview === '1' && isId(params.id, 'chk') && !(await deps.store.checkout(params.id));
    if (isPreview) return show(reply, shop, PREVIEW_PAGE);
    const checkout = await checkoutOf(deps, request);
    const isReturned = query.returned === String(checkout.session.attempts);
    return show(reply, shop, await pageOf(deps, shop, checkout, { notice: readNotice(query.notice), isReturned }));
  });

  scope.get<Visit>('/checkout/:id/complete', async (request, reply) => {
    const checkout = await checkoutOf(deps, request);
    const done = isFinalState(pageStateOf(checkout, deps, deps.now()));
    if (!done) return seeOther(reply, shop.paths.checkout(checkout.session.id));
    return show(reply, shop, await pageOf(deps, shop, checkout, {}));
  });

  scope.get<Visit>('/checkout/:id/continue', async (request, reply) => {
    const checkout = await checkoutOf(deps, request);
    const { session } = checkout;
    const state = pageStateOf(checkout, deps, deps.now());
    if (state.name !== 'waiting') return seeOther(reply, shop.paths.checkout(session.id));
    return show(reply, shop, {
      title: 'Taking you to the provider',
      testMode: session.environment === 'sandbox',
      head: html`<meta http-equiv="refresh" content="0;url=${state.url}" />`,
      main: renderContinue(state.attempt, state.url),
    });
  });

  // This page changes nothing, except that the next inquiry to the provider is sent earlier.
  scope.get<Visit>('/checkout/:id/back', async (request, reply) => {
    const checkout = await checkoutOf(deps, request);
    const payment = pendingPayment(checkout);
    if (payment) await queueReturn(deps, payment);
    const { id, attempts } = checkout.session;
    return seeOther(reply, `${shop.paths.checkout(id)}?returned=${attempts}`);
  });

  scope.get('/checkout/*', (_request, reply) => show(reply, shop, UNKNOWN_PAGE, 404));

  // A GET of a form's address, for example from the browser history, redirects to the checkout.
  for (const step of ['pay', 'switch', 'cancel'] as const) {
    scope.get<Visit>(`/checkout/:id/${step}`, (request, reply) =>
      seeOther(reply, shop.paths.checkout(request.params.id)),
    );
  }
}

function takeForms(scope: FastifyInstance, deps: Deps, shop: Shop): void {
  scope.post<Visit>('/checkout/:id/pay', async (request, reply) => {
    const { id } = request.params;
    const form = readPayForm(formOf(request));
    if (!form) throw new GatewayError('invalid_input', 'The form is not one of this page.');
    const started = await startPayment(deps, id, form);
    if (!wantsJson(request)) return seeOther(reply, pathAfter(shop, id, started));
    const refusal = refusalOfPayment(started);
    if (refusal) throw refusal;
    const checkout = await checkoutOf(deps, request);
    return statusDocument(checkout, await shownStateOf(deps, checkout));
  });

  scope.post<Visit>('/checkout/:id/switch', async (request, reply) => {
    const { checkout, goesOn } = await chooseAnotherMethod(deps, request.params.id, attemptOf(request));
    return seeOther(reply, withNotice(shop.paths.checkout(checkout.session.id), goesOn ? 'not_stopped' : null));
  });

  scope.post<Visit>('/checkout/:id/cancel', async (request, reply) => {
    const { session } = await cancelCheckout(deps, request.params.id, attemptOf(request));
    const notice: Notice | null = session.status === 'routed' ? 'kept_open' : null;
    return seeOther(reply, withNotice(shop.paths.checkout(session.id), notice));
  });
}

/** The number of the attempt that the page showed when the form was sent. */
function attemptOf(request: FastifyRequest): number {
  const attempt = formOf(request).get('attempt') ?? '';
  if (!/^\d$/.test(attempt)) throw new GatewayError('invalid_input', 'The form is not one of this page.');
  return Number(attempt);
}

function pathAfter(shop: Shop, id: string, started: StartedPayment): string {
  switch (started.outcome) {
    case 'continue':
      return started.url === null ? shop.paths.checkout(id) : shop.paths.step(id, 'continue');
    case 'already_paid':
    case 'not_taken':
      return shop.paths.checkout(id);
    case 'no_route':
    case 'fee_changed':
    case 'refused':
    case 'closed':
      return withNotice(shop.paths.checkout(id), started.outcome);
  }
}

/**
 * Query of a visit. `isReturned`: the provider sent the buyer back from the current attempt as if the payment succeeded, which does not
 * prove it. The browser history can hold the address of an earlier attempt.
 */
interface Arrival {
  notice?: Notice | null;
  isReturned?: boolean;
}

async function pageOf(
  deps: Deps,
  shop: Shop,
  checkout: Checkout,
  { notice = null, isReturned = false }: Arrival,
): Promise<Page> {
  const state = await shownStateOf(deps, checkout);
  // After a declined try, the buyer may have to go to the provider again.
  const isConfirming = isReturned && state.name === 'waiting' && state.attempt.payment.decline === null;
  const shown: CheckoutState = isConfirming ? { name: 'confirming', attempt: state.attempt } : state;
  return sessionPage(shop, checkout, shown, notice);
}

function withNotice(path: string, notice: Notice | null): string {
  return notice === null ? path : `${path}?notice=${notice}`;
}

function show(reply: FastifyReply, shop: Shop, page: Page, status = 200): FastifyReply {
  return sendPage(reply, status, renderDocument(shop, page));
}

const TITLES: Record<CheckoutState['name'], string> = {
  choose: 'Choose how to pay',
  no_method: 'No way to pay right now',
  not_taken: 'This payment cannot be taken',
  waiting: 'Waiting for your payment',
  confirming: 'Confirming your payment',
  processing: 'Payment in progress',
  mismatched: 'A different amount arrived',
  transfer: 'Send your payment',
  paid: 'Payment received',
  failed: 'Payment not completed',
  expired: 'Checkout expired',
};

const REFRESH_SECONDS = 15;
/** Refresh of a page from which the buyer copies an address. */
const SLOW_REFRESH_SECONDS = 30;

function sessionPage(shop: Shop, checkout: Checkout, state: CheckoutState, notice: Notice | null): Page {
  const { session } = checkout;
  const isTransfer = state.name === 'transfer';
  const inProgress = 'attempt' in state;
  return {
    title: TITLES[state.name],
    testMode: session.environment === 'sandbox',
    live: {
      statusPath: shop.paths.step(session.id, 'status'),
      version: versionOf(checkout, state),
      final: isFinalState(state),
    },
    // The notice `not_stopped` belongs to a payment in progress, and every other notice to the other states.
    main: mainOf(shop, session, state, inProgress === (notice === 'not_stopped') ? notice : null),
    ...(inProgress && { head: refreshHead(isTransfer ? SLOW_REFRESH_SECONDS : REFRESH_SECONDS) }),
  };
}

function mainOf(shop: Shop, session: Checkout['session'], state: CheckoutState, notice: Notice | null): Html {
  switch (state.name) {
    case 'choose':
      return renderChoose(shop, session, state, notice);
    case 'no_method':
      return renderNoMethod(shop, session, state, notice);
    case 'not_taken':
      return renderNotTaken(shop, session, state);
    case 'waiting':
    case 'confirming':
      return renderAttempt(shop, session, state, notice);
    case 'processing':
      return renderProcessing(shop, session, state);
    case 'mismatched':
      return renderMismatched(shop, session, state, notice);
    case 'transfer':
      return renderTransferPage(shop, session, state, notice);
    case 'paid':
      return renderPaid(shop, session, state);
    case 'failed':
      return renderFailed(shop, session, state);
    case 'expired':
      return renderExpired(shop, session);
  }
}

/** The chosen method, and the total in cents that the page showed for it; undefined for a form that is not from our page. */
function readPayForm(form: URLSearchParams) {
  const kind = ROUTE_KINDS.find((known) => known === form.get('kind'));
  const total = kind && form.get(`total_${kind}`);
  if (!kind || !total || !/^[0-9]{1,12}$/.test(total)) return undefined;
  return { kind, acceptedTotal: Number(total) };
}
