import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Tillway, TillwayError } from '../../sdk/src/index.ts';
import { CALLS } from './calls.ts';
import { scriptedFetch } from './recorder.ts';

const ITEM = { id: 'x' };

/** JSON that is not from Tillway, with the status 200. */
const FOREIGN = [
  null,
  true,
  'up',
  [],
  [ITEM],
  {},
  { status: 'up' },
  { ok: true },
  { ok: true, result: true },
  { ok: true, result: {} },
  { ok: true, action: 'something.else', result: {} },
  { ok: true, routes: { id: 'x' } },
  { ok: true, routes: ['x'] },
  { ok: false, error: { code: 'not_found', message: 'There is nothing at this path.' } },
  { id: 'x', object: 'charge' },
  { id: 'x', type: 'charge.succeeded', created: 1, livemode: false, data: {} },
  { object: 'list', data: [], has_more: false },
  { object: 'list', data: {}, hasMore: false },
  { object: 'list', data: [null], hasMore: false },
  { object: 'list', data: [{}], hasMore: false },
  { object: 'list', data: [], hasMore: true },
  { routes: [ITEM] },
  { product: 'Another', entrypoints: [] },
  { product: 'Another', actions: [] },
];

async function codeOf(promise: Promise<unknown>): Promise<string | undefined> {
  return promise.then(
    () => undefined,
    (error: unknown) => {
      // For example a TypeError from reading an accepted response.
      assert.ok(error instanceof TillwayError, String(error));
      return error.code;
    },
  );
}

describe('a response that is not from Tillway is an unexpected_response', () => {
  for (const [name, { call, answer }] of Object.entries(CALLS)) {
    test(`of ${name}, which accepts its own response`, async () => {
      assert.equal(await codeOf(call(new Tillway({ fetch: scriptedFetch({ body: answer }).fetch }))), undefined);
      const kinds = Object.values(CALLS).map((other) => other.answer);
      const others = kinds.filter((other) => !isAlike(other, answer));
      assert.ok(others.length > kinds.length / 2);
      for (const body of [...FOREIGN, ...others]) {
        const { fetch, sent } = scriptedFetch({ body: JSON.stringify(body) });
        assert.equal(await codeOf(call(new Tillway({ fetch }))), 'unexpected_response', JSON.stringify(body));
        assert.equal(sent.length, 1);
      }
    });
  }

  test('of deliveries.get, also without the log or the event', async () => {
    for (const rest of [{}, { log: [] }, { log: [], payload: {} }]) {
      const { fetch } = scriptedFetch({ body: { object: 'delivery', id: 'dlv_x', ...rest } });
      assert.equal(await codeOf(new Tillway({ fetch }).deliveries.get('dlv_x')), 'unexpected_response');
    }
  });

  test('of every page of a list', async () => {
    const page = { body: { object: 'list', data: [ITEM], hasMore: true } };
    for (const body of FOREIGN) {
      const tillway = new Tillway({ fetch: scriptedFetch(page, { body: JSON.stringify(body) }).fetch });
      assert.equal(await codeOf(tillway.payments.list().toArray()), 'unexpected_response', JSON.stringify(body));
    }
  });

  test('of a raw request only if it is an error or not JSON', async () => {
    const request = { method: 'GET', path: '/api/new' } as const;
    const refusal = { ok: false, error: { code: 'not_found', message: 'No.' } };
    for (const body of ['<html>', '', JSON.stringify(refusal)]) {
      const tillway = new Tillway({ fetch: scriptedFetch({ body }).fetch });
      assert.equal(await codeOf(tillway.request(request)), 'unexpected_response', body);
    }
    for (const body of [null, [], { status: 'up' }, { error: null }]) {
      const tillway = new Tillway({ fetch: scriptedFetch({ body: JSON.stringify(body) }).fetch });
      assert.deepEqual(await tillway.request(request), body);
    }
  });

  test('with the expected response as the cause of the error', async () => {
    const { fetch } = scriptedFetch({ body: { status: 'up' } });
    const cause = new TypeError('the answer holds no checkout_session');
    await assert.rejects(new Tillway({ fetch }).sessions.get('chk_x'), { cause });
  });
});

/** Tells whether two responses have the same name. */
function isAlike(one: object, other: object): boolean {
  const nameOf = (answer: { object?: string; action?: string }) =>
    answer.object ?? answer.action ?? JSON.stringify(answer);
  return nameOf(one) === nameOf(other);
}
