import { GatewayError } from '../domain/errors.ts';
import type { RandomBytes } from '../domain/id.ts';
import type { Instant } from '../domain/records.ts';
import { retryOnConflict } from '../operations/retry-on-conflict.ts';
import type { SimulatedPayment } from '../store/simulator.ts';
import type { Change, Store } from '../store/store.ts';
import { type Instrument, type Script, type Step, handoffTagOf } from './instruments.ts';
import { type ChargeOrder, renderEvent, renderPayoutEvent } from './messages.ts';

const REFERENCE_BYTES = 16;
const TRANSACTION_BYTES = 20;
const EVENT_BYTES = 12;

/** What the simulated provider works with. */
export interface SimulatorDeps {
  store: Store;
  now: () => Instant;
  randomBytes: RandomBytes;
  /** How long after it has taken the money it pays the merchant; 0: never. */
  settlementDelayMs: number;
}

type NewCharge = Omit<ChargeOrder, 'currency' | 'buyer_email'>;

/**
 * Takes a charge over, once for each of the caller's ids. Throws GatewayError `invalid_state` where the buyer's
 * address asks for a refusal, or where the charge was refused before.
 */
export async function takeCharge(deps: SimulatorDeps, order: ChargeOrder): Promise<SimulatedPayment> {
  const tag = handoffTagOf(order.buyer_email);
  if (tag === 'handoff_down')
    throw new GatewayError('invalid_state', 'The simulated provider takes nothing of this buyer.');
  const earlier = await deps.store.simulatedPaymentsOfSession(order.order);
  const refuse = tag === 'handoff_error' && earlier.length === 0;
  const payment = newPayment(deps, order, refuse ? 'cancelled' : 'open');
  await deps.store.commit([{ type: 'simulated_payment_created', payment }]);
  // Where the caller asked before, or asks twice at once, this is the first one.
  const first = (await deps.store.simulatedPaymentOf(order.charge))!;
  if (first.status === 'cancelled') throw refused();
  return first;
}

const DECLINE_REASONS: Record<SimulatedPayment['kind'], string> = {
  card: 'card_declined',
  wallet: 'wallet_declined',
  local: 'transfer_rejected',
};

/** The buyer pressed the button: the charge moves, and its callbacks are queued with it. Ignored once it has moved. */
export function payWith(deps: SimulatorDeps, payment: SimulatedPayment, instrument: Instrument): Promise<void> {
  return move(deps, payment, async (current) => {
    if (current.status !== 'open') return [];
    const earlier = await deps.store.simulatedPaymentsOfSession(current.sessionId);
    const declinedBefore = earlier.some(({ status }) => status === 'failed');
    const script = (declinedBefore ? instrument.afterDecline : undefined) ?? instrument.script;
    const captured = capturedBy(script, current);
    const reason = script.status === 'failed' ? (script.reason ?? DECLINE_REASONS[current.kind]) : null;
    const after = { ...current, status: script.status, reason, captured };
    return [
      { type: 'simulated_payment_moved', payment: after, from: current.status },
      ...script.callbacks.flatMap((step) => queued(deps, after, step)),
      ...(captured === current.total ? payoutQueued(deps, after) : []),
    ];
  });
}

/**
 * The captured charge of a refund. `webhook.verify_sample` reports captures that this provider did not make. So a charge that
 * it does not know, or has not captured, becomes captured in full by the caller's record.
 */
export async function capturedCharge(deps: SimulatorDeps, order: NewCharge): Promise<SimulatedPayment> {
  const payment = { ...newPayment(deps, order, 'paid'), captured: order.total };
  await deps.store.commit([{ type: 'simulated_payment_created', payment }]);
  const first = (await deps.store.simulatedPaymentOf(order.charge))!;
  await move(deps, first, async (current) =>
    current.captured > 0 ? [] : [moved({ ...current, captured: current.total }, 'paid')],
  );
  return first;
}

/** The buyer goes back without paying; the merchant is told. */
export function leaveUnpaid(deps: SimulatorDeps, payment: SimulatedPayment): Promise<void> {
  return move(deps, payment, async (current) => {
    if (current.status !== 'open') return [];
    const left: SimulatedPayment = { ...current, status: 'cancelled' };
    return [moved(current, 'cancelled'), ...queued(deps, left, { state: 'CANCELLED', afterMs: 0 })];
  });
}

