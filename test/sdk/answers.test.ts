import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Tillway } from '../../sdk/src/index.ts';
import { CALLS } from './calls.ts';
import { errorOf, scriptedFetch } from './recorder.ts';

const ITEM = { id: 'x' };

/** Bodies of responses that are not from Tillway. */
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

/** A client that gets this body in every response. */
const answeredWith = (body: unknown) => new Tillway({ fetch: scriptedFetch({ body: textOf(body) }).fetch });
const textOf = (body: unknown) => (typeof body === 'string' ? body : JSON.stringify(body));

async function assertUnexpected(promise: Promise<unknown>, body: unknown): Promise<void> {
  assert.equal((await errorOf(promise)).code, 'unexpected_response', JSON.stringify(body));
}

/** Name of the resource or action in a response. */
const nameOf = (answer: { object?: string; action?: string }) =>
  answer.object ?? answer.action ?? JSON.stringify(answer);

describe('a response that is not from Tillway', () => {
  for (const [name, { call, answer }] of Object.entries(CALLS)) {
    test(`${name} rejects a response that is not from Tillway, and accepts a response of its endpoint`, async () => {
      await call(answeredWith(answer));
      const kinds = Object.values(CALLS).map((other) => other.answer);
      const others = kinds.filter((other) => nameOf(other) !== nameOf(answer));
      assert.ok(others.length > kinds.length / 2);
      for (const body of [...FOREIGN, ...others]) {
        const { fetch, sent } = scriptedFetch({ body: JSON.stringify(body) });
        await assertUnexpected(call(new Tillway({ fetch })), body);
        assert.equal(sent.length, 1);
      }
    });
  }

  test('a raw request rejects a response that is not from Tillway only if the response is an error or not JSON', async () => {
    const request = { method: 'GET', path: '/api/new' } as const;
    for (const body of ['<html>', '', { ok: false, error: { code: 'not_found', message: 'No.' } }]) {
      await assertUnexpected(answeredWith(body).request(request), body);
    }
    for (const body of [null, [], { status: 'up' }, { error: null }]) {
      assert.deepEqual(await answeredWith(body).request(request), body);
    }
  });
});
