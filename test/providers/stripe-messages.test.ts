import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { NO_DETAILS } from '../../src/domain/provider-report.ts';
import { declineOf, refundFailure, refundRefusal } from '../../src/providers/stripe-failures.ts';
import {
  STRIPE_EVENTS,
  amountOf,
  hintOf,
  paymentIdOf,
  paymentReport,
  payoutEntry,
  refundOutcome,
  refundIdOf,
  reversalReport,
  sessionParams,
} from '../../src/providers/stripe-messages.ts';
import { readEvent, readPayout, readRefund, readSession } from '../../src/providers/stripe-objects.ts';
import { faultOfStripe, stripeRoutes, stripeSettings } from '../../src/providers/stripe-settings.ts';
import { DAY, NOW, idOf } from '../fixtures/checkout-records.ts';
import { handoffOf, stripePayment } from './stripe-fixtures.ts';

type Fields = Record<string, unknown>;

const OURS = idOf('pay', 1);
const MOVEMENT = { id: 'txn_1', currency: 'usd', type: 'adjustment' };
const usd = (units: number) => ({ units: BigInt(units), currency: 'USD', exponent: 2 });

function aStripeSession(fields: Fields = {}, intent: Fields = {}) {
  const charge = { created: NOW / 1000, balance_transaction: { ...MOVEMENT, amount: 5024, fee: 176, net: 4848 } };
  return readSession({
    id: 'cs_test_1',
    object: 'checkout.session',
    livemode: false,
    status: 'open',
    payment_status: 'unpaid',
    created: NOW / 1000,
    amount_total: 5024,
    currency: 'usd',
    url: 'https://checkout.stripe.com/c/pay/cs_test_1',
    client_reference_id: OURS,
    payment_method_types: ['card'],
    metadata: { payment: OURS },
    payment_intent: { id: 'pi_1', status: 'requires_payment_method', latest_charge: charge, ...intent },
    ...fields,
  })!;
}

function aDispute(status: string, ...movements: [amount: number, fee: number][]) {
  return {
    id: 'dp_1',
    object: 'dispute' as const,
    livemode: false,
    status,
    currency: 'usd',
    reason: 'fraudulent',
    payment_intent: 'pi_1',
    balance_transactions: movements.map(([amount, fee]) => ({ ...MOVEMENT, amount, fee, net: amount - fee })),
  };
}

function anEvent(type: string, object: Fields) {
  return readEvent({ id: 'evt_1', object: 'event', type, livemode: false, data: { object } })!;
}

