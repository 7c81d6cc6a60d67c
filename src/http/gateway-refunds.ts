import { REFUND_ENDPOINTS, renderRefund } from '../contract/refund-contract.ts';
import { pageOf } from '../contract/list-query.ts';
import { createRefund } from '../operations/refunds/create-refund.ts';
import { getRefund, listRefundsOfPayment } from '../operations/read-records.ts';
import { apiPart, defined, listing, markReplayed, onRecord, renderList } from './api-part.ts';

export const refundsApi = apiPart((serve) => {
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
});
