import type { Refund } from '../../domain/refund-record.ts';
import type { RefundFilter } from '../../store/tables/refunds-table.ts';
import type { PageResult, Page } from '../../store/list-page.ts';
import type { Deps } from '../deps.ts';
import { found } from '../not-found.ts';
import { getPayment } from '../read-records.ts';

type Reading = Pick<Deps, 'store'>;

/** Throws GatewayError `not_found`. */
export async function getRefund({ store }: Reading, id: string): Promise<Refund> {
  return found(await store.refund(id), 'refund', id, 'ref_');
}

/** Refunds of one payment, by an id that `getPayment` accepts. Throws GatewayError `not_found`. */
export async function listRefundsOfPayment(
  deps: Reading,
  id: string,
  filter: Pick<RefundFilter, 'status'>,
  page: Page,
): Promise<PageResult<Refund>> {
  const { id: paymentId } = await getPayment(deps, id);
  return deps.store.listRefunds({ ...filter, paymentId }, page);
}
