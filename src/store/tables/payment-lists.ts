import type { FailureCode } from '../../domain/failure.ts';
import type { Cents } from '../../domain/money.ts';
import { type Instant, PAYMENT_STATUSES } from '../../domain/records.ts';
import type { Environment } from '../../domain/route.ts';
import {
  type KeysetQuery,
  type Row,
  type Select,
  type SqlValue,
  createdBetween,
  keysetQuery,
  rangeOf,
  rowsNamed,
} from '../keyset.ts';
import type { Page, PageResult } from '../list-page.ts';
import { pageWithin } from '../named-page.ts';
import { createReader } from '../row-reader.ts';
import {
  LISTED_PAYMENTS,
  PAYMENTS,
  SELECT_PAYMENTS_OF_SESSION,
  SELECT_PAYMENT_OF_INVOICE,
  SOLD_PAYMENTS,
  statusKeyset,
} from './payments-table.ts';

export interface PaymentFilter {
  customerId?: string;
  invoiceId?: string;
  paymentId?: string;
  sessionId?: string;
  status?: string;
  environment?: Environment;
  /** Range of `created`: at or after `from`, and before `until`. */
  from?: Instant;
  until?: Instant;
  route?: string;
  reason?: FailureCode;
  /** Range of the session's amount, inclusive. */
  amountFrom?: Cents;
  amountTo?: Cents;
  /** Only payments refunded wholly or in part; paid and not settled; or with a wrong amount. */
  refunded?: boolean;
  unsettled?: boolean;
  wrongAmount?: boolean;
}

/** Maximum number of rows that a page examines with a filter that no index serves. */
export const SCANNED_ROWS = 20_000;

/** Suffix that makes an exclusive upper bound inclusive: an id with it sorts after the id and before the next one. */
const AFTER_ID = '~';

/** Longest page that the main thread reads. */
const LONGEST_PAGE = 100;

/** Conditions that no index serves, with their values. */
function conditionsOf(filter: PaymentFilter, table: string): [condition: string, value: SqlValue][] {
  const { route, reason, amountFrom, amountTo, refunded, unsettled, wrongAmount } = filter;
  // The stored JSON of a route begins with its id; the next character after the id sorts before "-".
  const head = `{"id":${JSON.stringify(route)}`;
  const wrongAmounts = `(SELECT COUNT(*) FROM discrepancies WHERE payment_id = ${table}.id AND kind = 'amount_mismatch') > `;
  const all: [string, SqlValue | undefined][] = [
    ['route >= ', route && `${head},`],
    ['route < ', route && `${head}-`],
    ['failure_code = ', reason],
    ['amount >= ', amountFrom],
    ['amount <= ', amountTo],
    ['refunded > ', refunded ? 0 : undefined],
    ['ledger_status = ', unsettled ? 'pending' : undefined],
    ['status = ', unsettled ? 'paid' : undefined],
    [wrongAmounts, wrongAmount ? 0 : undefined],
  ];
  return all.filter((one): one is [string, SqlValue] => one[1] !== undefined);
}

/** The range of an index that contains all matching payments, without the conditions that no index serves. */
function rangeOfFilter(filter: PaymentFilter): KeysetQuery & Required<Pick<KeysetQuery, 'ids' | 'also'>> {
  const { paymentId, invoiceId, sessionId, customerId, environment, from, until, reason } = filter;
  // Every matching payment has this status, which makes the range smaller.
  const status = filter.status ?? (reason ? 'failed' : filter.refunded || filter.unsettled ? 'paid' : undefined);
  const named = rowsNamed(
    [PAYMENTS.byId, paymentId],
    [SELECT_PAYMENT_OF_INVOICE, invoiceId],
    [SELECT_PAYMENTS_OF_SESSION, sessionId],
  );
  const ids = { session_id: sessionId, invoice_id: invoiceId };
  const columns = { customer_id: customerId, status, environment };
  return {
    ...statusKeyset('payments', PAYMENT_STATUSES, named ? { ...ids, ...columns } : columns, named),
    ...createdBetween('pay', from, until),
  };
}

/**
 * Lists of payments. A filter without an index examines at most `scannedRows` rows per page, by `longSelect`. If the page is not
 * full then, it names the id at which the search ended.
 */
export function createPaymentLists(select: Select, longSelect: Select, scannedRows = SCANNED_ROWS) {
  /** Id of the last row that a scan in the direction of the page examines; undefined if the range has no more rows. */
  async function endOfScan(range: KeysetQuery, page: Page): Promise<string | undefined> {
    const rows = { ...rangeOf(page), limit: scannedRows };
    const { sql, params } = keysetQuery([{ ...range, select: 'id', also: [] }], rows);
    const last = page.endingBefore === undefined ? 'MIN(id)' : 'MAX(id)';
    const [row] = await longSelect(`SELECT ${last} AS id, COUNT(*) AS scanned FROM (${sql}) AS part`, ...params);
    return Number(row?.['scanned']) < scannedRows ? undefined : String(row?.['id']);
  }

  async function pageOf<Item>(
    filter: PaymentFilter,
    page: Page,
    { fromRow, ...columns }: { select: string; join?: string; fromRow: (row: Row) => Item },
    on: Select,
  ): Promise<PageResult<Item>> {
    const range = rangeOfFilter(filter);
    const conditions = conditionsOf(filter, range.among ? 'named' : 'payments');
    const also = [...range.also, ...conditions];
    if (conditions.length === 0 || range.among)
      return createReader(on).list({ ...range, ...columns, also }, page, fromRow);
    const end = await endOfScan(range, page);
    const bound = page.endingBefore === undefined ? { from: end } : { below: `${end}${AFTER_ID}` };
    const ids = end === undefined ? range.ids : { ...range.ids, ...bound };
    const found = await createReader(longSelect).list({ ...range, ...columns, ids, also }, page, fromRow);
    return found.hasMore || end === undefined ? found : { ...found, hasMore: true, searchedTo: end };
  }

  return {
    /** Payments of a filter, newest first. */
    async listPayments(filter: PaymentFilter, page: Page) {
      const found = await pageOf(filter, page, LISTED_PAYMENTS, select);
      return pageWithin(found, filter.environment);
    },
    /** Payments of a filter with the fields of their sessions, for lists of people and exports. */
    async listSoldPayments(filter: PaymentFilter & { environment: Environment }, page: Page) {
      const on = page.limit > LONGEST_PAGE ? longSelect : select;
      return pageOf(filter, page, SOLD_PAYMENTS, on);
    },
  };
}
