import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { FastifyInstance } from 'fastify';
import type { OpenApi } from '../../src/contract/openapi-document.ts';
import { type AppDeps, type Part, createApp } from '../../src/http/app.ts';
import { PARTS } from '../../src/service/parts.ts';
import { BOOTSTRAP, bearer, makeKeys } from '../support/keys.ts';
import { providerSays } from '../support/money-arrives.ts';
import { type TestService, call, sessionBody, startTestService } from '../support/service.ts';
import { type ApiFuzzReport, fuzzApi } from './openapi-fuzz.ts';

// FUZZ_REQUESTS=20000 makes a full run, and FUZZ_SEED repeats a run.
const requests = Number(process.env['FUZZ_REQUESTS'] ?? 2000);
const seed = Number(process.env['FUZZ_SEED'] ?? randomInt(2 ** 31));

describe(`answers to ${requests} generated requests, seed ${seed}`, () => {
  let keyed: TestService;
  let open: TestService;
  let keys: string[];
  let ids: string[];

  before(async () => {
    const variables = { ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64') };
    keyed = await startTestService({ variables: { ...variables, ...BOOTSTRAP } });
    open = await startTestService({ variables: { ...variables, TEST_CLOCK: 'true' } });
    const { sandbox, production } = await makeKeys(keyed.url);
    // The sandbox admin key is the most likely to be accepted.
    keys = [...Array.from({ length: 8 }, () => sandbox.admin), ...Object.values(sandbox), ...Object.values(production)];
    ids = await records(keyed, sandbox.admin);
  });
  after(async () => {
    await keyed[Symbol.asyncDispose]();
    await open[Symbol.asyncDispose]();
  });

  it('are documented by a service with API keys: status, content type and body', async () => {
    const { failure, answers } = await run(keyed, { keys, ids, requests: Math.ceil(requests / 2) });
    assert.equal(failure, undefined);
    const succeeded = [...answers.keys()].filter((name) => name.endsWith(' 200'));
    assert.ok(succeeded.length >= 40, `${succeeded.length} operations succeeded: ${succeeded.join(', ')}`);
  });

  it('are documented by a service without API keys: status, content type and body', async () => {
    const own = await records(open, undefined);
    const { failure } = await run(open, { keys: [], ids: own, requests: Math.floor(requests / 2) });
    assert.equal(failure, undefined);
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
    it(`fail with ${fault} in the answers of one operation`, async () => {
      const injected: Part = (app) =>
        void app.addHook('onSend', async (request, reply, payload) =>
          request.routeOptions.url === '/api/gateway/sessions' && request.method === 'POST'
            ? (change(reply, String(payload)) ?? payload)
            : payload,
        );
      const { failure } = await run(open, { keys: [], ids: [], requests: 5000 }, injected);
      assert.match(failure ?? 'nothing was found', expected);
    });
  }
});

type Reply = Parameters<Parameters<FastifyInstance['setErrorHandler']>[0]>[2];

async function run(
  { service, url }: TestService,
  options: { keys: readonly string[]; ids: readonly string[]; requests: number },
  ...injected: Part[]
): Promise<ApiFuzzReport> {
  const api = (await (await fetch(`${url}/openapi.json`)).json()) as OpenApi;
  const app = await createApp(service.deps as AppDeps, [...injected, ...PARTS]);
  try {
    const report = await fuzzApi(app, api, { ...options, seed });
    process.stdout.write(`# ${report.sent} requests of seed ${seed}: ${statusesOf(report)}\n`);
    return report;
  } finally {
    await app.close();
  }
}

function statusesOf({ answers }: ApiFuzzReport): string {
  const counts = new Map<string, number>();
  for (const [name, count] of answers) {
    const status = name.split(' ').at(-1)!;
    counts.set(status, (counts.get(status) ?? 0) + count);
  }
  return [...counts]
    .toSorted(([a], [b]) => Number(a) - Number(b))
    .map(([status, count]) => `${status} x ${count}`)
    .join(', ');
}

/** Creates a paid session, a payment of another amount, a webhook endpoint and a refund; returns their ids. */
async function records(service: TestService, key: string | undefined): Promise<string[]> {
  const headers = key === undefined ? {} : bearer(key);
  const post = async (path: string, body: unknown) => {
    const answer = await call<{ id: string }>('POST', `${service.url}/api/gateway/${path}`, body, headers);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    return answer.body.id;
  };
  const endpoint = await post('webhook-endpoints', { url: 'https://shop.example/hooks' });
  const sessions: string[] = [];
  for (let index = 0; index < 4; index++) sessions.push(await post('sessions', sessionBody()));
  for (const id of sessions.slice(0, 2)) await providerSays(service, id, 'paid', { amount: 4999 });
  await providerSays(service, sessions[2]!, 'paid', { amount: 1 });
  const { body } = await call<{ data: { id: string }[] }>(
    'GET',
    `${service.url}/api/gateway/payments`,
    undefined,
    headers,
  );
  const payments = body.data.map(({ id }) => id);
  const refund = await post(`payments/${payments[0]}/refunds`, { amount: 1 });
  return [endpoint, ...sessions, ...payments, refund];
}
