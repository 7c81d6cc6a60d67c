import { setImmediate as turn } from 'node:timers/promises';
import { usd } from '../../domain/money.ts';
import { isId } from '../../domain/id.ts';
import { CURRENCY, type Payment } from '../../domain/records.ts';
import { paidAmount } from '../../domain/refund-record.ts';
import type { Environment } from '../../domain/route.ts';
import { judgePayout, payoutOf, refusalMessage } from '../../domain/settlement.ts';
import {
  type ImportReport,
  type Mismatch,
  type ReportedLine,
  type SettlementLine,
  mismatch,
} from '../../domain/settlement-file.ts';
import type { Deps } from '../deps.ts';
import { bookProviderLine, readersOf } from './import-provider-file.ts';
import { type FileLine, type Table, readSettlementFile, readTable } from './parse-settlement-file.ts';
import { settlePayment } from './settle-payment.ts';

export interface ImportOptions {
  /** Only payments of this environment are settled; undefined for both environments. */
  environment: Environment | undefined;
  /** True to check the file and record nothing. */
  dryRun: boolean;
}

// Lines that are read and committed together, few enough that other work runs in between.
const PAGE = 100;

type Found = { payment: Payment } | Mismatch;

/**
 * Settles the payments of a file line by line: a file of our own format, or a provider's own settlement report. A line that does
 * not match changes nothing, and the other lines are recorded. A second import of the file changes nothing, and an interrupted import has recorded whole payments.
 * Throws GatewayError `invalid_input` for a file of another format.
 */
export async function importSettlements(deps: Deps, text: string, options: ImportOptions): Promise<ImportReport> {
  const table = await readTable(text);
  const readers = readersOf(deps, table, options.environment);
  if (readers.length > 0) return importProviderFile(deps, table, readers, options);
  const { lines, ignoredColumns } = readSettlementFile(table, deps.now());
  const reported: ReportedLine[] = [];
  const firstLines = new Map<string, number>();
  for (let start = 0; start < lines.length; start += PAGE) {
    const page = lines.slice(start, start + PAGE);
    const found = await Promise.all(page.map((line) => find(deps, line, options)));
    const single = found.map((each, index) => onceOnly(each, page[index]!.number, firstLines));
    reported.push(...(await Promise.all(page.map((line, index) => settle(deps, line, single[index]!, options)))));
    // Lets other work run, because the embedded database reads on this thread.
    await turn();
  }
  return { dryRun: options.dryRun, lines: reported, ignoredColumns };
}

async function importProviderFile(
  deps: Deps,
  { names, rows }: Table,
  readers: ReturnType<typeof readersOf>,
  { dryRun }: ImportOptions,
): Promise<ImportReport> {
  const lines: ReportedLine[] = [];
  for (let start = 0; start < rows.length; start += PAGE) {
    const page = rows.slice(start, start + PAGE).map(({ record, number }) => {
      const cells = Object.fromEntries(names.map((name, index) => [name, record[index] ?? '']));
      return bookProviderLine(deps, readers, { number, cells }, dryRun);
    });
    lines.push(...(await Promise.all(page)).filter((line) => line !== undefined));
    await turn();
  }
  return { dryRun, lines, ignoredColumns: [] };
}

async function find({ store }: Deps, { read }: FileLine, { environment }: ImportOptions): Promise<Found> {
  if ('fault' in read) return mismatch('invalid_line', `${read.fault.column} ${read.fault.message}.`);
  const named = await idOf(store, read);
  if (typeof named !== 'string') return named;
  const payment = isId(named, 'pay') ? await store.payment(named) : undefined;
  if (!payment) return mismatch('unknown_payment', `There is no payment ${JSON.stringify(named)} here.`);
  if (read.reference !== null && payment.providerReference !== read.reference) {
    const own = payment.providerReference ?? 'none';
    return mismatch('reference_differs', `The provider's reference of the payment is ${own}, not ${read.reference}.`);
  }
  if (environment !== undefined && payment.environment !== environment)
    return mismatch('other_environment', `The payment is of ${payment.environment}, and the file of ${environment}.`);
  if (read.currency !== CURRENCY)
    return mismatch('currency_differs', `The line is in ${read.currency}, and the payment in ${CURRENCY}.`);
  const paid = paidAmount(payment);
  if (payment.status === 'paid' && read.cost !== null && read.cost > paid)
    return mismatch('cost_too_high', `The cost is ${usd(read.cost)}, and the buyer paid only ${usd(paid)}.`);
  return { payment };
}

async function idOf(store: Deps['store'], { paymentId, reference }: SettlementLine): Promise<string | Mismatch> {
  if (paymentId !== null) return paymentId;
  const [id, ...others] = await store.paymentsOfReference(reference!);
  if (id === undefined) return mismatch('unknown_payment', `No payment here has the reference ${reference}.`);
  if (others.length > 0)
    return mismatch('ambiguous_reference', `Several payments have the reference ${reference}: name the payment_id.`);
  return id;
}

/** Only the first line of a payment counts, because a second line may be a mistake. */
function onceOnly(found: Found, number: number, firstLines: Map<string, number>): Found {
  if ('code' in found) return found;
  const first = firstLines.get(found.payment.id);
  if (first !== undefined) return mismatch('duplicate_line', `Line ${first} already has this payment.`);
  firstLines.set(found.payment.id, number);
  return found;
}

async function settle(deps: Deps, line: FileLine, found: Found, { dryRun }: ImportOptions): Promise<ReportedLine> {
  const { cells, number, read } = line;
  const amount = 'fault' in read ? null : read.amount;
  const paymentId = 'payment' in found ? found.payment.id : cells.payment_id;
  const about = { line: number, paymentId, reference: cells.reference, amount };
  if ('code' in found) return { ...about, ...found };
  const { reference, settledAt, cost } = read as SettlementLine;
  const report = { source: 'file', amount: amount!, reference, settledAt, cost } as const;
  const settled = dryRun
    ? { outcome: judgePayout(found.payment, amount), payment: found.payment }
    : await settlePayment(deps, found.payment, report);
  return { ...about, ...(await verdictOn(deps, settled, amount!, dryRun)) };
}

async function verdictOn(
  { store }: Deps,
  { outcome, payment }: Awaited<ReturnType<typeof settlePayment>>,
  amount: number,
  dryRun: boolean,
): Promise<Pick<ReportedLine, 'status' | 'code' | 'message'>> {
  const differs = (words: string) => mismatch('amount_differs', `The line says ${usd(amount)}, and ${words}.`);
  switch (outcome) {
    case 'settled':
      return { status: 'matched', code: null, message: dryRun ? 'Would be settled.' : 'Settled.' };
    case 'already':
    case 'duplicate': {
      const before = await store.settlement(payment.id);
      if (before && before.amount !== amount) return differs(`${usd(before.amount)} was settled before`);
      return { status: 'already_settled', code: null, message: 'Settled before: nothing was changed.' };
    }
    case 'amount_differs':
      return differs(`${usd(payoutOf(payment))} is to be paid out`);
    default:
      return mismatch(outcome, refusalMessage(outcome, payment));
  }
}