/** The merchant withdraws a charge. Where it comes too late, the capture is reported again, so that nobody misses it. */
export function cancelCharge(deps: SimulatorDeps, payment: SimulatedPayment): Promise<void> {
  return move(deps, payment, async (current) => {
    if (current.status === 'open' || current.status === 'pending') return [moved(current, 'cancelled')];
    return current.status === 'paid' ? queued(deps, current, { state: 'CAPTURED', afterMs: 0 }) : [];
  });
}

/** A capture is about to be reported; answers false where the charge was cancelled and it must not be. */
export async function captureLate(deps: SimulatorDeps, payment: SimulatedPayment): Promise<boolean> {
  let stands = true;
  await move(deps, payment, async (current) => {
    stands = current.status !== 'cancelled';
    const late = current.status === 'pending' || current.status === 'failed';
    return late ? [moved({ ...current, captured: current.total }, 'paid'), ...payoutQueued(deps, current)] : [];
  });
  return stands;
}

/** Decides anew where another instance, or another request, was faster. */
async function move(
  deps: SimulatorDeps,
  { reference }: SimulatedPayment,
  changesOf: (current: SimulatedPayment) => Promise<Change[]>,
): Promise<void> {
  await retryOnConflict(deps, 'the charge', async () => ({
    changes: await changesOf((await deps.store.simulatedPayment(reference))!),
    result: undefined,
  }));
}

function newPayment(deps: SimulatorDeps, order: NewCharge, status: SimulatedPayment['status']): SimulatedPayment {
  return {
    reference: `sp_${hex(deps, REFERENCE_BYTES)}`,
    paymentId: order.charge,
    sessionId: order.order,
    kind: order.kind,
    merchant: order.merchant,
    product: order.product,
    amount: order.amount,
    total: order.total,
    returnUrl: order.return_url,
    status,
    reason: null,
    txHash: `sim_${hex(deps, TRANSACTION_BYTES)}`,
    captured: 0,
    refunded: 0,
    created: deps.now(),
  };
}

function moved(payment: SimulatedPayment, status: SimulatedPayment['status']): Change {
  return { type: 'simulated_payment_moved', payment: { ...payment, status }, from: payment.status };
}

/** What the provider takes at once; a payment that is short of something is taken all the same. */
function capturedBy({ status, callbacks }: Script, { total }: SimulatedPayment): number {
  const short = callbacks.find(({ shortBy }) => shortBy !== undefined)?.shortBy;
  if (short !== undefined) return Math.max(0, total - short);
  return status === 'paid' ? total : 0;
}

/** The callbacks of one step: copies are rows of their own that carry the same event. */
function queued(deps: SimulatorDeps, payment: SimulatedPayment, step: Step): Change[] {
  const id = newEventId(deps);
  const dueAt = deps.now() + step.afterMs;
  const amount = Math.max(0, payment.amount - (step.shortBy ?? 0));
  const body = renderEvent(payment, { id, state: step.state, amount, created: dueAt - (step.agedMs ?? 0) });
  return Array.from({ length: step.copies ?? 1 }, (_, copy) => ({
    type: 'simulated_callback_queued',
    callback: {
      id: copy === 0 ? id : `${id}.${copy + 1}`,
      reference: payment.reference,
      body,
      status: 'pending',
      attempts: 0,
      dueAt,
    },
  }));
}

/** What the merchant is paid out it is told of when that comes to pass. */
function payoutQueued(deps: SimulatorDeps, payment: SimulatedPayment): Change[] {
  const { settlementDelayMs, now } = deps;
  if (settlementDelayMs === 0) return [];
  const id = newEventId(deps);
  const dueAt = now() + settlementDelayMs;
  const body = renderPayoutEvent(payment, { id, payout: `po_${hex(deps, EVENT_BYTES)}`, created: dueAt });
  const { reference } = payment;
  const callback = { id, reference, body, status: 'pending', attempts: 0, dueAt } as const;
  return [{ type: 'simulated_callback_queued', callback }];
}

export function newEventId(deps: SimulatorDeps): string {
  return `ev_${hex(deps, EVENT_BYTES)}`;
}

function refused(): GatewayError {
  return new GatewayError('invalid_state', 'The simulated provider refused this handoff.');
}

function hex({ randomBytes }: SimulatorDeps, size: number): string {
  return Buffer.from(randomBytes(size)).toString('hex');
}
