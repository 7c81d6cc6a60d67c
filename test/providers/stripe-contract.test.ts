import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Stripe } from 'stripe';
import { formOf, refundParams, sessionParams } from '../../src/providers/stripe-messages.ts';
import { STRIPE_NETWORKS } from '../../src/providers/stripe-settings.ts';
import { idOf } from '../fixtures/checkout-records.ts';
import { type ContractRequest, judgeRequest, readForm } from './contract-server.ts';
import { handoffOf, paidPayment, startStripeWorld, stripePayment } from './stripe-fixtures.ts';
import { changed, pathsOf } from './twins.ts';

type Form = Parameters<typeof formOf>[0];

/** Negative twin: a valid request with one change that makes it invalid. The contract must reject it. */
interface Twin {
  name: string;
  request: ContractRequest;
}

const HEADERS = {
  authorization: 'Bearer sk_test_key',
  'stripe-version': Stripe.API_VERSION,
  'content-type': 'application/x-www-form-urlencoded',
  'idempotency-key': 'key',
};
const settings = { buyerWindowMinutes: 60, adaptivePricing: false };
const refundRequest = { refundId: idOf('ref', 1), payment: stripePayment(), amount: 100, reference: null, created: 0 };

/** The literal members of a union type of Stripe's SDK, without the member `string`. */
type Known<Union> = Union extends string ? (string extends Union ? never : Union) : never;

const session = sessionParams(handoffOf(stripePayment()), settings)!;
const debit = sessionParams(handoffOf(stripePayment({}, 'ach')), settings)!;
const refund = refundParams(refundRequest, 'pi_1');

// The compiler checks the parameters and their values against the types of Stripe's SDK.
const asParams = <Value>(value: Value): Value => value;
asParams<{ readonly [Field in keyof Stripe.Checkout.SessionCreateParams]: unknown }>(session);
({
  ...debit,
  line_items: [...debit.line_items],
  allowed_payment_method_types: [...debit.allowed_payment_method_types],
}) satisfies Stripe.Checkout.SessionCreateParams;
session.mode satisfies Known<Stripe.Checkout.SessionCreateParams.Mode>;
session.ui_mode satisfies Known<Stripe.Checkout.SessionCreateParams.UiMode>;
refund satisfies Stripe.RefundCreateParams;

const originals: Record<string, { path: string; form: Form; required: string[] }> = {
  'a card session': {
    path: '/v1/checkout/sessions',
    form: session,
    required: [
      'mode',
      'success_url',
      'line_items',
      'line_items.0.quantity',
      'line_items.0.price_data',
      'line_items.0.price_data.currency',
      'line_items.0.price_data.unit_amount',
      'line_items.0.price_data.product_data',
      'line_items.0.price_data.product_data.name',
    ],
  },
  'a session of a bank debit': { path: '/v1/checkout/sessions', form: debit, required: ['line_items.1.quantity'] },
  'a refund': { path: '/v1/refunds', form: refund, required: ['payment_intent'] },
};

function post(path: string, form: Form): ContractRequest {
  return { method: 'POST', url: path, headers: HEADERS, body: formOf(form) };
}

function wrongTypesOf(value: unknown): unknown[] {
  if (typeof value === 'object') return ['text'];
  if (typeof value === 'number') return ['many', '1.5', { inner: '1' }];
  return typeof value === 'boolean' ? ['maybe', { inner: '1' }] : [{ inner: '1' }];
}

const ENUMERATED = [
  'mode',
  'ui_mode',
  'allowed_payment_method_types.0',
  'payment_method_options.us_bank_account.verification_method',
];

function twinsOf(name: string, { path, form, required }: (typeof originals)[string]): Twin[] {
  const all = pathsOf(form);
  const objects = [
    '',
    ...all.flatMap(([each, value]) => (typeof value === 'object' && !Array.isArray(value) ? [each] : [])),
  ];
  const forms: [string, Form][] = [
    ...required.map((each): [string, Form] => [`without ${each}`, changed(form, each, undefined)]),
    ...all.flatMap(([each, value]) =>
      wrongTypesOf(value).map((wrong): [string, Form] => [
        `${each} = ${JSON.stringify(wrong)}`,
        changed(form, each, wrong),
      ]),
    ),
    ...ENUMERATED.filter((each) => all.some(([known]) => known === each)).map((each): [string, Form] => [
      `${each} = no_such_value`,
      changed(form, each, 'no_such_value'),
    ]),
    // `metadata` objects allow any field name.
    ...objects
      .filter((each) => !each.endsWith('metadata'))
      .map((each): [string, Form] => [
        `unknown in ${each || 'the form'}`,
        changed(form, each === '' ? 'no_such_field' : `${each}.no_such_field`, '1'),
      ]),
    ['payment_method_types', { ...form, payment_method_types: ['card'] }],
  ];
  return forms.map(([what, twin]) => ({ name: `${name}: ${what}`, request: post(path, twin) }));
}

