import * as fc from 'fast-check';
import type { FastifyInstance } from 'fastify';
import { type OpenApi, resolveResponse } from '../../src/contract/openapi-document.ts';
import { strictSchema } from '../support/conformance.ts';
import { createValidator } from '../support/schemas.ts';
import { type ApiRequest, KNOWN_ID, requestsOf } from './openapi-requests.ts';

export interface ApiFuzzOptions {
  seed: number;
  requests: number;
  /** API keys that requests carry; none for a service without keys. */
  keys: readonly string[];
  /** Ids of records that exist. */
  ids: readonly string[];
}

export interface ApiFuzzReport {
  /** Number of answers by operation and status. */
  answers: Map<string, number>;
  /** Number of requests sent. */
  sent: number;
  /** The first answer that the document does not describe, and its request. */
  failure: string | undefined;
}

const MAX_KNOWN = 40;
const ajv = createValidator();
type Validator = ReturnType<typeof ajv.compile>;

/** Sends generated requests for every documented operation to an app, and compares each answer with the document. */
export async function fuzzApi(app: FastifyInstance, api: OpenApi, options: ApiFuzzOptions): Promise<ApiFuzzReport> {
  const { seed, requests, keys } = options;
  const known = createKnownIds(options.ids);
  const answers = new Map<string, number>();
  const compiled = new Map<object, Validator>();
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
    const validate = compiled.get(content.schema) ?? ajv.compile(strictSchema(api, content.schema));
    compiled.set(content.schema, validate);
    if (!validate(body)) return `the body of status ${status} does not fit: ${ajv.errorsText(validate.errors)}`;
    const { code } = (body as { error?: { code: string } }).error ?? {};
    if (code !== undefined && !Object.hasOwn(content.examples ?? {}, code)) {
      return `code ${code} of status ${status} is not documented`;
    }
    return undefined;
  }

  const property = fc.asyncProperty(requestsOf(api, keys.length), async (request) => {
    const { method, path, operation, params, query, headers, key, body } = request;
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = params[name]!;
      return 'text' in value ? value.text : known.at(value.prefix, value.known);
    });
    const url = filled + known.fill(query);
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
    known.learn(operation.operationId, answer.payload);
  });
  // No shrinking: the service has changed, so a smaller request would meet another state.
  const details = await fc.check(property, { seed, numRuns: requests, endOnFailure: true });
  const failure = details.failed ? `seed ${seed}, request ${sent}: ${String(details.errorInstance)}` : undefined;
  return { answers, sent, failure };
}

/** The newest ids of records by prefix. */
function createKnownIds(first: readonly string[]) {
  const ids = new Map<string, string[]>();
  const add = (id: string) => {
    const prefix = id.slice(0, 3);
    const list = (ids.get(prefix) ?? []).filter((other) => other !== id);
    ids.set(prefix, [...list, id].slice(-MAX_KNOWN));
  };
  const at = (prefix: string, index: number) => {
    const list = ids.get(prefix) ?? [];
    return list[index % list.length] ?? `${prefix}_0`;
  };
  first.forEach(add);
  return {
    at,
    fill: (source: string) => source.replace(KNOWN_ID, (_, prefix: string, index) => at(prefix, Number(index))),
    learn(operationId: string, payload: string): void {
      for (const [, id = ''] of payload.matchAll(/"(?:id|\w+Id)":"([a-z]{3}_\w+)"/g)) {
        // Revoking a key of the run itself would end the run.
        if (!id.startsWith('key_') || operationId === 'createApiKey') add(id);
      }
    },
  };
}
