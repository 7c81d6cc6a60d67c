import { CUSTOMER_ENDPOINTS, renderCustomer, renderMessage } from '../contract/customer-contract.ts';
import { renderDeliveryDetails } from '../contract/delivery-contract.ts';
import { renderDiscrepancy } from '../contract/discrepancy-contract.ts';
import { renderInvoice, renderPayment } from '../contract/payment-contract.ts';
import { renderRefund } from '../contract/refund-contract.ts';
import { timestamp } from '../contract/resource-fields.ts';
import { renderSession } from '../contract/session-contract.ts';
import {
  blockCustomer,
  unblockCustomer,
  eraseCustomer,
  type CustomerFile,
  type SessionFile,
  exportCustomer,
} from '../operations/customers/manage-customers.ts';
import { getCustomer } from '../operations/read-records.ts';
import { apiPart, listing, onRecord } from './api-part.ts';
import type { AppDeps } from './app.ts';

/** Endpoints of customers. */
export const customersApi = apiPart((serve) => {
  serve(
    CUSTOMER_ENDPOINTS.listCustomers,
    listing(({ store }, filter, page) => store.listCustomers(filter, page), renderCustomer),
  );
  serve(CUSTOMER_ENDPOINTS.getCustomer, onRecord('customerId', getCustomer, renderCustomer));
  serve(CUSTOMER_ENDPOINTS.blockCustomer, async ({ deps, body: { reason = null }, param }) =>
    renderCustomer(await blockCustomer(deps, param('customerId'), reason)),
  );
  serve(CUSTOMER_ENDPOINTS.unblockCustomer, onRecord('customerId', unblockCustomer, renderCustomer));
  serve(CUSTOMER_ENDPOINTS.exportCustomer, onRecord('customerId', exportCustomer, renderExport));
  serve(CUSTOMER_ENDPOINTS.eraseCustomer, async ({ deps, body: { confirm }, param }) =>
    renderCustomer(await eraseCustomer(deps, param('customerId'), confirm)),
  );
});

function renderExport({ customer, sessions }: CustomerFile, { urls, now }: AppDeps) {
  return {
    object: 'customer_export',
    exported: timestamp(now()),
    customer: renderCustomer(customer),
    sessions: sessions.map(({ session }) => ({
      ...renderSession(session, urls),
      idempotencyKey: session.idempotencyKey,
      decisionId: session.decisionId,
    })),
    payments: sessions.flatMap(({ payments }) =>
      payments.map((payment) => {
        const { providerReference, providerUrl, txHash } = payment;
        const card = payment.card && [payment.card.country, payment.card.group].filter(Boolean).join(' ');
        return { ...renderPayment(payment), providerReference, providerUrl, txHash, card };
      }),
    ),
    invoices: sessions.flatMap(({ invoices }) => invoices.map(renderInvoice)),
    refunds: sessions.flatMap(({ refunds }) =>
      refunds.map((refund) => ({ ...renderRefund(refund), idempotencyKey: refund.idempotencyKey })),
    ),
    events: sessions.flatMap(({ events }) => events.map(({ body }) => JSON.parse(body) as unknown)),
    deliveries: sessions.flatMap(deliveriesOf),
    providerMessages: sessions.flatMap(({ messages }) => messages.map(renderMessage)),
    discrepancies: sessions.flatMap(({ discrepancies }) => discrepancies.map(renderDiscrepancy)),
  };
}

function deliveriesOf({ events, deliveries }: SessionFile) {
  const bodies = new Map(events.map(({ id, body }) => [id, body]));
  return deliveries.map(({ delivery, log }) => renderDeliveryDetails(delivery, log, bodies.get(delivery.eventId)!));
}