describe('payment reports from Stripe sessions', () => {
  const declined = {
    last_payment_error: { type: 'card_error', code: 'card_declined', decline_code: 'insufficient_funds' },
  };
  const decline = { code: 'insufficient_funds', source: 'buyer', reason: 'insufficient_funds' };

  test('an open session is reported as waiting for the buyer, with the last decline', () => {
    const { state, decline: found } = paymentReport(aStripeSession());
    assert.deepEqual([state, found], ['awaiting_buyer', null]);
    const retried = paymentReport(aStripeSession({}, declined));
    assert.deepEqual([retried.state, retried.decline], ['awaiting_buyer', decline]);
    assert.equal(paymentReport(aStripeSession({ payment_intent: null })).chargeReference, null);
  });

  test('an expired session is reported as failed by the buyer, or with the cause of the last decline', () => {
    const { state, decline: found } = paymentReport(aStripeSession({ status: 'expired' }));
    assert.deepEqual([state, found?.source, found?.code], ['failed', 'buyer', 'cancelled']);
    assert.deepEqual(paymentReport(aStripeSession({ status: 'expired' }, declined)).decline, decline);
  });

  test('the report of a paid session contains the total, the id of the PaymentIntent and the fee', () => {
    const paid = { status: 'complete', payment_status: 'paid' };
    assert.deepEqual(paymentReport(aStripeSession(paid, { status: 'succeeded', ...declined })), {
      ...NO_DETAILS,
      state: 'paid',
      received: usd(5024),
      chargeReference: 'pi_1',
      cost: usd(176),
    });
    const charge = { created: 1, balance_transaction: null };
    assert.equal(paymentReport(aStripeSession(paid, { latest_charge: charge })).cost, null);
    assert.equal(paymentReport(aStripeSession({ ...paid, payment_intent: 'pi_1' })).cost, null);
    const euro = {
      created: 1,
      balance_transaction: { ...MOVEMENT, currency: 'eur', amount: 4600, fee: 170, net: 4430 },
    };
    assert.equal(paymentReport(aStripeSession(paid, { latest_charge: euro })).cost?.currency, 'EUR');
  });

  test('the card of a paid and of a declined payment is reported, and nothing about it without a card', () => {
    const card = { country: 'DE', brand: 'visa', funding: 'debit' };
    const latest = (details: object) => ({ latest_charge: { created: 1, payment_method_details: details } });
    const paid = { status: 'complete', payment_status: 'paid' };
    const known = { country: 'DE', group: 'visa debit' };
    assert.deepEqual(paymentReport(aStripeSession(paid, latest({ card }))).card, known);
    assert.deepEqual(paymentReport(aStripeSession({}, { ...declined, ...latest({ card }) })).card, known);
    assert.equal(paymentReport(aStripeSession(paid, latest({ us_bank_account: {} }))).card, null);
    assert.equal(paymentReport(aStripeSession(paid)).card, null);
  });

  test('a paid session is reported although a field about its charge or about an earlier decline cannot be read', () => {
    const paid = { status: 'complete', payment_status: 'paid' };
    const charge = { created: 1, balance_transaction: { ...MOVEMENT, amount: 5024, fee: 176, net: 4848 } };
    for (const fields of [
      { last_payment_error: { type: 'card_error', code: 'card_declined', decline_code: 51 } },
      { last_payment_error: { type: 51 } },
      { latest_charge: { ...charge, failure_code: 7 } },
      { latest_charge: { ...charge, created: '12' } },
    ]) {
      const { state, received, cost } = paymentReport(aStripeSession(paid, { latest_charge: charge, ...fields }));
      assert.deepEqual([state, received, cost], ['paid', usd(5024), usd(176)], JSON.stringify(fields));
    }
    const unreadable = { ...charge, balance_transaction: { ...MOVEMENT, fee: '176' } };
    assert.equal(aStripeSession(paid, { latest_charge: unreadable }), undefined);
  });

  test('the result of a bank debit in progress is expected 10 days after its charge', () => {
    const report = paymentReport(aStripeSession({ status: 'complete' }, { status: 'processing' }));
    assert.deepEqual([report.state, report.expectedBy, report.received], ['processing', NOW + 10 * DAY, null]);
  });

  test('a returned bank debit is reported as failed, with the cause from Stripe', () => {
    for (const status of ['requires_payment_method', 'canceled']) {
      const last_payment_error = { type: 'card_error', code: 'account_closed' };
      const { state, decline } = paymentReport(aStripeSession({ status: 'complete' }, { status, last_payment_error }));
      assert.deepEqual([state, decline], ['failed', { code: 'declined', source: 'buyer', reason: 'account_closed' }]);
    }
  });

  test('a session with an unknown status counts as in progress, and never as paid', () => {
    for (const [status, payment_status, intent] of [
      ['complete', 'unpaid', 'new_status'],
      ['complete', 'no_payment_required', 'succeeded'],
      ['new_status', 'unpaid', 'succeeded'],
      ['complete', 'new_status', 'processing_2'],
    ]) {
      const { state, received } = paymentReport(aStripeSession({ status, payment_status }, { status: intent }));
      assert.deepEqual([state, received], ['processing', null]);
    }
  });

  test('`readSession` returns undefined if a required field is missing', () => {
    for (const field of ['id', 'object', 'livemode', 'status', 'payment_status', 'amount_total', 'currency']) {
      assert.equal(readSession({ ...aStripeSession(), [field]: undefined }), undefined, field);
    }
    assert.equal(readSession({}), undefined);
  });

  test('a session belongs to this service only if its metadata and its reference contain the same payment id', () => {
    assert.equal(paymentIdOf(aStripeSession()), OURS);
    const others = [
      { metadata: {} },
      { metadata: null },
      { metadata: { payment: 'order 1' } },
      { client_reference_id: null },
      { client_reference_id: idOf('pay', 2) },
      { client_reference_id: 'chk_1', metadata: { payment: 'chk_1' } },
    ];
    for (const fields of others) assert.equal(paymentIdOf(aStripeSession(fields)), undefined, JSON.stringify(fields));
  });
});

