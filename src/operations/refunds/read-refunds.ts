import type { Refund } from '../../domain/refund.ts';
import type { RefundFilter } from '../../store/refunds.ts';
import type { Listed, Page } from '../../store/page.ts';
import type { Deps } from '../deps.ts';
import { recordNotFound } from '../not-found.ts';
import { getPayment } from '../read-records.ts';

type Reading = Pick<Deps, 'store'>;

/** Throws GatewayError `not_found`. */
export async function getRefund({ store }: Reading, id: string): Promise<Refund> {
  const refund = await store.refund(id);
  if (!refund) throw recordNotFound('refund', id, 'ref_');
  return refund;
}

/** Those of one payment, named as `getPayment` takes it. Throws GatewayError `not_found`. */
export async function listRefundsOfPayment(
  deps: Reading,
  id: string,
  filter: Pick<RefundFilter, 'status'>,
  page: Page,
): Promise<Listed<Refund>> {
  const { id: paymentId } = await getPayment(deps, id);
  return deps.store.listRefunds({ ...filter, paymentId }, page);
}
