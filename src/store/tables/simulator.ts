import type { Row } from '../keyset.ts';
import type { SimulatedCallback, SimulatedPayment, SimulatedRefund } from '../simulator.ts';
import { type Write, insertSql } from '../write.ts';

const INSERT_PAYMENT = insertSql(
  'simulated_payments',
  [
    'reference',
    'payment_id',
    'session_id',
    'kind',
    'merchant',
    'product',
    'amount',
    'total',
    'return_url',
    'status',
    'reason',
    'tx_hash',
    'captured',
    'refunded',
    'created',
  ],
  'ON CONFLICT (payment_id) DO NOTHING',
);
const MOVE_PAYMENT = `UPDATE simulated_payments SET status = ?2, reason = ?4, captured = ?5
  WHERE reference = ?1 AND status = ?3`;
const REFUND_PAYMENT =
  'UPDATE simulated_payments SET status = ?2, refunded = ?3 WHERE reference = ?1 AND refunded = ?4';
const INSERT_REFUND = insertSql(
  'simulated_refunds',
  ['id', 'reference', 'amount', 'status', 'reason', 'created'],
  'ON CONFLICT (id) DO NOTHING',
);
const MOVE_REFUND = 'UPDATE simulated_refunds SET status = ?2, reason = ?4 WHERE id = ?1 AND status = ?3';
const INSERT_CALLBACK = insertSql('simulated_callbacks', ['id', 'reference', 'body', 'status', 'attempts', 'due_at']);
const CLAIM_CALLBACK = `UPDATE simulated_callbacks SET attempts = ?2 + 1, due_at = ?3
  WHERE id = ?1 AND attempts = ?2 AND status = 'pending'`;
const FINISH_CALLBACK = `UPDATE simulated_callbacks SET status = ?3, due_at = ?4
  WHERE id = ?1 AND attempts = ?2 AND status = 'pending'`;

export const SELECT_SIMULATED = 'SELECT * FROM simulated_payments WHERE reference = ?1';
export const SELECT_SIMULATED_OF_PAYMENT = 'SELECT * FROM simulated_payments WHERE payment_id = ?1';
export const SELECT_SIMULATED_OF_SESSION =
  'SELECT * FROM simulated_payments WHERE session_id = ?1 ORDER BY created, reference';
export const SELECT_SIMULATED_REFUND = 'SELECT * FROM simulated_refunds WHERE id = ?1';
export const SELECT_CALLBACKS_DUE =
  "SELECT * FROM simulated_callbacks WHERE status = 'pending' AND due_at <= ?1 ORDER BY due_at, id LIMIT ?2";

export function insertSimulatedPayment(payment: SimulatedPayment): Write {
  return {
    sql: INSERT_PAYMENT,
    params: [
      payment.reference,
      payment.paymentId,
      payment.sessionId,
      payment.kind,
      payment.merchant,
      payment.product,
      payment.amount,
      payment.total,
      payment.returnUrl,
      payment.status,
      payment.reason,
      payment.txHash,
      payment.captured,
      payment.refunded,
      payment.created,
    ],
    guard: 'overtaken',
  };
}

export function moveSimulatedPayment(
  { reference, status, reason, captured }: SimulatedPayment,
  from: SimulatedPayment['status'],
): Write {
  return { sql: MOVE_PAYMENT, params: [reference, status, from, reason, captured], guard: 'overtaken' };
}

export function refundSimulatedPayment({ reference, status, refunded }: SimulatedPayment, before: number): Write {
  return { sql: REFUND_PAYMENT, params: [reference, status, refunded, before], guard: 'overtaken' };
}

export function insertSimulatedRefund({ id, reference, amount, status, reason, created }: SimulatedRefund): Write {
  return { sql: INSERT_REFUND, params: [id, reference, amount, status, reason, created], guard: 'overtaken' };
}

export function moveSimulatedRefund({ id, status, reason }: SimulatedRefund, from: SimulatedRefund['status']): Write {
  return { sql: MOVE_REFUND, params: [id, status, from, reason], guard: 'overtaken' };
}

export function insertCallback(callback: SimulatedCallback): Write {
  const { id, reference, body, status, attempts, dueAt } = callback;
  return { sql: INSERT_CALLBACK, params: [id, reference, body, status, attempts, dueAt] };
}

/** Begins the attempt `callback.attempts`; until `callback.dueAt` nobody else does. */
export function claimCallback({ id, attempts, dueAt }: SimulatedCallback): Write {
  return { sql: CLAIM_CALLBACK, params: [id, attempts - 1, dueAt], guard: 'overtaken' };
}

/** Records what became of the attempt `callback.attempts`. */
export function finishCallback({ id, status, attempts, dueAt }: SimulatedCallback): Write {
  return { sql: FINISH_CALLBACK, params: [id, attempts, status, dueAt], guard: 'overtaken' };
}

export function simulatedFromRow(row: Row): SimulatedPayment {
  return {
    reference: row['reference'] as string,
    paymentId: row['payment_id'] as string,
    sessionId: row['session_id'] as string,
    kind: row['kind'] as SimulatedPayment['kind'],
    merchant: row['merchant'] as string,
    product: row['product'] as string,
    amount: row['amount'] as number,
    total: row['total'] as number,
    returnUrl: row['return_url'] as string,
    status: row['status'] as SimulatedPayment['status'],
    reason: row['reason'] as string | null,
    txHash: row['tx_hash'] as string,
    captured: row['captured'] as number,
    refunded: row['refunded'] as number,
    created: row['created'] as number,
  };
}

export function simulatedRefundFromRow(row: Row): SimulatedRefund {
  return {
    id: row['id'] as string,
    reference: row['reference'] as string,
    amount: row['amount'] as number,
    status: row['status'] as SimulatedRefund['status'],
    reason: row['reason'] as string | null,
    created: row['created'] as number,
  };
}

export function callbackFromRow(row: Row): SimulatedCallback {
  return {
    id: row['id'] as string,
    reference: row['reference'] as string,
    body: row['body'] as string,
    status: row['status'] as SimulatedCallback['status'],
    attempts: row['attempts'] as number,
    dueAt: row['due_at'] as number,
  };
}
