import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { orderRequest, refundRequest } from '../../src/providers/paypal-messages.ts';
import { idOf } from '../fixtures/checkout-records.ts';
import type { JsonRequest } from './openapi-contract.ts';
import { SKIPPED, paypalProblems } from './paypal-contract.ts';
import { handoffOf, stripePayment } from './stripe-fixtures.ts';
import { type Tree, changed, pathsOf } from './twins.ts';

/** Negative twin: a valid request with one change that makes it invalid. The contract must reject it. */
interface Twin {
  name: string;
  request: JsonRequest;
}

const HEADERS = {
  authorization: 'Bearer A21AAtoken',
  'content-type': 'application/json',
  'paypal-request-id': 'pay_00000000000000000000000000000001:create',
  prefer: 'return=representation',
};

const payment = stripePayment();
const order: Tree = structuredClone(orderRequest(handoffOf(payment), {}));
const refund: Tree = refundRequest({ refundId: idOf('ref', 1), amount: 500 });

const CONTEXT = 'payment_source.paypal.experience_context';

interface Original {
  path: string;
  body: Tree;
  required: string[];
  enumerated: string[];
}

const originals: Record<string, Original> = {
  'an order': {
    path: '/v2/checkout/orders',
    body: order,
    required: [
      'intent',
      'purchase_units',
      'purchase_units.0.amount',
      'purchase_units.0.amount.currency_code',
      'purchase_units.0.amount.value',
      `${CONTEXT}.return_url`,
      `${CONTEXT}.cancel_url`,
    ],
    enumerated: ['intent', `${CONTEXT}.user_action`, `${CONTEXT}.shipping_preference`],
  },
  'a refund': {
    path: '/v2/payments/captures/2GG279541U471931P/refund',
    body: refund,
    required: ['amount.currency_code', 'amount.value'],
    enumerated: [],
  },
};

function post(path: string, body: object): JsonRequest {
  return { method: 'POST', url: path, headers: HEADERS, body: JSON.stringify(body) };
}

