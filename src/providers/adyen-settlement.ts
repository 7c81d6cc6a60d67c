import { isId } from '../domain/id.ts';
import { type ProviderAmount, amountInCents } from '../domain/provider-report.ts';
import type { Instant } from '../domain/records.ts';
import type { AdyenSettings } from './adyen-settings.ts';
import type { SettlementFile } from './provider.ts';

// Columns of Adyen's Settlement details report, in small letters.
// https://docs.adyen.com/reporting/settlement-reconciliation/transaction-level/settlement-details-report
const COLUMNS = [
  'merchant account',
  'psp reference',
  'merchant reference',
  'creation date',
  'timezone',
  'type',
  'modification reference',
  'gross currency',
  'gross debit (gc)',
  'gross credit (gc)',
  'net currency',
  'net debit (nc)',
  'net credit (nc)',
  'batch number',
] as const;
/** The type of a line about the payment itself. */
const CHARGE = 'Settled';
/** Types of lines about later changes of a payment's balance. */
const CHANGES = new Set(['Refunded', 'RefundedReversed', 'Chargeback', 'SecondChargeback', 'ChargebackReversed']);
// At most two decimal places can be booked in cents.
const DECIMAL = /^(\d{1,12})(?:\.(\d{1,2})0*)?$/;
const TIME = /^(\d{4}-\d{2}-\d{2}) (\d{2}:\d{2}:\d{2})$/;
/** Offsets of the time zones that a report can be in. For another one, the time of the import is recorded. */
const OFFSETS: Readonly<Record<string, string>> = {
  UTC: 'Z',
  GMT: 'Z',
  BST: '+01:00',
  CET: '+01:00',
  CEST: '+02:00',
  EST: '-05:00',
  EDT: '-04:00',
  CST: '-06:00',
  CDT: '-05:00',
  MST: '-07:00',
  MDT: '-06:00',
  PST: '-08:00',
  PDT: '-07:00',
};

type Cells = Readonly<Record<string, string>>;

/** Reader of Adyen's Settlement details report for one merchant account. Fees that Adyen invoices per month name no payment. */
export function createAdyenSettlementFile({ merchantAccount }: AdyenSettings, now: () => Instant): SettlementFile {
  return {
    columns: COLUMNS,
    read(cells) {
      const { 'psp reference': reference = '', 'merchant reference': named = '', type = '' } = cells;
      if (reference === '') return undefined;
      const account = cells['merchant account'];
      if (account !== merchantAccount) return { problem: `The line is of merchant account ${account}.` };
      if (type !== CHARGE && !CHANGES.has(type)) return { problem: `Lines of the type ${type} cannot be booked.` };
      const [gross, net] = [movedAmount(cells, 'gross', '(gc)'), movedAmount(cells, 'net', '(nc)')];
      const { 'batch number': batch = '', 'modification reference': modification = '' } = cells;
      if (!gross || !net || batch === '' || modification === '')
        return { problem: 'The amounts, the batch number or the modification reference cannot be read.' };
      const isCharge = type === CHARGE;
      // Some accounts get the gross amount of a settled payment in the debit column, so only its size is used.
      const received = { ...gross, units: gross.units < 0n ? -gross.units : gross.units };
      const cost = received.units - net.units;
      if (isCharge && (cost < 0n || net.units < 0n))
        return { problem: 'The net amount is negative, or above the gross amount.' };
      if (isCharge && gross.currency !== net.currency)
        return { problem: `The payment is in ${gross.currency}, and its settlement in ${net.currency}.` };
      return {
        paymentId: isId(named, 'pay') ? named : null,
        reference,
        entry: {
          payout: batch,
          settledAt: timeOf(cells, now()),
          amount: null,
          moved: { id: `${batch}:${type}:${modification}`, net, isCharge },
        },
        charge: isCharge ? { received, cost: { ...net, units: cost } } : null,
      };
    },
  };
}

/** Credit less debit, of which a line has one; undefined if it has no readable amount. */
function movedAmount(cells: Cells, kind: 'gross' | 'net', unit: '(gc)' | '(nc)'): ProviderAmount | undefined {
  const [credit, debit] = (['credit', 'debit'] as const).map((side) => cells[`${kind} ${side} ${unit}`] ?? '');
  const currency = (cells[`${kind} currency`] ?? '').toUpperCase();
  const [plus, minus] = [credit, debit].map((text) => centsOf(text || '0'));
  if (currency === '' || plus === undefined || minus === undefined || `${credit}${debit}` === '') return undefined;
  return amountInCents(plus - minus, currency);
}

function centsOf(decimal: string): number | undefined {
  const [, whole, fraction = ''] = DECIMAL.exec(decimal) ?? [];
  return whole === undefined ? undefined : Number(whole) * 100 + Number(fraction.padEnd(2, '0'));
}

/** Time of the booking, or of the payment in reports without one; null if it is unknown, or later than `now`. */
function timeOf(cells: Cells, now: Instant): Instant | null {
  const booked = cells['booking date'];
  const [time, zone] = booked ? [booked, cells['booking date timezone']] : [cells['creation date'], cells['timezone']];
  const [, date, hour] = TIME.exec(time ?? '') ?? [];
  const offset = OFFSETS[zone ?? ''];
  if (date === undefined || offset === undefined) return null;
  const instant = Date.parse(`${date}T${hour}${offset}`);
  return Number.isNaN(instant) || instant > now ? null : instant;
}
