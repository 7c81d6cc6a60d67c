import { GatewayError } from '../domain/gateway-error.ts';
import { type SimulatorDeps, changeCharge, queueEvent } from './simulated-charges.ts';
import type { RefundOrder, RefundState } from './simulator-messages.ts';
import {
  type ChargeWrite,
  type Charge,
  type ChargeRefund,
  insertRefund,
  updateCharge,
  updateRefund,
} from './simulator-store.ts';

/** A test outcome of a refund, chosen by the cents of its amount. */
export interface RefundScript {
  cents: number;
  outcome: string;
  status: ChargeRefund['status'];
  /** State in the first answer, if it differs from the stored state; `lost`: the connection closes without an answer. */
  firstAnswer?: RefundState | 'lost';
  callback?: { outcome: 'succeeded' | 'failed'; afterMs: number };
}

const SECOND_MS = 1000;
const DECLINED = 'refund_declined';
const SENT_BACK = 'account_closed';
const AT_ONCE: Omit<RefundScript, 'cents'> = { outcome: 'The refund succeeds at once.', status: 'succeeded' };

/** All test outcomes of refunds; behaviour and documentation are derived from this table. Other cents succeed at once. */
export const REFUND_SCRIPTS: readonly RefundScript[] = [
  {
    cents: 1,
    outcome: 'The refund is pending; 2 seconds later a callback reports success.',
    status: 'pending',
    callback: { outcome: 'succeeded', afterMs: 2 * SECOND_MS },
  },
  { cents: 2, outcome: 'The refund fails at once.', status: 'failed' },
  {
    cents: 3,
    outcome: "The refund succeeds at once, and fails 30 seconds later: the buyer's bank returns the money.",
    status: 'succeeded',
    callback: { outcome: 'failed', afterMs: 30 * SECOND_MS },
  },
  {
    cents: 4,
    outcome: 'The refund succeeds, but the first answer is lost; the gateway finds the success by an inquiry.',
    status: 'succeeded',
    firstAnswer: 'lost',
  },
  {
    cents: 5,
    outcome:
      'The refund is pending in the first answer, and no callback follows; the gateway finds the success by an inquiry.',
    status: 'succeeded',
    firstAnswer: 'PENDING',
  },
  {
    cents: 6,
    outcome: 'The refund is pending; 2 seconds later a callback reports failure.',
    status: 'pending',
    callback: { outcome: 'failed', afterMs: 2 * SECOND_MS },
  },
];

interface AcceptedRefund {
  refund: ChargeRefund;
  answer?: RefundScript['firstAnswer'];
}

/** Accepts a refund; the same id refunds once. Throws GatewayError `invalid_state` if the amount is too high or the id is taken. */
export async function acceptRefund(deps: SimulatorDeps, charge: Charge, order: RefundOrder): Promise<AcceptedRefund> {
  const { refund: id, amount } = order;
  let taken: AcceptedRefund | undefined;
  await changeCharge(deps, charge, async (current) => {
    const { reference, captured, refunded } = current;
    const first = await deps.store.refund(id);
    if (first) {
      taken = { refund: first };
      if (first.reference === reference && first.amount === amount) return [];
      throw new GatewayError('invalid_state', 'The refund id was used before for another charge or amount.');
    }
    if (amount > captured - refunded) {
      throw new GatewayError('invalid_state', 'The refund is more than the captured amount less earlier refunds.');
    }
    const { status, firstAnswer, callback } = scriptOf(amount);
    const reason = status === 'failed' ? DECLINED : null;
    const refund = { id, reference, amount, status, reason, created: deps.now() };
    taken = { refund, ...(firstAnswer && { answer: firstAnswer }) };
    return [
      insertRefund(refund),
      ...(status === 'failed' ? [] : [addRefunded(current, amount)]),
      ...(callback ? queueOutcome(deps, current, refund, callback) : []),
    ];
  });
  return taken!;
}

/** The refund of a charge; throws GatewayError `not_found`. */
export async function refundOf({ store }: SimulatorDeps, { reference }: Charge, id: string): Promise<ChargeRefund> {
  const refund = await store.refund(id);
  if (refund?.reference === reference) return refund;
  throw new GatewayError('not_found', 'The simulated provider has no such refund of this charge.');
}

/** Stores the outcome of a refund before its callback reports it. The money of a failed refund can be refunded again. */
export function setRefundState(
  deps: SimulatorDeps,
  charge: Charge,
  id: string,
  status: 'succeeded' | 'failed',
): Promise<void> {
  return changeCharge(deps, charge, async (current) => {
    const refund = (await deps.store.refund(id))!;
    if (refund.status === status || refund.status === 'failed') return [];
    const reason = status === 'failed' ? reasonOf(refund.status) : null;
    const update = updateRefund({ ...refund, status, reason }, refund.status);
    return status === 'failed' ? [update, addRefunded(current, -refund.amount)] : [update];
  });
}

function scriptOf(amount: number): Omit<RefundScript, 'cents'> {
  return REFUND_SCRIPTS.find(({ cents }) => cents === amount % 100) ?? AT_ONCE;
}

function queueOutcome(
  deps: SimulatorDeps,
  charge: Charge,
  { id, amount, status }: ChargeRefund,
  { outcome, afterMs }: NonNullable<RefundScript['callback']>,
): ChargeWrite[] {
  const reason = outcome === 'failed' && { reason: reasonOf(status) };
  const event = { type: `refund.${outcome}`, refund: id, ...reason, amount } as const;
  return queueEvent(deps, charge, event, { dueAt: deps.now() + afterMs });
}

/** Reason of a failed refund, by the status before the failure. */
function reasonOf(status: ChargeRefund['status']): string {
  return status === 'succeeded' ? SENT_BACK : DECLINED;
}

/** Adds to the refunded amount of a charge; a negative amount subtracts. */
function addRefunded(charge: Charge, amount: number): ChargeWrite {
  const refunded = charge.refunded + amount;
  const held = charge.captured === charge.total ? 'paid' : 'pending';
  const status = refunded === charge.captured ? 'refunded' : held;
  return updateCharge({ ...charge, refunded, status }, charge);
}
