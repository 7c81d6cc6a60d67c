import { setImmediate as turn } from 'node:timers/promises';
import { timestamp } from '../contract/resource-fields.ts';
import { GatewayError } from '../domain/gateway-error.ts';
import { maskedAddress } from '../domain/personal-data.ts';
import { can } from '../domain/permission.ts';
import { CURRENCY } from '../domain/records.ts';
import { localTime } from '../domain/local-time.ts';
import type { Environment } from '../domain/route.ts';
import type { Page, PageResult } from '../store/list-page.ts';
import type { PaymentFilter, SoldPayment } from '../store/tables/payment-lists.ts';
import { assertCan } from './access/caller.ts';
import type { Deps } from './deps.ts';
import { CSV_FORMAT, dollarsOf } from './ledger/read-journal.ts';

type ListDeps = Pick<Deps, 'store' | 'caller' | 'realNow'>;
/** Filter of the payments of one environment. */
export type OwnFilter = PaymentFilter & { environment: Environment };

/** A page of payments with their products and buyers; masked without the permission for personal data. Throws GatewayError `forbidden`. */
export async function listPayments(deps: ListDeps, filter: OwnFilter, page: Page): Promise<PageResult<SoldPayment>> {
  assertCan(deps, 'payments.read');
  const found = await deps.store.listSoldPayments(filter, page);
  const mayRead = !deps.caller || can(deps.caller, 'personal_data.read');
  if (mayRead) return found;
  const items = found.items.map(({ payment, customerEmail, ...sold }) => ({
    ...sold,
    payment: { ...payment, metadata: {} },
    customerEmail: maskedAddress(customerEmail),
  }));
  return { ...found, items };
}

/** Cells of the export by column, in order. Amounts are dollars with two decimals, codes are those of the API. */
const CELLS: Record<string, (sold: SoldPayment, zone: string) => string | null> = {
  created: ({ payment }) => timestamp(payment.created),
  created_local: ({ payment }, zone) => localTime(payment.created, zone),
  id: ({ payment }) => payment.id,
  session_id: ({ payment }) => payment.sessionId,
  environment: ({ payment }) => payment.environment,
  status: ({ payment }) => payment.status,
  failure_code: ({ payment }) => payment.failureCode,
  failure_source: ({ payment }) => payment.failureSource,
  ledger_status: ({ payment }) => payment.ledgerStatus,
  amount: ({ payment }) => dollarsOf(payment.amount),
  buyer_fee: ({ payment }) => dollarsOf(payment.fees.buyerFee),
  gateway_fee: ({ payment }) => dollarsOf(payment.fees.gatewayFee),
  merchant_net: ({ payment }) => dollarsOf(payment.fees.merchantNet),
  total: ({ payment }) => dollarsOf(payment.fees.total),
  refunded: ({ payment }) => dollarsOf(payment.refunded),
  currency: () => CURRENCY,
  route: ({ payment }) => payment.route.id,
  product: ({ product }) => product,
  customer_id: ({ payment }) => payment.customerId,
  customer_email: ({ customerEmail }) => customerEmail,
  client_reference_id: ({ clientReferenceId }) => clientReferenceId,
  metadata: ({ payment }) => JSON.stringify(payment.metadata),
};

const EXPORT_ROWS = 1000;

/**
 * All payments of a filter up to the time of the request as CSV (RFC 4180), newest first. Before each batch, `admitted` returns the
 * dependencies of the caller, or undefined if the session or key has ended; the export then throws GatewayError `forbidden`.
 */
export async function* exportPayments(
  admitted: () => Promise<(ListDeps & Pick<Deps, 'now' | 'reportingZone'>) | undefined>,
  filter: OwnFilter,
  rows = EXPORT_ROWS,
): AsyncGenerator<string> {
  const { stringify } = await import('csv-stringify/sync');
  let text = stringify([Object.keys(CELLS)], CSV_FORMAT);
  let until = filter.until;
  for (let after: string | undefined, isFirst = true; isFirst || after !== undefined; isFirst = false) {
    const deps = await admitted();
    if (!deps)
      throw new GatewayError('forbidden', 'The session has ended.', { suggestion: 'Log in, and export again.' });
    assertCan(deps, 'payments.export');
    until ??= deps.now() + 1;
    const page = { limit: rows, ...(after !== undefined && { startingAfter: after }) };
    const { items, hasMore, searchedTo } = await listPayments(deps, { ...filter, until }, page);
    const cells = items.map((sold) => Object.values(CELLS).map((cell) => cell(sold, deps.reportingZone)));
    text += stringify(cells, CSV_FORMAT);
    if (text !== '') yield text;
    text = '';
    after = hasMore ? (searchedTo ?? items.at(-1)!.payment.id) : undefined;
    await turn();
  }
}
