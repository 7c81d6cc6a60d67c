import type { Instant } from '../domain/records.ts';
import type { RouteKind } from '../domain/route.ts';
import type { Database, WriteOptions } from '../store/database.ts';
import { createReader } from '../store/row-reader.ts';
import { describeTable, integer, text } from '../store/table-description.ts';
import type { Write } from '../store/write-statement.ts';

/** The simulated provider's record of a payment of the gateway. */
export interface Charge {
  reference: string;
  /** The gateway's ids of the payment and its session. */
  paymentId: string;
  sessionId: string;
  kind: RouteKind;
  merchant: string;
  product: string;
  /** The amount of the session, and the total that the buyer pays, in cents. */
  amount: number;
  total: number;
  returnUrl: string;
  status: 'open' | 'pending' | 'paid' | 'failed' | 'cancelled' | 'refunded';
  /** The simulated provider's code for the reason of a decline; null without a decline. */
  reason: string | null;
  txHash: string;
  /** The captured part of the total, and the refunded part of the captured money, in cents. */
  captured: number;
  refunded: number;
  created: Instant;
}

/** The simulated provider's record of a refund of the gateway; `id` is the gateway's id. */
export interface ChargeRefund {
  id: string;
  reference: string;
  amount: number;
  status: 'pending' | 'succeeded' | 'failed';
  /** The simulated provider's code for the reason of a failure; null without a failure. */
  reason: string | null;
  created: Instant;
}

/** A callback in the simulated provider's queue. */
export interface QueuedCallback {
  id: string;
  reference: string;
  body: string;
  status: 'pending' | 'done' | 'dead';
  attempts: number;
  dueAt: Instant;
}

/** A write to the records of a charge, with the callback that it queues. */
export interface ChargeWrite extends Write {
  queued?: QueuedCallback;
}

/** Store of the simulated provider's records. */
export interface SimulatorStore {
  charge(reference: string): Promise<Charge | undefined>;
  chargeOfPayment(paymentId: string): Promise<Charge | undefined>;
  /** Charges of a session, oldest first. */
  chargesOfSession(sessionId: string): Promise<Charge[]>;
  refund(id: string): Promise<ChargeRefund | undefined>;
  /** Pending callbacks that are due, oldest due time first. */
  callbacksDue(now: Instant, limit: number): Promise<QueuedCallback[]>;
  /** Commits all writes to the records of one charge, or none. Returns false if a guard did not hold. */
  write(reference: string, writes: ChargeWrite[], options?: WriteOptions): Promise<boolean>;
  /** Calls `listener` with the callbacks of each write, when the write is queued and before it is durable. */
  onQueued(listener: (callbacks: QueuedCallback[], written: Promise<boolean>) => void): void;
}

const CHARGES = describeTable<Charge>('simulated_payments', {
  reference: text,
  paymentId: text,
  sessionId: text,
  kind: text,
  merchant: text,
  product: text,
  amount: integer,
  total: integer,
  returnUrl: text,
  status: text,
  reason: text,
  txHash: text,
  captured: integer,
  refunded: integer,
  created: integer,
});
const REFUNDS = describeTable<ChargeRefund>('simulated_refunds', {
  id: text,
  reference: text,
  amount: integer,
  status: text,
  reason: text,
  created: integer,
});
const CALLBACKS = describeTable<QueuedCallback>('simulated_callbacks', {
  id: text,
  reference: text,
  body: text,
  status: text,
  attempts: integer,
  dueAt: integer,
});

const SELECT_CHARGE = 'SELECT * FROM simulated_payments WHERE reference = ?1';
const SELECT_CHARGE_OF_PAYMENT = 'SELECT * FROM simulated_payments WHERE payment_id = ?1';
const SELECT_CHARGES_OF_SESSION = 'SELECT * FROM simulated_payments WHERE session_id = ?1 ORDER BY created, reference';
const SELECT_CALLBACKS_DUE =
  "SELECT * FROM simulated_callbacks WHERE status = 'pending' AND due_at <= ?1 ORDER BY due_at, id LIMIT ?2";
const UPDATE_CHARGE = `UPDATE simulated_payments SET status = ?2, reason = ?3, captured = ?4, refunded = ?5
  WHERE reference = ?1 AND status = ?6 AND refunded = ?7`;
const UPDATE_REFUND = 'UPDATE simulated_refunds SET status = ?2, reason = ?3 WHERE id = ?1 AND status = ?4';
const UPDATE_CALLBACK = `UPDATE simulated_callbacks SET status = ?2, attempts = ?3, due_at = ?4
  WHERE id = ?1 AND attempts = ?5 AND status = 'pending'`;

export function createSimulatorStore({ select, write }: Database): SimulatorStore {
  const listeners: Parameters<SimulatorStore['onQueued']>[0][] = [];
  const { all, find, one } = createReader(select);
  return {
    charge: (reference) => one(CHARGES.fromRow, SELECT_CHARGE, reference),
    chargeOfPayment: (paymentId) => one(CHARGES.fromRow, SELECT_CHARGE_OF_PAYMENT, paymentId),
    chargesOfSession: (sessionId) => all(CHARGES.fromRow, SELECT_CHARGES_OF_SESSION, sessionId),
    refund: (id) => find(REFUNDS, id),
    callbacksDue: (now, limit) => all(CALLBACKS.fromRow, SELECT_CALLBACKS_DUE, now, limit),
    write(reference, writes, options) {
      const written = write(writes, reference, options);
      const callbacks = writes.flatMap(({ queued }) => queued ?? []);
      if (callbacks.length > 0) for (const listener of listeners) listener(callbacks, written);
      return written;
    },
    onQueued: (listener) => void listeners.push(listener),
  };
}

const ONCE = { onConflict: 'ON CONFLICT DO NOTHING', guard: 'overtaken' } as const;
const queueCallback = CALLBACKS.insert(ONCE);
/** Guard: the payment has no charge. */
export const insertCharge = CHARGES.insert(ONCE);
/** Guard: the id of the refund is new. */
export const insertRefund = REFUNDS.insert(ONCE);
export const insertCallback = (queued: QueuedCallback): ChargeWrite => ({ ...queueCallback(queued), queued });

/** Guard: the charge still has the status and the refunded amount of `before`. */
export function updateCharge({ reference, status, reason, captured, refunded }: Charge, before: Charge): Write {
  const params = [reference, status, reason, captured, refunded, before.status, before.refunded];
  return { sql: UPDATE_CHARGE, params, guard: 'overtaken' };
}

/** Guard: the refund still has the status `before`. */
export function updateRefund({ id, status, reason }: ChargeRefund, before: ChargeRefund['status']): Write {
  return { sql: UPDATE_REFUND, params: [id, status, reason, before], guard: 'overtaken' };
}

/** Guard: the callback is pending and has had `before` attempts; the number of attempts is its fencing token. */
export function updateCallback({ id, status, attempts, dueAt }: QueuedCallback, before: number): Write {
  return { sql: UPDATE_CALLBACK, params: [id, status, attempts, dueAt, before], guard: 'overtaken' };
}
