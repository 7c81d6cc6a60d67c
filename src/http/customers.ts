import type { FastifyInstance } from 'fastify';
import { CUSTOMER_ENDPOINTS, blockRequest, eraseRequest } from '../contract/customer-endpoints.ts';
import { renderDeliveryDetails } from '../contract/deliveries.ts';
import { renderDiscrepancy } from '../contract/discrepancies.ts';
import { inputReader } from '../contract/problems.ts';
import { renderRefund } from '../contract/refunds.ts';
import { renderCustomer, renderInvoice, renderPayment, renderSession, timestamp } from '../contract/render.ts';
import type { Payment } from '../domain/records.ts';
import type { Refund } from '../domain/refund.ts';
import { blockCustomer, unblockCustomer } from '../operations/customers/block-customer.ts';
import { eraseCustomer } from '../operations/customers/erase-customer.ts';
import { type CustomerFile, type SessionFile, exportCustomer } from '../operations/customers/export-customer.ts';
import type { AppDeps } from './app.ts';
import { param, serve } from './gateway.ts';

const readBlockRequest = inputReader(blockRequest);
const readEraseRequest = inputReader(eraseRequest);

/** What is done with customers. */
export function customersApi(app: FastifyInstance, all: AppDeps): void {
  const endpoints = CUSTOMER_ENDPOINTS;
  const hint = `Schema: GET ${all.urls.base}/openapi.json`;

  serve(app, all, endpoints.blockCustomer, async (request, _reply, deps) => {
    const { reason = null } = readBlockRequest.read(request.body === undefined ? {} : request.body, hint);
    return renderCustomer(await blockCustomer(deps, param(request, 'customerId'), reason));
  });
  serve(app, all, endpoints.unblockCustomer, async (request, _reply, deps) =>
    renderCustomer(await unblockCustomer(deps, param(request, 'customerId'))),
  );
  serve(app, all, endpoints.exportCustomer, async (request, _reply, deps) =>
    renderExport(await exportCustomer(deps, param(request, 'customerId')), deps),
  );
  serve(app, all, endpoints.eraseCustomer, async (request, _reply, deps) => {
    const { confirm } = readEraseRequest.read(request.body === undefined ? {} : request.body, hint);
    return renderCustomer(await eraseCustomer(deps, param(request, 'customerId'), confirm));
  });
}

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
    payments: sessions.flatMap(({ payments }) => payments.map(exportedPayment)),
    invoices: sessions.flatMap(({ invoices }) => invoices.map(renderInvoice)),
    refunds: sessions.flatMap(({ refunds }) => refunds.map(exportedRefund)),
    events: sessions.flatMap(({ events }) => events.map(({ body }) => JSON.parse(body) as unknown)),
    deliveries: sessions.flatMap(deliveriesOf),
    providerMessages: sessions.flatMap(messagesOf),
    discrepancies: sessions.flatMap(({ discrepancies }) => discrepancies.map(renderDiscrepancy)),
  };
}

function exportedPayment(payment: Payment) {
  const { providerReference, providerUrl, txHash } = payment;
  return { ...renderPayment(payment), providerReference, providerUrl, txHash };
}

function exportedRefund(refund: Refund) {
  return { ...renderRefund(refund), idempotencyKey: refund.idempotencyKey };
}

function deliveriesOf({ events, deliveries }: SessionFile) {
  const bodies = new Map(events.map(({ id, body }) => [id, body]));
  return deliveries.map(({ delivery, log }) => renderDeliveryDetails(delivery, log, bodies.get(delivery.eventId)!));
}

function messagesOf({ messages }: SessionFile) {
  return messages.map(({ provider, eventId, sessionId, status, outcome, body, received }) => ({
    provider,
    eventId,
    sessionId,
    status,
    outcome,
    body,
    received: timestamp(received),
  }));
}