test('each decline has a code and a responsible party; an unknown code counts against the route', () => {
  const expected: [code: string, declineCode: string | null, result: string][] = [
    ['card_declined', 'insufficient_funds', 'insufficient_funds buyer'],
    ['incorrect_cvc', null, 'incorrect_cvc buyer'],
    ['expired_card', 'expired_card', 'expired_card buyer'],
    ['authentication_required', null, 'authentication_failed buyer'],
    ['payment_method_customer_decline', null, 'cancelled buyer'],
    ['card_declined', 'generic_decline', 'declined issuer'],
    ['card_declined', 'a_new_code', 'declined issuer'],
    ['card_declined', 'issuer_not_available', 'issuer_unavailable issuer'],
    ['card_declined', 'processing_error', 'processing_error route'],
    ['a_new_code', null, 'declined route'],
  ];
  for (const [code, declineCode, result] of expected) {
    const failure = declineOf({ type: 'card_error', code, decline_code: declineCode }, null);
    assert.equal(`${failure.code} ${failure.source}`, result, code);
    assert.equal(failure.reason, declineCode ?? code);
  }
  assert.deepEqual(declineOf({ type: 'api_error' }, null), { code: 'declined', source: 'route', reason: 'api_error' });
  const attempt = { type: 'card_error', code: 'payment_intent_payment_attempt_failed' };
  const debit = { code: 'insufficient_funds', source: 'buyer', reason: 'insufficient_funds' };
  assert.deepEqual(declineOf(attempt, 'insufficient_funds'), debit);
});

describe('refunds', () => {
  const refund = { id: 're_1', object: 'refund', status: 'succeeded', amount: 1, currency: 'usd', metadata: {} };
  const read = (fields: Fields) => readRefund({ ...refund, ...fields })!;

  test('a refund counts as pending in every status except succeeded, failed and canceled', () => {
    const statuses = {
      succeeded: 'succeeded',
      failed: 'failed',
      canceled: 'failed',
      pending: 'pending',
      requires_action: 'pending',
      later: 'pending',
    };
    for (const [status, expected] of Object.entries(statuses))
      assert.equal(refundOutcome(read({ status })).status, expected);
    assert.equal(refundOutcome(read({ status: null })).status, 'pending');
  });

  test('a refund with a balance transaction is reported as deducted', () => {
    const deducted = (balance_transaction: unknown) => refundOutcome(read({ balance_transaction })).deducted;
    assert.deepEqual(['txn_1', null, undefined].map(deducted), [true, false, false]);
  });

  test('a failed refund has a reason; a refund without a refund id of this service in its metadata has the id null', () => {
    assert.equal(
      refundOutcome(read({ status: 'failed', failure_reason: 'new_reason' })).reason,
      'Stripe reports new_reason',
    );
    assert.equal(refundFailure(null), 'Stripe gives no reason');
    assert.equal(refundIdOf(read({ metadata: { refund: idOf('ref', 1) } })), idOf('ref', 1));
    for (const metadata of [{}, null, { refund: 'mine' }, { refund: OURS }])
      assert.equal(refundIdOf(read({ metadata })), null);
  });

  test('a refund request fails only if Stripe rejects it for a final reason', () => {
    const answer = (fields: Fields) => ({ error: { type: 'invalid_request_error', ...fields } });
    assert.match(refundRefusal(400, answer({ code: 'charge_already_refunded' }))!, /already/);
    assert.match(refundRefusal(400, answer({ param: 'amount' }))!, /exceeds/);
    assert.equal(refundRefusal(400, answer({ code: 'balance_insufficient' })), undefined);
    assert.equal(refundRefusal(500, answer({ code: 'charge_disputed' })), undefined);
    assert.equal(refundRefusal(400, undefined), undefined);
  });
});

