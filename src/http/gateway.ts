import { INVOICE_ENDPOINTS, PAYMENT_ENDPOINTS, renderInvoice, renderPayment } from '../contract/payment-contract.ts';
import { SESSION_ENDPOINTS, renderSession } from '../contract/session-contract.ts';
import { isId } from '../domain/id.ts';
import { createCheckout } from '../operations/create-checkout.ts';
import { expireSession } from '../operations/expire-session.ts';
import { getInvoice, getPayment, getSession } from '../operations/read-records.ts';
import { apiPart, listing, markReplayed, sentBody } from './api-part.ts';

/** Sessions, payments and invoices. */
export const salesApi = apiPart((serve) => {
  serve(SESSION_ENDPOINTS.createSession, async ({ deps, request, reply }) => {
    const hint = `Schema: GET ${deps.urls.base}/api/agent/schema/checkout.create`;
    const { session, replayed } = await createCheckout(deps, deps.sessionReader.read(sentBody(request), hint));
    markReplayed(reply, replayed);
    return renderSession(session, deps.urls);
  });
  serve(
    SESSION_ENDPOINTS.listSessions,
    listing(
      ({ store }, filter, page) => store.listSessions(filter, page),
      (session, { urls }) => renderSession(session, urls),
    ),
  );
  serve(SESSION_ENDPOINTS.getSession, async ({ deps, param }) =>
    renderSession(await getSession(deps, param('sessionId')), deps.urls),
  );
  serve(SESSION_ENDPOINTS.expireSession, async ({ deps, param }) =>
    renderSession(await expireSession(deps, param('sessionId')), deps.urls),
  );
  serve(
    PAYMENT_ENDPOINTS.listPayments,
    listing(({ store }, { paymentId, ...filter }, page) => {
      if (paymentId === undefined) return store.listPayments(filter, page);
      const named = isId(paymentId, 'chk') ? { sessionId: paymentId } : { paymentId };
      return store.listPayments({ ...filter, ...named }, page);
    }, renderPayment),
  );
  serve(PAYMENT_ENDPOINTS.getPayment, async ({ deps, param }) =>
    renderPayment(await getPayment(deps, param('paymentId'))),
  );
  serve(
    INVOICE_ENDPOINTS.listInvoices,
    listing(({ store }, filter, page) => store.listInvoices(filter, page), renderInvoice),
  );
  serve(INVOICE_ENDPOINTS.getInvoice, async ({ deps, param }) =>
    renderInvoice(await getInvoice(deps, param('invoiceId'))),
  );
});
