import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { linkRequest, refundRequest } from '../../src/providers/adyen-messages.ts';
import { ADYEN_NETWORKS } from '../../src/providers/adyen-settings.ts';
import { idOf } from '../fixtures/checkout-records.ts';
import { adyenProblems } from './adyen-contract.ts';
import { adyenPayment, handoffOf, paidPayment, startAdyenWorld } from './adyen-fixtures.ts';
import type { JsonRequest } from './openapi-contract.ts';
import { changed, pathsOf } from './twins.ts';

const HEADERS = {
  'x-api-key': 'AQEtest_0123456789abcdef',
  'content-type': 'application/json',
  'idempotency-key': 'key',
};
const settings = { merchantAccount: 'TestMerchant', country: 'US', buyerWindowMinutes: 1440 };
const link = linkRequest(handoffOf(adyenPayment()), settings)!;
const refund = refundRequest({ refundId: idOf('ref', 1), amount: 100 }, 'TestMerchant');
const methods = { merchantAccount: 'TestMerchant', countryCode: 'US', amount: { currency: 'USD', value: 5000 } };

/** The requests of the adapter that have a body, each with the paths of its required fields. */
const ORIGINALS: Record<string, { method: string; url: string; json: object; required: string[] }> = {
  'a payment link': {
    method: 'POST',
    url: '/v71/paymentLinks',
    json: link,
    required: ['reference', 'amount', 'amount.currency', 'amount.value', 'merchantAccount', 'returnUrl', 'expiresAt'],
  },
  'the end of a payment link': {
    method: 'PATCH',
    url: '/v71/paymentLinks/PL1',
    json: { status: 'expired' },
    required: ['status'],
  },
  'a refund': {
    method: 'POST',
    url: '/v71/payments/PSP1/refunds',
    json: refund,
    required: ['reference', 'amount', 'amount.currency', 'amount.value', 'merchantAccount'],
  },
  'the payment methods': { method: 'POST', url: '/v71/paymentMethods', json: methods, required: ['merchantAccount'] },
};

function requestOf({ method, url }: { method: string; url: string }, json: object): JsonRequest {
  return { method, url, headers: HEADERS, body: JSON.stringify(json) };
}

/** Negative twins of a request: valid but for one missing field, one value of a wrong type, or one unknown field. */
function twinsOf(original: (typeof ORIGINALS)[string]): [string, JsonRequest][] {
  const { json, required } = original;
  const all = pathsOf(json);
  const objects = ['', ...all.flatMap(([path, value]) => (value?.constructor === Object ? [path] : []))];
  const bodies: [string, object][] = [
    ...required.map((path): [string, object] => [`without ${path}`, changed(json, path, undefined)]),
    ...all.map(([path, value]): [string, object] => [
      `${path} of a wrong type`,
      changed(json, path, typeof value === 'object' ? 'text' : { inner: 1 }),
    ]),
    ...objects.map((path): [string, object] => [
      `unknown in ${path || 'the body'}`,
      changed(json, path === '' ? 'no_such_field' : `${path}.no_such_field`, 1),
    ]),
  ];
  return bodies.map(([name, body]) => [name, requestOf(original, body)]);
}

const original = requestOf(ORIGINALS['a refund']!, refund);
const OTHERS: [string, JsonRequest][] = [
  ['no key', { ...original, headers: { ...HEADERS, 'x-api-key': undefined } }],
  ['no idempotency key', { ...original, headers: { ...HEADERS, 'idempotency-key': undefined } }],
  ['a form', { ...original, headers: { ...HEADERS, 'content-type': 'application/x-www-form-urlencoded' } }],
  ['a body that is not JSON', { ...original, body: 'amount=1' }],
  ['no body', { ...original, body: '' }],
  ['a query', { ...original, url: `${original.url}?amount=1` }],
  ['another path', { ...original, url: '/v71/refunds' }],
  ['another version', { ...original, url: original.url.replace('v71', 'v70') }],
  ['another method', { ...original, method: 'PUT' }],
  ['another status', requestOf(ORIGINALS['the end of a payment link']!, { status: 'paid' })],
  ['a GET with a body', { ...original, method: 'GET', url: '/v71/paymentLinks/PL1' }],
];

describe("the contract of Adyen's API", () => {
  test('the contract accepts the requests that the adapter sends, for every network', () => {
    for (const [name, each] of Object.entries(ORIGINALS)) {
      assert.deepEqual(adyenProblems(requestOf(each, each.json)), [], name);
    }
    for (const network of ADYEN_NETWORKS) {
      const json = linkRequest(handoffOf(adyenPayment({}, network)), settings)!;
      assert.deepEqual(adyenProblems(requestOf(ORIGINALS['a payment link']!, json)), [], network);
    }
  });

  test('the contract rejects every negative twin, a valid request with one invalid change', () => {
    const twins = [...Object.values(ORIGINALS).flatMap(twinsOf), ...OTHERS];
    const accepted = twins.filter(([, request]) => adyenProblems(request).length === 0);
    assert.deepEqual(
      accepted.map(([name]) => name),
      [],
    );
    assert.ok(twins.length >= 25, `only ${twins.length} twins`);
    process.stdout.write(`${twins.length} negative twins refused\n`);
  });

  test('the contract accepts every request of the adapter from handoff to refund and check', async () => {
    await using world = await startAdyenWorld();
    const { provider, adyen } = world;
    const payment = await paidPayment(world);
    const about = { refundId: idOf('ref', 1), payment, amount: 100, reference: null, created: world.clock.ms };
    assert.equal(((await provider.refund(about)) as { status: string }).status, 'pending');
    await provider.inquire(payment);
    // Nobody can pay at a used link.
    assert.equal(await provider.cancel(payment), 'cancelled');
    await provider.check();
    assert.deepEqual(
      adyen.requests.flatMap(({ problems }) => problems),
      [],
    );
    assert.equal(adyen.requests.length, 6);
  });
});
