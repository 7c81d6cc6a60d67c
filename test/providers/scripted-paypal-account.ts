import { randomInt } from 'node:crypto';
import type { Reply } from './scripted-party.ts';
import { type Issue, missing, unprocessable } from './scripted-paypal-errors.ts';
import {
  type Capture,
  type Dispute,
  type FundMovement,
  type Order,
  type Refund,
  type Resources,
  type World,
  centsOf,
  isWaiting,
  refundedCents,
} from './scripted-paypal-objects.ts';

// The account of the scripted PayPal: its objects, the actions of buyer, bank and PayPal, and the operations of the API.

/** Result of a capture request: a capture with this status, or a 422 without a capture. */
export type CaptureOutcome =
  | 'complete'
  /** PENDING: the buyer pays by e-check. */
  | 'pending'
  /** PENDING: PayPal reviews the payment. */
  | 'review'
  /** DECLINED, with a COMPLETED order. */
  | 'declined'
  /** INSTRUMENT_DECLINED: the buyer may choose another instrument. */
  | 'decline'
  /** PAYER_ACTION_REQUIRED: the buyer must return to PayPal. */
  | 'payer_action'
  | 'compliance'
  | 'restricted'
  | 'refused';

/** Reply with the current state of its object, for requests that repeat it. */
export interface Made extends Reply {
  latest?: () => object;
}

/** Request bodies, as far as the server reads them. */
export interface Json {
  purchase_units?: { custom_id?: string; description?: string; amount?: Amount }[];
  payment_source?: { paypal?: { experience_context?: Record<string, string> } };
  amount?: Amount;
  custom_id?: string;
}
interface Amount {
  currency_code?: string;
  value?: string;
}

export const EVENT_TYPES = [
  'CHECKOUT.ORDER.APPROVED',
  'CHECKOUT.PAYMENT-APPROVAL.REVERSED',
  'PAYMENT.CAPTURE.COMPLETED',
  'PAYMENT.CAPTURE.DECLINED',
  'PAYMENT.CAPTURE.PENDING',
  'PAYMENT.CAPTURE.REFUNDED',
  'PAYMENT.CAPTURE.REVERSED',
  'PAYMENT.REFUND.FAILED',
  'PAYMENT.REFUND.PENDING',
  'CUSTOMER.DISPUTE.CREATED',
  'CUSTOMER.DISPUTE.RESOLVED',
  'CUSTOMER.DISPUTE.UPDATED',
] as const;
export type EventType = (typeof EVENT_TYPES)[number];

const DECLINES: Partial<Record<CaptureOutcome, Issue>> = {
  decline: 'INSTRUMENT_DECLINED',
  payer_action: 'PAYER_ACTION_REQUIRED',
  compliance: 'COMPLIANCE_VIOLATION',
  restricted: 'PAYEE_ACCOUNT_RESTRICTED',
  refused: 'TRANSACTION_REFUSED',
};

const DISPUTE_FEE = 1500;

interface AccountOptions {
  world: World;
  resources: Resources;
  now: () => number;
  newId: () => string;
  emit: (type: EventType, resourceType: string, resource: object) => void;
}

