import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import type { FastifyInstance } from 'fastify';
import { type OpenApi, resolveResponse } from '../../src/contract/openapi-document.ts';
import { mismatchOf } from '../support/conformance.ts';
import { type AppDeps, type Part, createApp } from '../../src/http/app.ts';
import { PARTS } from '../../src/service/parts.ts';
import { BOOTSTRAP, bearer, makeKeys } from '../support/keys.ts';
import { providerSays } from '../support/money-arrives.ts';
import { type TestService, call, sessionBody, startTestService } from '../support/service.ts';
import { createKnownIds } from './known-ids.ts';
import { type ApiRequest, requestsOf } from './openapi-requests.ts';

/** Sends generated requests for every documented operation to an app; `failure` is the first undocumented response. */
async function fuzzApi(
  app: FastifyInstance,
  api: OpenApi,
  { seed, requests, keys, ids }: { seed: number; requests: number; keys: readonly string[]; ids: readonly string[] },
) {
  const known = createKnownIds(ids);
  /** Number of responses by operation and status. */
  const answers = new Map<string, number>();
  let sent = 0;

  function faultIn(request: ApiRequest, answer: Awaited<ReturnType<typeof app.inject>>): string | undefined {
    const { statusCode: status, headers, payload } = answer;
    const response = resolveResponse(api, request.operation.responses[status]);
    if (!response) return `status ${status} is not documented`;
    if (status === 500) return 'the service failed';
    const type = (headers['content-type'] ?? '').split(';')[0]!;
    if (!response.content) return payload === '' ? undefined : `status ${status} has an undocumented body`;
    const content = Object.entries(response.content).find(([name]) => name === type)?.[1];
    if (!content) return `content type "${type}" of status ${status} is not documented`;
    if (type !== 'application/json') return undefined;
    const body: unknown = JSON.parse(payload);
    const mismatch = mismatchOf(api, content.schema, body);
    if (mismatch !== undefined) return `the body of status ${status} does not fit: ${mismatch}`;
    const { code } = (body as { error?: { code: string } }).error ?? {};
    if (code !== undefined && !Object.hasOwn(content.examples ?? {}, code)) {
      return `code ${code} of status ${status} is not documented`;
    }
    return undefined;
  }

  const property = fc.asyncProperty(requestsOf(api, keys.length), async (request) => {
    const { method, operation, headers, key, body } = request;
    const url = known.fill(request.url);
    const answer = await app.inject({
      method: method as 'GET',
      url,
      headers: { ...(key !== undefined && { authorization: `Bearer ${keys[key]}` }), ...headers },
      ...(body !== undefined && { payload: known.fill(body) }),
    });
    sent++;
    const name = `${operation.operationId} ${answer.statusCode}`;
    answers.set(name, (answers.get(name) ?? 0) + 1);
    const fault = faultIn(request, answer);
    if (fault !== undefined) {
      throw new Error(
        `${fault}\n  ${method} ${url} ${JSON.stringify(headers)} ${body?.slice(0, 1000)}\n  ${answer.statusCode} ${answer.payload.slice(0, 1000)}`,
      );
    }
    known.learn(answer.payload, operation.operationId === 'createApiKey');
  });
  // No shrinking: the service has changed, so a smaller request would meet another state.
  const details = await fc.check(property, { seed, numRuns: requests, endOnFailure: true });
  const failure = details.failed ? `seed ${seed}, request ${sent}: ${String(details.errorInstance)}` : undefined;
  return { answers, sent, failure };
}

export type FuzzedApi = Awaited<ReturnType<typeof startFuzzedApi>>;

/** Starts a service with some records, for generated requests. */
export async function startFuzzedApi({ hasKeys }: { hasKeys: boolean }) {
  const settings: Record<string, string> = hasKeys ? BOOTSTRAP : { TEST_CLOCK: 'true' };
  const service = await startTestService({
    variables: { ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'), ...settings },
  });
  const { sandbox, production } = hasKeys ? await makeKeys(service.url) : {};
  // The sandbox admin key is accepted by most operations.
  const keys = sandbox
    ? [...Array<string>(8).fill(sandbox.admin), ...Object.values(sandbox), ...Object.values(production ?? {})]
    : [];
  const ids = await records(service, sandbox?.admin);
  const api = (await (await fetch(`${service.url}/openapi.json`)).json()) as OpenApi;
  return {
    async run(options: { seed: number; requests: number }, ...injected: Part[]) {
      const app = await createApp(service.service.deps as AppDeps, [...injected, ...PARTS]);
      try {
        return await fuzzApi(app, api, { ...options, keys, ids });
      } finally {
        await app.close();
      }
    },
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
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
