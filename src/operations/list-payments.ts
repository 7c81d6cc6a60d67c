import { setImmediate as turn } from 'node:timers/promises';
import { timestamp } from '../contract/resource-fields.ts';
import { GatewayError } from '../domain/gateway-error.ts';
import { maskedAddress } from '../domain/personal-data.ts';
import { CURRENCY } from '../domain/records.ts';
import { localTime } from '../domain/reporting-time.ts';
import type { Environment } from '../domain/route.ts';
import type { Page, PageResult } from '../store/list-page.ts';
import type { PaymentFilter } from '../store/tables/payment-lists.ts';
import type { SoldPayment } from '../store/tables/payments-table.ts';
import { assertCan, callerCan } from './access/caller.ts';
import type { Deps } from './deps.ts';
import { CSV_FORMAT, dollarsOf } from './ledger/read-journal.ts';

type ListDeps = Pick<Deps, 'store' | 'caller' | 'realNow'>;
/** Filter of the payments of one environment. */
export type OwnFilter = PaymentFilter & { environment: Environment };

/** A page of payments with their products and buyers; masked without the permission for personal data. Throws GatewayError `forbidden`. */
export async function listPayments(deps: ListDeps, filter: OwnFilter, page: Page): Promise<PageResult<SoldPayment>> {
  assertCan(deps, 'payments.read');
  const found = await deps.store.listSoldPayments(filter, page);
  if (callerCan(deps, 'personal_data.read')) return found;
  const masked = (sold: SoldPayment) => ({ ...sold, metadata: {}, customerEmail: maskedAddress(sold.customerEmail) });
  return { ...found, items: found.items.map(masked) };
}

/** Columns of the export. Amounts are dollars with two decimals, codes are those of the API. */
const COLUMNS = [
  ['created', 'created_local', 'id', 'session_id', 'environment', 'status', 'failure_code', 'failure_source'],
  ['ledger_status', 'amount', 'buyer_fee', 'gateway_fee', 'merchant_net', 'total', 'refunded', 'currency'],
  ['route', 'product', 'customer_id', 'customer_email', 'client_reference_id', 'metadata'],
].flat();

function cellsOf(sold: SoldPayment, zone: string) {
  const { created, id, sessionId, environment, status, failureCode, failureSource, amount, fees, refunded } = sold;
  const amounts = [amount, fees.buyerFee, fees.gatewayFee, fees.merchantNet, fees.total, refunded].map(dollarsOf);
  const times = [timestamp(created), localTime(created, zone)];
  const facts = [id, sessionId, environment, status, failureCode, failureSource, sold.ledgerStatus];
  const sale = [sold.route.id, sold.product, sold.customerId, sold.customerEmail, sold.clientReferenceId];
  return [...times, ...facts, ...amounts, CURRENCY, ...sale, JSON.stringify(sold.metadata)];
}

/** Rows that an export reads at once, which bounds its memory. */
const EXPORT_ROWS = 200;

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
  let header = stringify([COLUMNS], CSV_FORMAT);
  let until = filter.until;
  let after: string | undefined;
  do {
    const deps = await admitted();
    if (!deps)
      throw new GatewayError('forbidden', 'The session has ended.', { suggestion: 'Log in, and export again.' });
    assertCan(deps, 'payments.export');
    until ??= deps.now() + 1;
    const page = { limit: rows, ...(after !== undefined && { startingAfter: after }) };
    const { items, hasMore, searchedTo } = await listPayments(deps, { ...filter, until }, page);
    const cells = items.map((sold) => cellsOf(sold, deps.reportingZone));
    const text = header + stringify(cells, CSV_FORMAT);
    if (text !== '') yield text;
    header = '';
    after = hasMore ? (searchedTo ?? items.at(-1)!.id) : undefined;
    await turn();
  } while (after !== undefined);
}
