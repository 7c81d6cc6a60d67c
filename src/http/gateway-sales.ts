import { INVOICE_ENDPOINTS, PAYMENT_ENDPOINTS, renderInvoice, renderPayment } from '../contract/payment-contract.ts';
import { SESSION_ENDPOINTS, renderSession } from '../contract/session-contract.ts';
import { isId } from '../domain/id.ts';
import type { Session } from '../domain/records.ts';
import { createCheckout } from '../operations/create-checkout.ts';
import { expireSession } from '../operations/expire-session.ts';
import { getInvoice, getPayment, getSession } from '../operations/read-records.ts';
import { apiPart, listing, markReplayed, onRecord, sentBody } from './api-part.ts';
import type { AppDeps } from './app.ts';

const renderFor = (session: Session, { urls }: AppDeps) => renderSession(session, urls);

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
    listing(({ store }, filter, page) => store.listSessions(filter, page), renderFor),
  );
  serve(SESSION_ENDPOINTS.getSession, onRecord('sessionId', getSession, renderFor));
  serve(SESSION_ENDPOINTS.expireSession, onRecord('sessionId', expireSession, renderFor));
  serve(
    PAYMENT_ENDPOINTS.listPayments,
    listing(({ store }, { paymentId, ...filter }, page) => {
      if (paymentId === undefined) return store.listPayments(filter, page);
      const named = isId(paymentId, 'chk') ? { sessionId: paymentId } : { paymentId };
      return store.listPayments({ ...filter, ...named }, page);
    }, renderPayment),
  );
  serve(PAYMENT_ENDPOINTS.getPayment, onRecord('paymentId', getPayment, renderPayment));
  serve(
    INVOICE_ENDPOINTS.listInvoices,
    listing(({ store }, filter, page) => store.listInvoices(filter, page), renderInvoice),
  );
  serve(INVOICE_ENDPOINTS.getInvoice, onRecord('invoiceId', getInvoice, renderInvoice));
});
