import { GatewayError } from '../domain/errors.ts';
import { retryOnConflict } from '../operations/retry-on-conflict.ts';
import type { SimulatedPayment, SimulatedRefund } from '../store/simulator.ts';
import type { Change } from '../store/store.ts';
import { type SimulatorDeps, newEventId } from './charges.ts';
import { type RefundOrder, type RefundState, renderRefundEvent } from './messages.ts';

/** What a test refund comes to, by the cents of its amount. */
export interface RefundScript {
  cents: number;
  /** What happens, in one sentence. */
  outcome: string;
  /** The refund as it is recorded. */
  status: SimulatedRefund['status'];
  /** What the first answer says, where that is not what is recorded; `lost`: the connection ends without one. */
  firstAnswer?: RefundState | 'lost';
  callback?: { outcome: 'succeeded' | 'failed'; afterMs: number };
}

const SECOND_MS = 1000;
const DECLINED = 'refund_declined';
const SENT_BACK = 'account_closed';
const AT_ONCE: Omit<RefundScript, 'cents'> = { outcome: 'It succeeds at once.', status: 'succeeded' };

/** Every test outcome of a refund: behaviour and documentation follow this table. Other cents succeed at once. */
export const REFUND_SCRIPTS: readonly RefundScript[] = [
  {
    cents: 1,
    outcome: 'It is pending; 2 seconds later a callback reports success.',
    status: 'pending',
    callback: { outcome: 'succeeded', afterMs: 2 * SECOND_MS },
  },
  { cents: 2, outcome: 'It fails at once.', status: 'failed' },
  {
    cents: 3,
    outcome: "It succeeds at once, and fails 30 seconds later: the buyer's bank returns the money.",
    status: 'succeeded',
    callback: { outcome: 'failed', afterMs: 30 * SECOND_MS },
  },
  {
    cents: 4,
    outcome: 'It succeeds, but the first answer is lost; the gateway finds it by an inquiry.',
    status: 'succeeded',
    firstAnswer: 'lost',
  },
  {
    cents: 5,
    outcome: 'It is pending in the first answer, and no callback follows; the gateway finds the success by an inquiry.',
    status: 'succeeded',
    firstAnswer: 'PENDING',
  },
  {
    cents: 6,
    outcome: 'It is pending; 2 seconds later a callback reports failure.',
    status: 'pending',
    callback: { outcome: 'failed', afterMs: 2 * SECOND_MS },
  },
];

export interface TakenRefund {
  refund: SimulatedRefund;
  /** What the answer says, where that is not what is recorded. */
  state?: RefundState;
  /** No answer is to be given. */
  isLost: boolean;
}

/**
 * Gives money of a charge back, once for each of the caller's ids. Throws GatewayError `invalid_state` for more than was
 * captured and is left, or an id that was used for something else.
 */
export async function takeRefund(
  deps: SimulatorDeps,
  { reference }: SimulatedPayment,
  order: RefundOrder,
): Promise<TakenRefund> {
  return retryOnConflict(deps, 'the charge', async () => {
    const first = await deps.store.simulatedRefund(order.refund);
    if (first) {
      const isSame = first.reference === reference && first.amount === order.amount;
      if (isSame) return { changes: [], result: { refund: first, isLost: false } };
      throw new GatewayError('invalid_state', 'The refund was asked for before, of another charge or amount.');
    }
    const payment = (await deps.store.simulatedPayment(reference))!;
    if (order.amount > payment.captured - payment.refunded) {
      throw new GatewayError('invalid_state', 'The refund is more than what was captured of the charge and is left.');
    }
    const script = scriptOf(order.amount);
    const refund = newRefund(deps, reference, order, script);
    const { firstAnswer } = script;
    const isPlain = firstAnswer === undefined || firstAnswer === 'lost';
    const result: TakenRefund = { refund, isLost: firstAnswer === 'lost', ...(!isPlain && { state: firstAnswer }) };
    return { changes: changesOf(deps, payment, refund, script), result };
  });
}

/** Throws GatewayError `not_found`. */
export async function refundOf(
  deps: SimulatorDeps,
  { reference }: SimulatedPayment,
  id: string,
): Promise<SimulatedRefund> {
  const refund = await deps.store.simulatedRefund(id);
  if (refund?.reference === reference) return refund;
  throw new GatewayError('not_found', 'The simulated provider has no such refund of this charge.');
}

/** A callback is about to say what has become of a refund: that is so from now on. Money that came back can go again. */
export async function moveRefund(
  deps: SimulatorDeps,
  reference: string,
  id: string,
  outcome: 'succeeded' | 'failed',
): Promise<void> {
  await retryOnConflict(deps, 'the refund', async () => {
    const refund = (await deps.store.simulatedRefund(id))!;
    if (refund.status === outcome || refund.status === 'failed') return { changes: [], result: undefined };
    const reason = outcome === 'failed' ? reasonOf(refund.status) : null;
    const changes: Change[] = [
      { type: 'simulated_refund_moved', refund: { ...refund, status: outcome, reason }, from: refund.status },
    ];
    const payment = (await deps.store.simulatedPayment(reference))!;
    if (outcome === 'failed') changes.push(refunded(payment, -refund.amount));
    return { changes, result: undefined };
  });
}

function scriptOf(amount: number): Omit<RefundScript, 'cents'> {
  return REFUND_SCRIPTS.find(({ cents }) => cents === amount % 100) ?? AT_ONCE;
}

function newRefund(
  deps: SimulatorDeps,
  reference: string,
  { refund: id, amount }: RefundOrder,
  { status }: Pick<RefundScript, 'status'>,
): SimulatedRefund {
  return { id, reference, amount, status, reason: status === 'failed' ? DECLINED : null, created: deps.now() };
}

function changesOf(
  deps: SimulatorDeps,
  payment: SimulatedPayment,
  refund: SimulatedRefund,
  { callback }: Omit<RefundScript, 'cents'>,
): Change[] {
  const changes: Change[] = [{ type: 'simulated_refund_created', refund }];
  if (refund.status !== 'failed') changes.push(refunded(payment, refund.amount));
  if (callback) {
    const id = newEventId(deps);
    const dueAt = deps.now() + callback.afterMs;
    const reason = callback.outcome === 'failed' ? reasonOf(refund.status) : null;
    const body = renderRefundEvent(payment, refund, { id, outcome: callback.outcome, reason, created: dueAt });
    const { reference } = payment;
    changes.push({
      type: 'simulated_callback_queued',
      callback: { id, reference, body, status: 'pending', attempts: 0, dueAt },
    });
  }
  return changes;
}

/** Why one fails that had this status. */
function reasonOf(status: SimulatedRefund['status']): string {
  return status === 'succeeded' ? SENT_BACK : DECLINED;
}

/** The charge with so much more, or less, of it given back. */
function refunded(payment: SimulatedPayment, amount: number): Change {
  const { captured, total, refunded: before } = payment;
  const after = before + amount;
  const held = captured === total ? 'paid' : 'pending';
  const status = after === captured ? 'refunded' : held;
  return { type: 'simulated_payment_refunded', payment: { ...payment, refunded: after, status }, refunded: before };
}
