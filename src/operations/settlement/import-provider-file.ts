import { sessionAmountOf } from '../../domain/charge-amount.ts';
import { usd } from '../../domain/money.ts';
import { NO_DETAILS, centsOfUnits } from '../../domain/provider-report.ts';
import { CURRENCY, type Payment } from '../../domain/records.ts';
import type { Environment } from '../../domain/route.ts';
import { judgePayout } from '../../domain/settlement.ts';
import { type Mismatch, type ReportedLine, mismatch } from '../../domain/settlement-file.ts';
import type { Provider, SettlementFile, SettlementFileLine, Signal } from '../../providers/provider.ts';
import { type SettlementSignal, signalFromJson, signalJson } from '../apply-message.ts';
import { applySignal } from '../apply-signal.ts';
import type { Deps } from '../deps.ts';
import type { Table } from './parse-settlement-file.ts';

type Reader = Provider & { settlementFile: SettlementFile };
type Booking = { payment: Payment; line: SettlementFileLine; origin: Reader };
type Verdict = Pick<ReportedLine, 'status' | 'code' | 'message'>;

/** The connected providers of an environment whose own settlement report has these columns. */
export function readersOf({ providers }: Deps, { names }: Table, environment: Environment | undefined): Reader[] {
  return [...providers.values()].filter(
    (one): one is Reader =>
      one.settlementFile?.columns.every((column) => names.includes(column)) === true &&
      (environment === undefined || one.environment === environment),
  );
}

/**
 * Books one line of a provider's own settlement report, once; undefined for a line that is about no payment. A line that does not
 * match a paid payment of the provider changes nothing.
 */
export async function bookProviderLine(
  deps: Deps,
  readers: readonly Reader[],
  { number, cells }: { number: number; cells: Readonly<Record<string, string>> },
  dryRun: boolean,
): Promise<ReportedLine | undefined> {
  const read = readers.map((origin) => ({ origin, line: origin.settlementFile.read(cells) }));
  const named = read.find(({ line }) => line && !('problem' in line)) ?? read.find(({ line }) => line);
  if (!named?.line) return undefined;
  const { line, origin } = named;
  const unread = { line: number, paymentId: null, reference: null, amount: null };
  if ('problem' in line) return { ...unread, ...mismatch('invalid_line', line.problem) };
  const { reference, entry } = line;
  const found = await find(deps, origin, line);
  const paymentId = 'code' in found ? line.paymentId : found.id;
  const about = { line: number, paymentId, reference, amount: centsOfUnits(entry.moved.net) };
  if ('code' in found) return { ...about, ...found };
  return { ...about, ...(await book(deps, { payment: found, line, origin }, dryRun)) };
}

/** The paid payment of a line, or the reason why the line does not match. */
async function find({ store }: Deps, origin: Reader, line: SettlementFileLine): Promise<Payment | Mismatch> {
  const { paymentId, reference, entry, charge } = line;
  const ids = paymentId === null ? await store.paymentsOfReference(reference) : [paymentId];
  const payments = await Promise.all(ids.map((id) => store.payment(id)));
  const payment = payments.find((one) => one?.route.provider === origin.id && one.environment === origin.environment);
  if (!payment) return mismatch('unknown_payment', `No payment of ${origin.id} here has the reference ${reference}.`);
  const { status, chargeReference, fees } = payment;
  if (chargeReference !== null && chargeReference !== reference)
    return mismatch('reference_differs', `The provider's reference of the payment is ${chargeReference}.`);
  const { currency } = charge?.received ?? entry.moved.net;
  if (currency !== CURRENCY || entry.moved.net.currency !== CURRENCY)
    return mismatch('currency_differs', `The line is in ${currency}, and the payment in ${CURRENCY}.`);
  if (status !== 'paid')
    return mismatch('not_paid', `The payment is ${status}, but its money is in the file: look for it at the provider.`);
  if (charge && sessionAmountOf(payment, charge.received).amount !== payment.amount) {
    const received = usd(centsOfUnits(charge.received));
    return mismatch('amount_differs', `The line says ${received}, and the buyer's total is ${usd(fees.total)}.`);
  }
  return payment;
}

/** Books the cost and the payout of a line under ids made from the line, so that a second import changes nothing. */
async function book(deps: Deps, { payment, line, origin }: Booking, dryRun: boolean): Promise<Verdict> {
  const { entry, charge } = line;
  const ref = { paymentId: payment.id };
  const { id: provider, environment } = origin;
  const eventId = `settlement_${entry.moved.id}`;
  const settled = { about: 'settlement', ref, entry } as const;
  const [known] = await deps.store.messagesOfEvent({ provider, environment }, eventId, payment.sessionId);
  if (known) return repeated(known.signal, settled);
  if (dryRun) return { status: 'matched', code: null, message: 'Would be booked.' };
  const apply = (id: string, signal: Signal) =>
    applySignal(deps, { provider, environment, eventId: id, signal, body: signalJson(signal) });
  if (charge) {
    // The actual cost is a detail of the payment, which is paid already.
    const report = { ...NO_DETAILS, state: 'paid', ...charge } as const;
    await apply(`${eventId}:cost`, { about: 'payment', ref, report });
  }
  const { outcome } = await apply(eventId, settled);
  if (outcome === 'duplicate') return repeated(null, settled);
  const isLeft = judgePayout(payment, null) !== 'refunded';
  const isSettled = charge !== null && outcome === 'applied' && isLeft;
  return { status: 'matched', code: null, message: isSettled ? 'Settled.' : 'Booked.' };
}

/** Verdict on a line that was booked before, unless its amount was another one. */
function repeated(stored: string | null, { entry }: SettlementSignal): Verdict {
  const before = stored === null ? entry : (signalFromJson(stored) as SettlementSignal).entry;
  if (before.moved?.net.units !== entry.moved?.net.units)
    return mismatch('amount_differs', 'The line was booked before with another amount.');
  return { status: 'already_settled', code: null, message: 'Booked before: nothing was changed.' };
}