function twinsOf(name: string, { path, body, required, enumerated }: Original): Twin[] {
  const all = pathsOf(body);
  const objects = ['', ...all.flatMap(([each, value]) => (isObject(value) ? [each] : []))];
  const changes: [what: string, body: Tree][] = [
    ...required.map((each): [string, Tree] => [`without ${each}`, changed(body, each, undefined)]),
    ...all.flatMap(([each, value]) =>
      (typeof value === 'string' ? [1, null, { inner: '1' }, ['1']] : ['text', 1, null]).map(
        (wrong): [string, Tree] => [`${each} = ${JSON.stringify(wrong)}`, changed(body, each, wrong)],
      ),
    ),
    ...enumerated.map((each): [string, Tree] => [`${each} = NO_SUCH_VALUE`, changed(body, each, 'NO_SUCH')]),
    ...objects.map((each): [string, Tree] => [
      `unknown in ${each || 'the body'}`,
      changed(body, each === '' ? 'no_such_field' : `${each}.no_such_field`, '1'),
    ]),
    ...all
      .filter(([each]) => each.endsWith('.value'))
      .flatMap(([each]) =>
        ['19,99', '$19.99', ''].map((wrong): [string, Tree] => [`${each} = ${wrong}`, changed(body, each, wrong)]),
      ),
    ...all
      .filter(([each]) => each.endsWith('.currency_code'))
      .map(([each]): [string, Tree] => [`${each} = US`, changed(body, each, 'US')]),
    ...all
      .filter(([each]) => each.endsWith('custom_id') || each.endsWith('brand_name') || each.endsWith('description'))
      .flatMap(([each]) =>
        ['', 'x'.repeat(128)].map((wrong): [string, Tree] => [
          `${each} of ${wrong.length} characters`,
          changed(body, each, wrong),
        ]),
      ),
  ];
  return changes.map(([what, twin]) => ({ name: `${name}: ${what}`, request: post(path, twin) }));
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const original = post('/v2/checkout/orders', order);
const withHeader = (name: string, value: string | undefined): JsonRequest => ({
  ...original,
  headers: { ...HEADERS, [name]: value },
});
const capture = { ...post('/v2/checkout/orders/5O190127TN364715T/capture', {}), body: '' };

const OTHERS: Twin[] = [
  { name: 'no token', request: withHeader('authorization', undefined) },
  { name: 'the credentials instead of a token', request: withHeader('authorization', 'Basic YTpi') },
  { name: 'no PayPal-Request-Id', request: withHeader('paypal-request-id', undefined) },
  { name: 'a long PayPal-Request-Id', request: withHeader('paypal-request-id', 'x'.repeat(109)) },
  { name: 'another content type', request: withHeader('content-type', 'application/x-www-form-urlencoded') },
  { name: 'no content type', request: withHeader('content-type', undefined) },
  { name: 'another preference', request: withHeader('prefer', 'return=everything') },
  { name: 'no body', request: { ...original, body: '' } },
  { name: 'a body that is not JSON', request: { ...original, body: 'intent=CAPTURE' } },
  { name: 'a list of orders', request: post('/v2/checkout/orders', [order]) },
  { name: 'no purchase unit', request: post('/v2/checkout/orders', { ...order, purchase_units: [] }) },
  { name: 'a query', request: { ...original, url: '/v2/checkout/orders?intent=CAPTURE' } },
  { name: 'another path', request: { ...original, url: '/v2/checkout/order' } },
  { name: 'another method', request: { ...original, method: 'PATCH' } },
  {
    name: 'a relative return URL',
    request: post('/v2/checkout/orders', changed(order, `${CONTEXT}.return_url`, '/back')),
  },
  { name: 'a capture of an amount', request: { ...capture, body: JSON.stringify({ amount: refund.amount }) } },
  { name: 'a capture without a request id', request: { ...capture, headers: { ...HEADERS, 'paypal-request-id': '' } } },
  { name: 'a GET with a body', request: { ...original, method: 'GET', url: '/v2/checkout/orders/5O190127TN364715T' } },
  { name: 'a capture of a payment', request: { ...capture, url: '/v2/payments/captures/5O190127TN364715T/capture' } },
];

describe("the contract of PayPal's API", { skip: SKIPPED }, () => {
  for (const [name, { path, body }] of Object.entries(originals)) {
    test(`the contract accepts ${name} with the fields that the adapter sends`, () =>
      assert.deepEqual(paypalProblems(post(path, body)), []));
  }

  test('the contract accepts the requests without a body, and a full refund', () => {
    const { 'content-type': _, 'paypal-request-id': __, ...headers } = HEADERS;
    const get = (url: string): JsonRequest => ({ method: 'GET', url, headers, body: '' });
    const requests = [
      capture,
      { ...capture, body: '{}' },
      post('/v2/payments/captures/2GG279541U471931P/refund', { custom_id: refund.custom_id }),
      get('/v2/checkout/orders/5O190127TN364715T'),
      get('/v2/payments/captures/2GG279541U471931P'),
      get('/v2/payments/refunds/1JU08902781691411'),
      get('/v1/customer/disputes/PP-D-12345'),
      get('/v1/customer/disputes?disputed_transaction_id=2GG279541U471931P'),
      get('/v1/notifications/webhooks/4JH86294D6297924G'),
    ];
    for (const request of requests) assert.deepEqual(paypalProblems(request), [], request.url);
  });

  test('the contract rejects every negative twin, a valid request with one invalid change', () => {
    const twins = [...Object.entries(originals).flatMap(([name, each]) => twinsOf(name, each)), ...OTHERS];
    const accepted = twins.filter(({ request }) => paypalProblems(request).length === 0);
    assert.deepEqual(
      accepted.map(({ name }) => name),
      [],
    );
    assert.ok(twins.length >= 25, `only ${twins.length} twins`);
    process.stdout.write(`${twins.length} negative twins refused\n`);
  });
});
