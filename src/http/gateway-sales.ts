import { DISCREPANCY_ENDPOINTS, renderDiscrepancy } from '../contract/discrepancy-contract.ts';
import { pageOf } from '../contract/list-query.ts';
import { INVOICE_ENDPOINTS, PAYMENT_ENDPOINTS, renderInvoice, renderPayment } from '../contract/payment-contract.ts';
import { REFUND_ENDPOINTS, renderRefund } from '../contract/refund-contract.ts';
import { SESSION_ENDPOINTS, renderSession } from '../contract/session-contract.ts';
import { instantFrom } from '../contract/settlement-contract.ts';
import { isId } from '../domain/id.ts';
import { type Cents, centsFromAmount } from '../domain/money.ts';
import type { Session } from '../domain/records.ts';
import { createCheckout } from '../operations/create-checkout.ts';
import { getDiscrepancy, resolveDiscrepancy } from '../operations/discrepancies/resolve-discrepancy.ts';
import { expireSession } from '../operations/expire-session.ts';
import { sessionResource, transferOfSession } from '../operations/pending-transfer.ts';
import { markRefundFailed, markRefundPaid } from '../operations/refunds/confirm-refund.ts';
import { createRefund } from '../operations/refunds/create-refund.ts';
import { getInvoice, getPayment, getRefund, getSession, listRefundsOfPayment } from '../operations/read-records.ts';
import { apiPart, defined, listing, markReplayed, onRecord, renderList, sentBody } from './api-part.ts';
import type { AppDeps } from './app.ts';

function centsFrom(text: string | undefined): Cents | undefined {
  return text === undefined ? undefined : centsFromAmount(Number(text));
}

const renderOne = (session: Session, deps: AppDeps) => sessionResource(deps, session);

/** Endpoints of sessions, payments, invoices, refunds and discrepancies. */
export const salesApi = apiPart((serve) => {
  serve(SESSION_ENDPOINTS.createSession, async ({ deps, request, reply }) => {
    const hint = `Schema: GET ${deps.urls.base}/api/agent/schema/checkout.create`;
    const { session, replayed } = await createCheckout(deps, deps.sessionReader.read(sentBody(request), hint));
    markReplayed(reply, replayed);
    return renderSession(session, deps.urls, replayed ? await transferOfSession(deps, session.id) : null);
  });
  serve(
    SESSION_ENDPOINTS.listSessions,
    listing(
      ({ store }, filter, page) => store.listSessions(filter, page),
      (session, { urls }) => renderSession(session, urls),
    ),
  );
  serve(SESSION_ENDPOINTS.getSession, onRecord('sessionId', getSession, renderOne));
  serve(SESSION_ENDPOINTS.expireSession, onRecord('sessionId', expireSession, renderOne));
  serve(
    PAYMENT_ENDPOINTS.listPayments,
    listing(({ store }, { paymentId, from, until, amountFrom, amountTo, ...filter }, page) => {
      const named = paymentId !== undefined && isId(paymentId, 'chk') ? { sessionId: paymentId } : { paymentId };
      const amounts = { amountFrom: centsFrom(amountFrom), amountTo: centsFrom(amountTo) };
      const range = defined({ ...named, ...amounts, from: instantFrom(from), until: instantFrom(until) });
      return store.listPayments({ ...filter, ...range }, page);
    }, renderPayment),
  );
  serve(PAYMENT_ENDPOINTS.getPayment, onRecord('paymentId', getPayment, renderPayment));
  serve(
    INVOICE_ENDPOINTS.listInvoices,
    listing(({ store }, filter, page) => store.listInvoices(filter, page), renderInvoice),
  );
  serve(INVOICE_ENDPOINTS.getInvoice, onRecord('invoiceId', getInvoice, renderInvoice));
  serve(REFUND_ENDPOINTS.createRefund, async ({ deps, body, param, reply }) => {
    const { refund, replayed } = await createRefund(deps, param('paymentId'), body);
    markReplayed(reply, replayed);
    return renderRefund(refund);
  });
  serve(REFUND_ENDPOINTS.listRefundsOfPayment, async ({ deps, query, param }) => {
    const filter = defined({ status: query.status });
    return renderList(await listRefundsOfPayment(deps, param('paymentId'), filter, pageOf(query)), renderRefund);
  });
  serve(
    REFUND_ENDPOINTS.listRefunds,
    listing(({ store }, filter, page) => store.listRefunds(filter, page), renderRefund),
  );
  serve(REFUND_ENDPOINTS.getRefund, onRecord('refundId', getRefund, renderRefund));
  serve(REFUND_ENDPOINTS.markRefundPaid, async ({ deps, body, param }) =>
    renderRefund(await markRefundPaid(deps, param('refundId'), body.txHash)),
  );
  serve(REFUND_ENDPOINTS.markRefundFailed, async ({ deps, body, param }) =>
    renderRefund(await markRefundFailed(deps, param('refundId'), body.reason)),
  );
  serve(
    DISCREPANCY_ENDPOINTS.listDiscrepancies,
    listing(({ store }, filter, page) => store.listDiscrepancies(filter, page), renderDiscrepancy),
  );
  serve(DISCREPANCY_ENDPOINTS.getDiscrepancy, onRecord('discrepancyId', getDiscrepancy, renderDiscrepancy));
  serve(DISCREPANCY_ENDPOINTS.resolveDiscrepancy, async ({ deps, body: { action, note = null }, param }) =>
    renderDiscrepancy(await resolveDiscrepancy(deps, param('discrepancyId'), { action, note })),
  );
});