const original = post('/v1/refunds', refund);
const OTHERS: Twin[] = [
  { name: 'no key', request: { ...original, headers: { ...HEADERS, authorization: undefined } } },
  { name: 'a publishable key', request: { ...original, headers: { ...HEADERS, authorization: 'Bearer pk_test_key' } } },
  { name: 'an older version', request: { ...original, headers: { ...HEADERS, 'stripe-version': '2024-06-20' } } },
  { name: 'no idempotency key', request: { ...original, headers: { ...HEADERS, 'idempotency-key': undefined } } },
  { name: 'a JSON body', request: { ...original, headers: { ...HEADERS, 'content-type': 'application/json' } } },
  { name: 'parameters in the URL', request: { ...original, url: `/v1/refunds?${original.body}` } },
  { name: 'a duplicate parameter', request: { ...original, body: `${original.body}&amount=2` } },
  { name: 'another path', request: { ...original, url: '/v1/refund' } },
  { name: 'another method', request: { ...original, method: 'PATCH' } },
  { name: 'too large a page', request: { ...original, method: 'GET', url: '/v1/refunds?limit=101', body: '' } },
  { name: 'an unknown filter', request: { ...original, method: 'GET', url: '/v1/refunds?pay=1', body: '' } },
];

describe("the contract of Stripe's API", () => {
  for (const [name, { path, form }] of Object.entries(originals)) {
    test(`the contract accepts ${name} with the parameters that the adapter sends`, () =>
      assert.deepEqual(judgeRequest(post(path, form)).problems, []));
  }

  test('the contract accepts the session parameters of every network', () => {
    for (const network of STRIPE_NETWORKS) {
      const form = sessionParams(handoffOf(stripePayment({}, network)), settings)!;
      assert.deepEqual(judgeRequest(post('/v1/checkout/sessions', form)).problems, [], network);
    }
  });

  test('the contract rejects every negative twin, a valid request with one invalid change', () => {
    const twins = [...Object.entries(originals).flatMap(([name, each]) => twinsOf(name, each)), ...OTHERS];
    const accepted = twins.filter(({ request }) => judgeRequest(request).problems.length === 0);
    assert.deepEqual(
      accepted.map(({ name }) => name),
      [],
    );
    assert.ok(twins.length >= 25, `only ${twins.length} twins`);
    process.stdout.write(`${twins.length} negative twins refused\n`);
  });

  test('the contract accepts every request of the adapter from handoff to refund, dispute, payout and check', async () => {
    await using world = await startStripeWorld();
    const { provider, stripe } = world;
    const payment = await paidPayment(world);
    const request = { ...refundRequest, payment, created: world.clock.ms };
    await provider.refund(request);
    await provider.inquireRefund(request);
    await provider.inquire(payment);
    await provider.cancel(payment);
    const dispute = stripe.openDispute(payment.chargeReference!);
    await provider.query!({ about: 'reversal', id: dispute.id }, null);
    await provider.query!({ about: 'payout', id: stripe.payOut() }, null);
    await provider.check();
    assert.deepEqual(
      stripe.requests.flatMap(({ problems }) => problems),
      [],
    );
    assert.ok(new Set(stripe.requests.map(({ operation }) => operation)).size >= 10);
  });

  test('`readForm` parses the form encoding that the adapter writes', () => {
    assert.deepEqual(readForm(formOf({ a: 'x & [y]', b: [{ c: 1 }, { c: true }], d: { e: 'ü' } })), {
      a: 'x & [y]',
      b: [{ c: '1' }, { c: 'true' }],
      d: { e: 'ü' },
    });
  });
});