test('the report of a dispute sums its balance transactions, and its revision grows with each transaction', () => {
  const rows: [ReturnType<typeof aDispute>, status: string, taken: number, fee: number, revision: number][] = [
    [aDispute('needs_response'), 'open', 0, 0, 0],
    [aDispute('warning_needs_response'), 'open', 0, 0, 0],
    [aDispute('needs_response', [-5024, 1500]), 'open', 5024, 1500, 2],
    [aDispute('won', [-5024, 1500]), 'won', 5024, 1500, 3],
    [aDispute('won', [-5024, 1500], [5024, 0]), 'won', 0, 1500, 5],
    [aDispute('won', [-5024, 1500], [5024, -1500]), 'won', 0, 0, 5],
    [aDispute('under_review', [-5024, 1500], [5024, 0], [-5024, 0]), 'open', 5024, 1500, 6],
    [aDispute('lost', [-5024, 1500]), 'lost', 5024, 1500, 3],
    [aDispute('warning_closed'), 'won', 0, 0, 1],
    [aDispute('prevented'), 'won', 0, 0, 1],
    [aDispute('a_new_status', [-1, 0]), 'open', 1, 0, 2],
  ];
  for (const [dispute, status, taken, fee, revision] of rows) {
    const expected = { reference: 'dp_1', status, revision, taken: usd(taken), fee: usd(fee), reason: 'fraudulent' };
    assert.deepEqual(reversalReport(dispute), expected, JSON.stringify(dispute));
  }
});

test('each entry of a payout has the PaymentIntent of its balance transaction', () => {
  const payout = readPayout({
    id: 'po_1',
    object: 'payout',
    livemode: false,
    automatic: true,
    status: 'paid',
    arrival_date: 86_400,
  })!;
  const charge = { ...MOVEMENT, type: 'charge', amount: 5024, fee: 176, net: 4848, source: { payment_intent: 'pi_1' } };
  const moved = { id: 'txn_1', net: usd(4848), isCharge: true };
  const entry = { payout: 'po_1', settledAt: DAY, amount: null, moved };
  assert.deepEqual(payoutEntry(charge, payout), { reference: 'pi_1', entry });
  assert.equal(payoutEntry({ ...charge, type: 'payment' }, payout)?.entry.moved?.isCharge, true);
  assert.equal(payoutEntry({ ...charge, type: 'refund' }, payout)?.entry.moved?.isCharge, false);
  for (const source of ['po_1', null, {}, { payment_intent: null }]) {
    assert.equal(payoutEntry({ ...charge, source }, payout), undefined);
  }
});

test('every subscribed event gives a hint about its object, and every other event gives no hint', () => {
  const object = { id: 'object_1', client_reference_id: OURS, metadata: { payment: OURS } };
  for (const type of STRIPE_EVENTS) assert.equal(hintOf(anEvent(type, object))?.id, 'object_1', type);
  const about = (type: string) => hintOf(anEvent(type, object))?.about;
  assert.equal(about('checkout.session.completed'), 'payment');
  assert.equal(about('refund.failed'), 'refund');
  assert.equal(about('charge.dispute.closed'), 'reversal');
  assert.equal(about('payout.paid'), 'payout');
  for (const type of ['payment_intent.payment_failed', 'charge.succeeded', 'toString', ''])
    assert.equal(about(type), undefined);
  assert.equal(hintOf(anEvent('checkout.session.completed', { id: 'cs_1', metadata: {} })), undefined);
  assert.equal(hintOf(anEvent('payout.paid', {})), undefined);
});

