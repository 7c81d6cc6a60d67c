import type { FastifyInstance } from 'fastify';
import { inputReader } from '../contract/problems.ts';
import { pageOf } from '../contract/queries.ts';
import { REFUND_ENDPOINTS } from '../contract/refund-endpoints.ts';
import { refundRequest, refundsOfPaymentQuery, refundsQuery, renderRefund } from '../contract/refunds.ts';
import { createRefund } from '../operations/refunds/create-refund.ts';
import { getRefund, listRefundsOfPayment } from '../operations/refunds/read-refunds.ts';
import type { AppDeps } from './app.ts';
import { defined, param, renderList, serve } from './gateway.ts';

const readRefundRequest = inputReader(refundRequest);
const readRefundsQuery = inputReader(refundsQuery);
const readRefundsOfPaymentQuery = inputReader(refundsOfPaymentQuery);

/** Money that goes back to buyers. */
export function refundsApi(app: FastifyInstance, all: AppDeps): void {
  const hint = `Parameters: GET ${all.urls.base}/openapi.json`;

  serve(app, all, REFUND_ENDPOINTS.createRefund, async (request, reply, deps) => {
    const input = readRefundRequest.read(request.body === undefined ? {} : request.body, hint);
    const { refund, replayed } = await createRefund(deps, param(request, 'paymentId'), input);
    if (replayed) reply.header('idempotent-replayed', 'true');
    return renderRefund(refund);
  });
  serve(app, all, REFUND_ENDPOINTS.listRefundsOfPayment, async (request, _reply, deps) => {
    const query = readRefundsOfPaymentQuery.read(request.query, hint);
    const filter = defined({ status: query.status });
    return renderList(
      await listRefundsOfPayment(deps, param(request, 'paymentId'), filter, pageOf(query)),
      renderRefund,
    );
  });
  serve(app, all, REFUND_ENDPOINTS.listRefunds, async (request, _reply, deps) => {
    const query = readRefundsQuery.read(request.query, hint);
    return renderList(await deps.store.listRefunds(defined(query), pageOf(query)), renderRefund);
  });
  serve(app, all, REFUND_ENDPOINTS.getRefund, async (request, _reply, deps) =>
    renderRefund(await getRefund(deps, param(request, 'refundId'))),
  );
}