/** Creates an account without payments. */
export function createAccount({ world, resources, now, newId, emit }: AccountOptions) {
  const { link, orderOf, captureAlone, refundOf, disputeSummary } = resources;

  const account = {
    world,
    /** Result of the next capture; the captures after it complete. */
    nextCapture: 'complete' as CaptureOutcome,
    /** True if an order stays APPROVED after INSTRUMENT_DECLINED. */
    keepsApproval: false,
    /** Status of all refunds to come. */
    nextRefundStatus: 'COMPLETED' as 'COMPLETED' | 'PENDING',
    /** Issue of the 422 that refuses all refunds to come. */
    refundIssue: undefined as Issue | undefined,
    feeRate: 0.0349,
    feeFixedCents: 49,
    /** The buyer approves the payment of an order. */
    approve(orderId: string): void {
      const order = waitingOrder(orderId);
      change(order, { status: 'APPROVED' });
      emit('CHECKOUT.ORDER.APPROVED', 'checkout-order', orderOf(order));
    },
    /** PayPal voids an order without a capture; an approved order is announced as reversed. */
    voidOrder(orderId: string): void {
      const order = orderById(orderId);
      if (order.status === 'COMPLETED') throw new Error(`${orderId} is captured`);
      const wasApproved = order.status === 'APPROVED';
      change(order, { status: 'VOIDED' });
      const { purchase_units } = orderOf(order);
      const reversed = { order_id: orderId, purchase_units, payment_source: { paypal: {} } };
      if (wasApproved) emit('CHECKOUT.PAYMENT-APPROVAL.REVERSED', 'checkout-order', reversed);
    },
    /** PayPal forgets an order that the buyer has not paid. */
    expireOrder(orderId: string): void {
      if (orderById(orderId).status === 'COMPLETED') throw new Error(`${orderId} is captured`);
      world.orders.delete(orderId);
    },
    /** The bank pays or returns an e-check, or PayPal ends its review. */
    finishPending(captureId: string, status: 'COMPLETED' | 'DECLINED'): void {
      const capture = world.captures.get(captureId)!;
      if (capture.status !== 'PENDING') throw new Error(`${captureId} is not pending`);
      change(capture, { status, reason: undefined });
      if (status === 'COMPLETED') bookCapture(capture);
      emit(`PAYMENT.CAPTURE.${status}`, 'capture', captureAlone(capture));
    },
    /** A pending refund arrives, or fails and the money returns to the balance. */
    finishRefund(refundId: string, status: 'COMPLETED' | 'FAILED'): void {
      const refund = world.refunds.get(refundId)!;
      if (refund.status !== 'PENDING') throw new Error(`${refundId} is not pending`);
      change(refund, { status });
      if (status === 'FAILED') move(refund.cents, 'failed refund', refundId);
      emit(status === 'FAILED' ? 'PAYMENT.REFUND.FAILED' : 'PAYMENT.CAPTURE.REFUNDED', 'refund', refundOf(refund));
    },
    refundInDashboard: (captureId: string, cents: number): Refund => makeRefund(captureId, cents),
    /** The buyer or the bank opens a dispute; the money is not withdrawn yet. */
    openDispute(captureId: string, about: Partial<Pick<Dispute, 'cents' | 'reason' | 'stage'>> = {}): Dispute {
      const { cents } = world.captures.get(captureId)!;
      const dispute: Dispute = {
        id: `PP-D-${randomInt(10_000, 99_999)}${world.disputes.size}`,
        captureId,
        status: about.stage === 'CHARGEBACK' ? 'WAITING_FOR_SELLER_RESPONSE' : 'OPEN',
        reason: 'MERCHANDISE_OR_SERVICE_NOT_RECEIVED',
        stage: 'INQUIRY',
        cents: cents - refundedCents(world, captureId),
        movements: [],
        outcome: undefined,
        created: now(),
        updated: now(),
        ...about,
      };
      world.disputes.set(dispute.id, dispute);
      emit('CUSTOMER.DISPUTE.CREATED', 'dispute', disputeSummary(dispute));
      return dispute;
    },
    /** PayPal withdraws the disputed amount and its dispute fee from the balance. */
    takeDispute(disputeId: string, { feeCents = DISPUTE_FEE } = {}): void {
      const dispute = world.disputes.get(disputeId)!;
      change(dispute, { status: 'UNDER_REVIEW', stage: 'CHARGEBACK' });
      moveDispute(dispute, { cents: dispute.cents, type: 'DEBIT', reason: 'DISPUTE_SETTLEMENT' });
      if (feeCents > 0) moveDispute(dispute, { cents: feeCents, type: 'DEBIT', reason: 'DISPUTE_FEE' });
      emit('CUSTOMER.DISPUTE.UPDATED', 'dispute', disputeSummary(dispute));
    },
    /**
     * PayPal decides the dispute for the buyer or the seller, or the buyer cancels it. The buyer gets the amount unless it was
     * taken before; the seller gets an amount back that was taken. `returnsFee` returns the fee too, and `announcesReversal`
     * also announces a dispute lost as PAYMENT.CAPTURE.REVERSED, which moves no more money.
     */
    closeDispute(
      disputeId: string,
      winner: 'buyer' | 'seller' | 'cancelled',
      { returnsFee = false, announcesReversal = false } = {},
    ): void {
      const dispute = world.disputes.get(disputeId)!;
      const taken = (reason: FundMovement['reason']) => dispute.movements.find((each) => each.reason === reason);
      const [settlement, fee] = [taken('DISPUTE_SETTLEMENT'), taken('DISPUTE_FEE')];
      const outcomes = {
        buyer: 'RESOLVED_BUYER_FAVOUR',
        seller: 'RESOLVED_SELLER_FAVOUR',
        cancelled: 'CANCELED_BY_BUYER',
      } as const;
      change(dispute, { status: 'RESOLVED', outcome: outcomes[winner] });
      const { cents } = dispute;
      if (winner === 'buyer' && !settlement) {
        moveDispute(dispute, { cents, type: 'DEBIT', reason: 'DISPUTE_SETTLEMENT' });
      }
      if (winner !== 'buyer' && settlement) {
        moveDispute(dispute, { cents, type: 'CREDIT', reason: 'DISPUTE_SETTLEMENT' });
        if (fee && returnsFee) moveDispute(dispute, { cents: fee.cents, type: 'CREDIT', reason: 'DISPUTE_FEE' });
      }
      emit('CUSTOMER.DISPUTE.RESOLVED', 'dispute', disputeSummary(dispute));
      if (winner === 'buyer' && announcesReversal) reverse(dispute.captureId, cents);
    },
    /** The bank takes the money of a capture back without a dispute. */
    reverseCapture(captureId: string): Refund {
      const cents = world.captures.get(captureId)!.cents - refundedCents(world, captureId);
      move(-cents, 'reversal', captureId);
      return reverse(captureId, cents);
    },
    /** Balance of the PayPal account in cents. */
    balance: (): number => world.movements.reduce((sum, { cents }) => sum + cents, 0),

    createOrder,
    captureOrder,
    createRefund,
  };

  function change<Found extends { updated: number }>(object: Found, fields: Partial<Found>): void {
    Object.assign(object, fields, { updated: now() });
  }

  function orderById(orderId: string): Order {
    const order = world.orders.get(orderId);
    if (!order) throw new Error(`${orderId} does not exist`);
    return order;
  }

  function waitingOrder(orderId: string): Order {
    const order = orderById(orderId);
    if (!isWaiting(order)) throw new Error(`${orderId} is ${order.status}`);
    return order;
  }

  function move(cents: number, about: string, source: string): void {
    world.movements.push({ cents, about, source });
  }

  function moveDispute(dispute: Dispute, movement: Omit<FundMovement, 'time'>): void {
    dispute.movements.push({ ...movement, time: now() });
    move(movement.type === 'DEBIT' ? -movement.cents : movement.cents, movement.reason, dispute.id);
  }

  function bookCapture(capture: Capture): void {
    capture.feeCents = Math.round(capture.cents * account.feeRate) + account.feeFixedCents;
    move(capture.cents - capture.feeCents, 'capture', capture.id);
  }

  function addRefund(captureId: string, about: Pick<Refund, 'cents' | 'status'> & Partial<Refund>): Refund {
    const times = { created: now(), updated: now() };
    const refund: Refund = { id: newId(), captureId, customId: undefined, note: undefined, ...times, ...about };
    world.refunds.set(refund.id, refund);
    change(world.captures.get(captureId)!, {});
    return refund;
  }

  function makeRefund(captureId: string, cents: number, customId?: string): Refund {
    const refund = addRefund(captureId, { cents, customId, status: account.nextRefundStatus });
    move(-cents, 'refund', refund.id);
    const type = refund.status === 'PENDING' ? 'PAYMENT.REFUND.PENDING' : 'PAYMENT.CAPTURE.REFUNDED';
    emit(type, 'refund', refundOf(refund));
    return refund;
  }

  function reverse(captureId: string, cents: number): Refund {
    const refund = addRefund(captureId, { cents, status: 'COMPLETED', note: 'Payment reversed' });
    emit('PAYMENT.CAPTURE.REVERSED', 'refund', refundOf(refund));
    return refund;
  }

  /** The answer to a request that creates or captures an order: all fields, or a few without `Prefer`. */
  function orderMade(status: number, order: Order, isFull: boolean): Made {
    const representation = (): object => {
      const { id, status, payment_source, links, purchase_units } = orderOf(order);
      const units = status === 'COMPLETED' && { purchase_units };
      return isFull ? orderOf(order) : { id, status, ...(payment_source && { payment_source }), ...units, links };
    };
    return { status, body: structuredClone(representation()), latest: representation };
  }

  function createOrder(json: Json, isFull: boolean): Made {
    const [unit] = json.purchase_units ?? [];
    const cents = centsOf(unit?.amount?.value ?? '');
    if (!unit || cents === undefined) return unprocessable('DECIMAL_PRECISION');
    if (cents === 0) return unprocessable('CANNOT_BE_ZERO_OR_NEGATIVE');
    const context = json.payment_source?.paypal?.experience_context ?? {};
    const order: Order = {
      id: newId(),
      status: json.payment_source?.paypal ? 'PAYER_ACTION_REQUIRED' : 'CREATED',
      cents,
      currency: unit.amount!.currency_code!,
      customId: unit.custom_id,
      description: unit.description,
      brandName: context['brand_name'] ?? '',
      returnUrl: context['return_url'] ?? '',
      cancelUrl: context['cancel_url'] ?? '',
      hasSource: json.payment_source?.paypal !== undefined,
      captureId: undefined,
      created: now(),
      updated: now(),
    };
    world.orders.set(order.id, order);
    return orderMade(201, order, isFull);
  }

  function captureOrder(orderId: string, isFull: boolean): Made {
    const order = world.orders.get(orderId);
    if (!order) return missing();
    if (order.status === 'COMPLETED') return unprocessable('ORDER_ALREADY_CAPTURED');
    if (order.status !== 'APPROVED') return unprocessable('ORDER_NOT_APPROVED');
    const outcome = account.nextCapture;
    account.nextCapture = 'complete';
    const issue = DECLINES[outcome];
    if (issue !== undefined) {
      const needsPayer = issue === 'INSTRUMENT_DECLINED' || issue === 'PAYER_ACTION_REQUIRED';
      if (needsPayer && !account.keepsApproval) change(order, { status: 'PAYER_ACTION_REQUIRED' });
      return unprocessable(issue, needsPayer ? [link('redirect', `/checkoutnow?token=${orderId}`)] : []);
    }
    const { cents } = order;
    const status = outcome === 'complete' ? 'COMPLETED' : outcome === 'declined' ? 'DECLINED' : 'PENDING';
    const reason = outcome === 'pending' ? 'ECHECK' : outcome === 'review' ? 'PENDING_REVIEW' : undefined;
    const times = { created: now(), updated: now() };
    const capture: Capture = { id: newId(), orderId, status, reason, cents, feeCents: 0, ...times };
    world.captures.set(capture.id, capture);
    change(order, { status: 'COMPLETED', captureId: capture.id });
    if (status === 'COMPLETED') bookCapture(capture);
    emit(`PAYMENT.CAPTURE.${status}`, 'capture', captureAlone(capture));
    return orderMade(201, order, isFull);
  }

  /** The reason why a capture cannot be refunded by this amount. */
  function refundIssueOf(capture: Capture, cents: number, currency: string): Issue | undefined {
    const left = capture.cents - refundedCents(world, capture.id);
    const disputes = [...world.disputes.values()].filter((each) => each.captureId === capture.id);
    const dispute = disputes.find(({ status }) => status !== 'RESOLVED');
    const isLost = disputes.some(({ outcome }) => outcome === 'RESOLVED_BUYER_FAVOUR');
    if (account.refundIssue !== undefined) return account.refundIssue;
    if (currency !== orderById(capture.orderId).currency) return 'REFUND_CAPTURE_CURRENCY_MISMATCH';
    if (capture.status === 'PENDING') return 'PENDING_CAPTURE';
    if (capture.status !== 'COMPLETED') return 'REFUND_NOT_ALLOWED';
    if (left <= 0) return 'CAPTURE_FULLY_REFUNDED';
    if (isLost || dispute?.stage === 'CHARGEBACK') return 'REFUND_NOT_PERMITTED_DUE_TO_CHARGEBACK';
    if (cents > left) return 'REFUND_AMOUNT_EXCEEDED';
    return dispute && cents < capture.cents ? 'TRANSACTION_DISPUTED' : undefined;
  }

  function createRefund(captureId: string, json: Json, isFull: boolean): Made {
    const capture = world.captures.get(captureId);
    if (!capture) return missing();
    const left = capture.cents - refundedCents(world, captureId);
    const cents = json.amount ? centsOf(json.amount.value ?? '') : left;
    if (cents === undefined) return unprocessable('DECIMAL_PRECISION');
    if (cents === 0 && json.amount) return unprocessable('CANNOT_BE_ZERO_OR_NEGATIVE');
    const issue = refundIssueOf(capture, cents, json.amount?.currency_code ?? orderById(capture.orderId).currency);
    if (issue !== undefined) return unprocessable(issue);
    const refund = makeRefund(captureId, cents, json.custom_id);
    const representation = (): object => {
      const { id, status, links } = refundOf(refund);
      return isFull ? refundOf(refund) : { id, status, links };
    };
    return { status: 201, body: structuredClone(representation()), latest: representation };
  }

  return account;
}
