import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { FastifyInstance } from 'fastify';
import type { Part } from '../../src/http/app.ts';
import { ONLY_IN_FULL_RUN, runs } from '../support/for-all.ts';
import { type FuzzedApi, startFuzzedApi } from './openapi-fuzz.ts';

// A short run with new random requests each time; `npm run test:faults -- fuzz-api` sends more requests.
const requests = runs(200);
const seed = randomInt(2 ** 31);
type Reply = Parameters<Parameters<FastifyInstance['setErrorHandler']>[0]>[2];

describe(`responses to ${requests} generated requests, seed ${seed}`, () => {
  let keyed: FuzzedApi;
  let open: FuzzedApi;

  before(async () => {
    [keyed, open] = await Promise.all([startFuzzedApi({ hasKeys: true }), startFuzzedApi({ hasKeys: false })]);
  });
  after(async () => {
    await keyed[Symbol.asyncDispose]();
    await open[Symbol.asyncDispose]();
  });

  it('responses to generated requests with API keys have a documented status, content type and body', async () => {
    const { failure, answers } = await keyed.run({ seed, requests });
    assert.equal(failure, undefined);
    const succeeded = [...answers.keys()].filter((name) => name.endsWith(' 200'));
    assert.ok(succeeded.length >= runs(15), `${succeeded.length} operations succeeded: ${succeeded.join(', ')}`);
  });

  it('responses to generated requests without API keys have a documented status, content type and body', async () => {
    assert.equal((await open.run({ seed, requests })).failure, undefined);
  });

  for (const [fault, expected, change] of [
    ['an undocumented status', /status 418 is not documented/, (reply) => void reply.code(418)],
    ['an undocumented content type', /content type "text\/html"/, (reply) => void reply.type('text/html')],
    ['an undocumented field', /does not fit/, (_, payload) => payload.replace(/^\{/, '{"extra":1,')],
    [
      'an undocumented error code',
      /code not_found of status 400/,
      (_, payload) => payload.replace('"invalid_input"', '"not_found"'),
    ],
  ] satisfies [string, RegExp, (reply: Reply, payload: string) => string | void][]) {
    it(`the fuzzer detects an operation that responds with ${fault}`, ONLY_IN_FULL_RUN, async () => {
      const injected: Part = (app) =>
        void app.addHook('onSend', async (request, reply, payload) =>
          request.routeOptions.url === '/api/gateway/sessions' && request.method === 'POST'
            ? (change(reply, String(payload)) ?? payload)
            : payload,
        );
      const { failure } = await open.run({ seed, requests: 5000 }, injected);
      assert.match(failure ?? 'nothing was found', expected);
    });
  }
});