describe('parameters of a Checkout Session', () => {
  const settings = { buyerWindowMinutes: 60, adaptivePricing: false };

  test('parameters of a Checkout Session depend only on the stored payment, and the line items add up to its total', () => {
    const params = sessionParams(handoffOf(stripePayment()), settings)!;
    assert.deepEqual(params, sessionParams(handoffOf(stripePayment()), settings));
    assert.equal(params.expires_at, NOW / 1000 + 3600);
    assert.deepEqual(
      params.line_items.map(({ price_data }) => price_data.unit_amount),
      [4999, 25],
    );
    const free = stripePayment({ fees: { buyerFee: 0, gatewayFee: 145, merchantNet: 4854, total: 4999 } });
    assert.equal(sessionParams(handoffOf(free), settings)!.line_items.length, 1);
  });

  test('session parameters allow the payment method of the network, and are undefined for a network that Stripe does not serve', () => {
    const methodOf = (network: string) =>
      sessionParams(handoffOf(stripePayment({}, network)), settings)?.allowed_payment_method_types;
    assert.deepEqual(methodOf('ach'), ['us_bank_account']);
    assert.deepEqual(methodOf('stripe_crypto'), ['crypto']);
    for (const network of ['base', 'constructor']) assert.equal(methodOf(network), undefined);
  });
});

describe('settings of the Stripe adapter', () => {
  const valid = { secretKey: 'sk_test_1', webhookSecrets: ['whsec_1'] };
  const faultOf = (environment: 'sandbox' | 'production', fields: Fields) =>
    faultOfStripe(environment, stripeSettings.parse({ ...valid, ...fields }));

  test('the Stripe settings require a secret key and a webhook secret, and reject unknown fields and values out of range', () => {
    assert.deepEqual(stripeSettings.parse(valid), { ...valid, buyerWindowMinutes: 60, adaptivePricing: false });
    const faults = [
      { secretKey: 'pk_test_1' },
      { webhookSecrets: [] },
      { webhookSecrets: ['secret'] },
      { account: 'mine' },
      { extra: 1 },
    ];
    for (const fields of [
      ...faults,
      { buyerWindowMinutes: 39 },
      { buyerWindowMinutes: 1431 },
      { apiBase: 'ftp://127.0.0.1' },
    ]) {
      const { error } = stripeSettings.safeParse({ ...valid, ...fields });
      assert.ok(error, JSON.stringify(fields));
      assert.ok(!error.message.includes('pk_test_1'));
    }
  });

  test('a Stripe key is valid in one environment, and `apiBase` only in sandbox and only for this machine', () => {
    assert.equal(faultOf('sandbox', {}), undefined);
    assert.equal(faultOf('production', { secretKey: 'rk_live_1' }), undefined);
    assert.match(faultOf('sandbox', { secretKey: 'sk_live_1' })!, /^secretKey .*sk_test_/);
    assert.match(faultOf('production', {})!, /^secretKey .*sk_live_/);
    for (const apiBase of ['http://127.0.0.1:4010', 'http://localhost:1', 'http://[::1]:1']) {
      assert.equal(faultOf('sandbox', { apiBase }), undefined);
    }
    for (const apiBase of ['https://api.stripe.com', 'http://10.0.0.1', 'http://127.0.0.1/v1', 'http://a@127.0.0.1']) {
      assert.match(faultOf('sandbox', { apiBase })!, /^apiBase/);
    }
    assert.match(faultOf('production', { secretKey: 'sk_live_1', apiBase: 'http://127.0.0.1:1' })!, /^apiBase/);
  });

  test('a Stripe instance has four default routes, whose ids contain the id of the instance', () => {
    const ids = stripeRoutes('stripe_test', 'sandbox').map(({ id }) => id);
    assert.deepEqual(ids, [
      'card_stripe_test',
      'wallet_stripe_test_cashapp',
      'wallet_stripe_test_stablecoin',
      'local_stripe_test_ach',
    ]);
    assert.equal(stripeRoutes('stripe', 'production')[0]?.id, 'card_stripe');
  });
});

test('`amountOf` uses the minor unit of the currency', () => {
  assert.deepEqual(amountOf(1999, 'usd'), usd(1999));
  assert.equal(amountOf(1999, 'jpy').exponent, 0);
  assert.equal(amountOf(1999, 'kwd').exponent, 3);
});
