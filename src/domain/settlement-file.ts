import { type Cents, centsFromText } from './money.ts';
import type { Instant } from './records.ts';
import { EARLIEST_SETTLEMENT } from './settlement.ts';

/** Columns of a settlement file. Other columns are ignored. */
export const SETTLEMENT_COLUMNS = ['payment_id', 'reference', 'amount', 'currency', 'settled_at', 'cost'] as const;
export type SettlementColumn = (typeof SETTLEMENT_COLUMNS)[number];

/** Cells of one line, by column. A missing or empty cell is null. */
export type SettlementCells = Record<SettlementColumn, string | null>;

/** A valid line of a settlement file. At least one of `paymentId` and `reference` is set. */
export interface SettlementLine {
  paymentId: string | null;
  /** The provider's own id of the payment. */
  reference: string | null;
  amount: Cents;
  /** Currency code in upper case. */
  currency: string;
  settledAt: Instant | null;
  /** The provider's charge for the payment. */
  cost: Cents | null;
}

/** Problem of a cell; `message` follows the name of its column. */
export interface CellFault {
  column: SettlementColumn;
  message: string;
}

/** Reasons why a line of a settlement file is not recorded. */
export const MISMATCH_CODES = [
  'invalid_line',
  'unknown_payment',
  'ambiguous_reference',
  'reference_differs',
  'other_environment',
  'currency_differs',
  'duplicate_line',
  'amount_differs',
  'cost_too_high',
  'not_paid',
  'surplus',
  'refunded',
] as const;
type MismatchCode = (typeof MISMATCH_CODES)[number];

export type LineStatus = 'matched' | 'already_settled' | 'not_matched';

/** Result of one line of a settlement file. */
export interface ReportedLine {
  /** Line number in the file, where the header is line 1. If a cell contains line breaks, the number of the last line. */
  line: number;
  status: LineStatus;
  paymentId: string | null;
  reference: string | null;
  /** Null if the line has no readable amount. */
  amount: Cents | null;
  code: MismatchCode | null;
  message: string;
}

/** Result of the import of a settlement file. */
export interface ImportReport {
  dryRun: boolean;
  lines: ReportedLine[];
  ignoredColumns: string[];
}

const AMOUNT = /^\d{1,9}(?:\.\d{1,2})?$/;
const NOT_DOLLARS = 'must be dollars such as 95.10, without a sign or separators';
const CURRENCY_CODE = /^[A-Za-z]{3}$/;
const TIME = /^(\d{4}-\d{2}-\d{2})(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2}))?$/;
const MAX_NAME = 200;
// The dates of a file may be in the time zone of its provider, so a date up to one day ahead is accepted.
const CLOCKS_DIFFER_MS = 24 * 60 * 60_000;

/** Problem of the header, as a sentence; undefined if there is none. */
export function headerFault(names: readonly string[]): string | undefined {
  const twice = names.find((name, index) => isKnown(name) && names.indexOf(name) !== index);
  if (twice !== undefined) return `The column ${twice} appears twice.`;
  if (!names.includes('payment_id') && !names.includes('reference'))
    return 'The header has neither payment_id nor reference: one of them names the payment.';
  const missing = ['amount', 'currency'].filter((name) => !names.includes(name));
  return missing.length > 0 ? `The header lacks ${missing.join(' and ')}.` : undefined;
}

export function isKnown(name: string): name is SettlementColumn {
  return SETTLEMENT_COLUMNS.some((known) => known === name);
}

export function readLine(cells: SettlementCells, now: Instant): SettlementLine | { fault: CellFault } {
  const { payment_id: paymentId, reference, currency, settled_at: time } = cells;
  if (paymentId === null && reference === null)
    return fault('payment_id', 'is empty, and so is reference: one of them names the payment');
  if (reference !== null && reference.length > MAX_NAME)
    return fault('reference', `is longer than ${MAX_NAME} characters`);
  const amount = centsIn(cells.amount ?? '');
  if (amount === undefined) return fault('amount', NOT_DOLLARS);
  const cost = cells.cost === null ? null : centsIn(cells.cost);
  if (cost === undefined) return fault('cost', NOT_DOLLARS);
  if (currency === null || !CURRENCY_CODE.test(currency)) return fault('currency', 'must be a code such as USD');
  const settledAt = time === null ? null : instantOf(time);
  if (settledAt === undefined) return fault('settled_at', 'must be a time such as 2026-03-01T12:00:00Z, or a date');
  if (settledAt !== null && settledAt > now + CLOCKS_DIFFER_MS) return fault('settled_at', 'is in the future');
  if (settledAt !== null && settledAt < EARLIEST_SETTLEMENT) return fault('settled_at', 'is before the year 2000');
  return { paymentId, reference, amount, currency: currency.toUpperCase(), settledAt, cost };
}

/** Cents of an amount in dollars, without a sign or separators; undefined for other texts. */
function centsIn(text: string): Cents | undefined {
  return AMOUNT.test(text) ? centsFromText(text) : undefined;
}

/** Instant of an ISO 8601 date or time; undefined for other texts, such as the 31st of February. */
function instantOf(text: string): Instant | undefined {
  const [, date] = TIME.exec(text) ?? [];
  if (date === undefined) return undefined;
  const day = Date.parse(date);
  const instant = Date.parse(text);
  if (Number.isNaN(day) || Number.isNaN(instant) || !new Date(day).toISOString().startsWith(date)) return undefined;
  return instant;
}

function fault(column: SettlementColumn, message: string): { fault: CellFault } {
  return { fault: { column, message } };
}

/** Verdict on a line that is not recorded. `message` is a sentence for the operator. */
export function mismatch(code: MismatchCode, message: string) {
  return { status: 'not_matched', code, message } as const;
}
export type Mismatch = ReturnType<typeof mismatch>;
