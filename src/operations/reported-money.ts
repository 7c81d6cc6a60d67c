import { sessionAmountOf } from '../domain/charge-amount.ts';
import { takenAmount } from '../domain/discrepancy.ts';
import type { Cents } from '../domain/money.ts';
import { CURRENCY, type Payment } from '../domain/records.ts';
import { type PaymentSignal, type ReceivedSignal, type SignalSubject, signalFromJson } from './apply-message.ts';
import type { Deps } from './deps.ts';

/**
 * All the money that the provider has taken for a payment so far, as the session's amount, without the buyer's fee. Some providers
 * report each charge by itself, so a charge with another reference than the first one is added to the charges before it.
 */
export async function reportedMoney(
  { store }: Pick<Deps, 'store'>,
  { sessionId, payment }: SignalSubject,
  { eventId, signal }: Pick<ReceivedSignal<PaymentSignal>, 'eventId' | 'signal'>,
): Promise<{ amount: Cents | null; currency: string | null }> {
  const { received, chargeReference: reference } = signal.report;
  if (!received) return { amount: null, currency: null };
  const money = sessionAmountOf(payment, received);
  const first = payment?.chargeReference ?? null;
  const isFirst = first === null || reference === null || reference === first;
  if (!payment || isFirst || money.currency !== CURRENCY) return money;
  const messages = await store.providerMessages(sessionId);
  const known = messages.findIndex((one) => one.eventId === eventId);
  const charges = new Map<string, Cents>();
  // A repeated message counts the charges before its first arrival, so that it has the same content.
  for (const { paymentId, status, signal: json } of known === -1 ? messages : messages.slice(0, known)) {
    if (paymentId === payment.id && status === 'paid' && json !== null) addCharge(charges, payment, json);
  }
  charges.set(reference, takenAmount(payment, money.amount));
  const taken = [...charges.values()].reduce((sum, each) => sum + each, 0);
  return { ...money, amount: payment.amount + taken - payment.fees.total };
}

function addCharge(charges: Map<string, Cents>, payment: Payment, json: string): void {
  const signal = signalFromJson(json);
  if (signal.about !== 'payment') return;
  const { received, chargeReference } = signal.report;
  if (!received || !chargeReference) return;
  const { amount, currency } = sessionAmountOf(payment, received);
  if (currency === CURRENCY) charges.set(chargeReference, takenAmount(payment, amount));
}
