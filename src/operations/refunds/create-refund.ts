import { hash } from 'node:crypto';
import type { RefundRequestBody } from '../../contract/refund-contract.ts';
import { GatewayError, idempotencyConflict, invalidField } from '../../domain/gateway-error.ts';
import { type Cents, amountFromCents, usd } from '../../domain/money.ts';
import type { Checkout, Instant } from '../../domain/records.ts';
import { type Effect, unchanged } from '../../domain/checkout-state.ts';
import { requestRefund } from '../../domain/refund-decisions.ts';
import { type Refund, type RefundOrder, leftOf, paidAmount } from '../../domain/refund-record.ts';
import { assertCan } from '../access/caller.ts';
import { assertRefundLimit, refundSpendingOf } from '../access/spend-limit.ts';
import { centsOf } from '../cents-of.ts';
import { commitDecision } from '../commit-decision.ts';
import type { Deps } from '../deps.ts';
import { getPayment } from '../read-records.ts';

/**
 * Refunds a part of a payment, or all of it: the refund, the new totals of the payment, the posting and the task for the
 * provider commit together. `id` may be a session's. Throws GatewayError `not_found`; `invalid_state` if the payment is
 * not paid or is fully refunded; `invalid_input` for an amount above the rest; `idempotency_conflict` for a key that
 * another request used; `forbidden` without the permission; `spend_limit_exceeded` above the limit of role support. `replayed` if an earlier request with the same key created the refund.
 * With `shownLeft`, the amount that a person saw as refundable, a new refund also throws `invalid_state` if another amount is left.
 */
export async function createRefund(
  deps: Deps,
  id: string,
  body: RefundRequestBody,
  shownLeft?: Cents,
): Promise<{ refund: Refund; replayed: boolean }> {
  assertCan(deps, 'refund.create');
  const payment = await getPayment(deps, id);
  const amount = body.amount === undefined ? null : centsOf(body.amount);
  const order: RefundOrder = {
    refundId: deps.newId('ref'),
    paymentId: payment.id,
    amount,
    reason: body.reason ?? null,
    idempotencyKey: body.idempotencyKey ?? null,
    requestHash: body.idempotencyKey === undefined ? null : hashOf(payment.id, amount, body),
  };
  let first: Refund | undefined;
  const decide = async (current: Checkout, now: Instant) => {
    const { idempotencyKey: key } = order;
    first = key === null ? undefined : await deps.store.refundByIdempotencyKey(payment.environment, key);
    if (first) return unchanged(current, 'replayed' as const);
    const { total: left } = leftOf(current.payments.find((one) => one.id === payment.id)!);
    if (shownLeft !== undefined && left !== shownLeft) throw changedSinceShown(left, shownLeft);
    const decision = requestRefund(current, order, now);
    const requested = requestedBy(decision.effects);
    if (requested) await assertRefundLimit(deps, requested);
    return decision;
  };
  const spending = ({ effects }: { effects: Effect[] }) => {
    const requested = requestedBy(effects);
    return requested ? refundSpendingOf(deps, requested) : [];
  };
  const { outcome, checkout, effects } = await commitDecision(deps, payment.sessionId, decide, spending);
  if (first) return { refund: replay(first, order), replayed: true };
  if (outcome !== 'requested') throw refusal(outcome, checkout, order);
  return { refund: requestedBy(effects)!, replayed: false };
}

function requestedBy(effects: readonly Effect[]): Refund | undefined {
  return effects.find((effect) => effect.type === 'refund_requested')?.refund;
}

function changedSinceShown(left: Cents, shown: Cents): GatewayError {
  const message = `The payment has changed since the form was opened: ${usd(left)} can be refunded now, not ${usd(shown)}.`;
  return new GatewayError('invalid_state', message, {
    suggestion: 'Check whether somebody else has made this refund. If not, send the form again. Nothing was refunded.',
  });
}

/** The answer to the first request. It does not show later changes of the refund; a GET shows them. */
function replay(first: Refund, order: RefundOrder): Refund {
  if (first.requestHash === order.requestHash) {
    return { ...first, status: 'pending', failureReason: null, updated: first.created };
  }
  throw idempotencyConflict(
    'This idempotencyKey was used for another refund.',
    'was used for another refund',
    'Resend the first body to the first payment to get its refund again, or set idempotencyKey to a new key.',
  );
}

function refusal(outcome: string, { payments }: Checkout, order: RefundOrder): GatewayError {
  const id = order.paymentId;
  const payment = payments.find((one) => one.id === id)!;
  switch (outcome) {
    case 'not_paid':
      return new GatewayError('invalid_state', `Payment ${id} is ${payment.status}: only a paid one is refunded.`, {
        suggestion: 'Read the payment, and refund it once its status is paid.',
      });
    case 'nothing_left': {
      const { refunded, refundPending, reversed } = payment;
      const disputed = reversed > 0 ? ` and ${usd(reversed)} is disputed` : '';
      const gone = `${usd(refunded)} is refunded and ${usd(refundPending)} is pending${disputed}`;
      const message = `Nothing of payment ${id} is left to refund: ${gone}, of ${usd(paidAmount(payment))}.`;
      const answer = 'Answer the dispute at the provider: if you win it, the money can be refunded again.';
      return new GatewayError('invalid_state', message, {
        suggestion:
          reversed > 0
            ? answer
            : `List what was refunded, with tillway refunds list --payment-id ${id} or GET /api/gateway/payments/${id}/refunds.`,
      });
    }
    case 'too_much': {
      const { total } = leftOf(payment);
      const advice = `Set amount to at most ${amountFromCents(total)}, or leave it out to refund all that is left.`;
      return invalidField('amount', 'too_big', `is more than the ${usd(total)} that is left of the payment`, advice);
    }
    default:
      return new GatewayError('unavailable', 'The payment is changing too fast; try again.');
  }
}

function hashOf(paymentId: string, amount: Cents | null, { reason }: RefundRequestBody): string {
  return hash('sha256', JSON.stringify([paymentId, amount, reason ?? null]), 'base64url');
}
