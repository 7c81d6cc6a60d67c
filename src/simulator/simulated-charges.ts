import { GatewayError } from '../domain/gateway-error.ts';
import { retryOnConflict } from '../operations/retry-on-conflict.ts';
import type { RandomBytes } from '../domain/id.ts';
import type { Instant } from '../domain/records.ts';
import type { CommitResult } from '../store/store.ts';
import { type Instrument, type InstrumentScript, type CallbackStep, handoffTagOf } from './test-instruments.ts';
import { type ChargeOrder, type SimulatorEvent, chargeUpdated, eventBody } from './simulator-messages.ts';
import {
  type ChargeWrite,
  type Charge,
  type SimulatorStore,
  insertCallback,
  insertCharge,
  updateCharge,
} from './simulator-store.ts';

const REFERENCE_BYTES = 16;
const TRANSACTION_BYTES = 20;
const EVENT_BYTES = 12;

/** Dependencies of the simulated provider. */
export interface SimulatorDeps {
  store: SimulatorStore;
  now: () => Instant;
  randomBytes: RandomBytes;
  /** Time from a capture to its payout; 0: the provider never pays out. */
  settlementDelayMs: number;
}

type NewCharge = Omit<ChargeOrder, 'currency' | 'buyer_email' | 'route'>;

/** Accepts a charge; the same id creates one charge only. Throws GatewayError `invalid_state` if the charge is or was refused. */
export async function acceptCharge(deps: SimulatorDeps, order: ChargeOrder): Promise<Charge> {
  const tag = handoffTagOf(order.buyer_email, order.route);
  if (tag === 'handoff_down')
    throw new GatewayError('invalid_state', 'The simulated provider accepts no payment of this buyer.');
  const refuse = tag === 'handoff_error' && (await deps.store.chargesOfSession(order.order)).length === 0;
  const charge = await createOnce(deps, newCharge(deps, order, refuse ? 'cancelled' : 'open'));
  if (charge.status !== 'cancelled') return charge;
  throw new GatewayError('invalid_state', 'The simulated provider refused this handoff.');
}

const DECLINE_REASONS: Record<Charge['kind'], string> = {
  card: 'card_declined',
  wallet: 'wallet_declined',
  local: 'transfer_rejected',
};

/** Applies the test outcome that the buyer chose, and queues its callbacks. Does nothing if the charge is no longer open. */
export function payCharge(deps: SimulatorDeps, charge: Charge, instrument: Instrument): Promise<void> {
  return changeCharge(deps, charge, async (current) => {
    if (current.status !== 'open') return [];
    const { afterDecline } = instrument;
    const earlier = afterDecline ? await deps.store.chargesOfSession(current.sessionId) : [];
    const script = (earlier.some(({ status }) => status === 'failed') && afterDecline) || instrument.script;
    const captured = capturedBy(script, current);
    const reason = script.status === 'failed' ? (script.reason ?? DECLINE_REASONS[current.kind]) : null;
    const after = { ...current, status: script.status, reason, captured };
    return [
      updateCharge(after, current),
      ...script.callbacks.flatMap((step) => queueUpdate(deps, after, step)),
      ...(captured === current.total ? queuePayout(deps, after) : []),
    ];
  });
}

/** The captured charge of a refund. If only `webhook.verify_sample` reported the payment as paid, creates or captures the charge. */
export async function capturedCharge(deps: SimulatorDeps, order: NewCharge): Promise<Charge> {
  const charge = await createOnce(deps, { ...newCharge(deps, order, 'paid'), captured: order.total });
  await changeCharge(deps, charge, (current) =>
    current.captured > 0 ? [] : [updateCharge({ ...current, status: 'paid', captured: current.total }, current)],
  );
  return (await deps.store.charge(charge.reference))!;
}

/** Cancels the charge because the buyer leaves without paying, and queues the callback that reports it. */
export function cancelChargeByBuyer(deps: SimulatorDeps, charge: Charge): Promise<void> {
  return changeCharge(deps, charge, (current) => {
    if (current.status !== 'open') return [];
    const cancelled: Charge = { ...current, status: 'cancelled' };
    return [updateCharge(cancelled, current), ...queueUpdate(deps, cancelled, { state: 'CANCELLED', afterMs: 0 })];
  });
}

/** Cancels the charge at the request of the gateway, also if only a refunded part was captured. If it is captured, reports that again. */
export function cancelCharge(deps: SimulatorDeps, charge: Charge): Promise<void> {
  return changeCharge(deps, charge, (current) => {
    const { status, captured, total } = current;
    const isReturned = status === 'refunded' && captured < total;
    if (status === 'open' || status === 'pending' || isReturned)
      return [updateCharge({ ...current, status: 'cancelled' }, current)];
    return status === 'paid' ? queueUpdate(deps, current, { state: 'CAPTURED', afterMs: 0 }) : [];
  });
}

/** Captures a charge whose capture callback is due. Returns false for a cancelled charge, whose callback must not be sent. */
export async function captureLate(deps: SimulatorDeps, charge: Charge): Promise<boolean> {
  let isCancelled = false;
  await changeCharge(deps, charge, (current) => {
    isCancelled = current.status === 'cancelled';
    if (current.status !== 'pending' && current.status !== 'failed') return [];
    const captured: Charge = { ...current, status: 'paid', captured: current.total };
    return [updateCharge(captured, current), ...queuePayout(deps, captured)];
  });
  return !isCancelled;
}

/** Commits the writes that `decide` returns for a charge that was just read. After a conflict, reads it and calls `decide` again. */
export async function changeCharge(
  { store }: SimulatorDeps,
  charge: Charge,
  decide: (current: Charge) => ChargeWrite[] | Promise<ChargeWrite[]>,
): Promise<void> {
  const { reference } = charge;
  async function commit(writes: ChargeWrite[]): Promise<CommitResult> {
    return (await store.write(reference, writes)) ? { done: true } : { done: false, conflict: 'overtaken' };
  }
  await retryOnConflict({ store: { commit } }, 'the charge', async (conflict) => ({
    changes: await decide(conflict ? (await store.charge(reference))! : charge),
    result: undefined,
  }));
}

/** Queues a callback. Each copy is a separate row with the same event. */
export function queueEvent(
  deps: SimulatorDeps,
  charge: Charge,
  event: SimulatorEvent,
  { dueAt = deps.now(), created = dueAt, copies = 1 }: { dueAt?: Instant; created?: Instant; copies?: number },
): ChargeWrite[] {
  const id = `ev_${hex(deps, EVENT_BYTES)}`;
  const body = eventBody(charge, id, event, created);
  const callback = { reference: charge.reference, body, status: 'pending', attempts: 0, dueAt } as const;
  return Array.from({ length: copies }, (_, copy) =>
    insertCallback({ id: copy === 0 ? id : `${id}.${copy + 1}`, ...callback }),
  );
}

function queueUpdate(deps: SimulatorDeps, charge: Charge, step: CallbackStep): ChargeWrite[] {
  const { state, afterMs, agedMs = 0, shortBy = 0, copies } = step;
  const dueAt = deps.now() + afterMs;
  const event = chargeUpdated(charge, state, Math.max(0, charge.amount - shortBy));
  return queueEvent(deps, charge, event, { dueAt, created: dueAt - agedMs, ...(copies !== undefined && { copies }) });
}

function queuePayout(deps: SimulatorDeps, charge: Charge): ChargeWrite[] {
  if (deps.settlementDelayMs === 0) return [];
  // Pays out the full amount, because the provider does not deduct the gateway's fee.
  const event = { type: 'charge.settled', payout: `po_${hex(deps, EVENT_BYTES)}`, amount: charge.amount } as const;
  return queueEvent(deps, charge, event, { dueAt: deps.now() + deps.settlementDelayMs });
}

/** Stores a charge unless its payment already has a charge, and returns the stored charge. */
async function createOnce({ store }: SimulatorDeps, charge: Charge): Promise<Charge> {
  const isNew = await store.write(charge.reference, [insertCharge(charge)]);
  return isNew ? charge : (await store.chargeOfPayment(charge.paymentId))!;
}

function newCharge(deps: SimulatorDeps, order: NewCharge, status: Charge['status']): Charge {
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

/** Cents that the provider captures at once. For the test outcome with a wrong amount, less than the total. */
function capturedBy({ status, callbacks }: InstrumentScript, { total }: Charge): number {
  const short = callbacks.find(({ shortBy }) => shortBy !== undefined)?.shortBy;
  if (short !== undefined) return Math.max(0, total - short);
  return status === 'paid' ? total : 0;
}

function hex({ randomBytes }: SimulatorDeps, size: number): string {
  return Buffer.from(randomBytes(size)).toString('hex');
}
