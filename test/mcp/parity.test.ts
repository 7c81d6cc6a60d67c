// @run needs=process
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Capabilities } from '../../src/contract/capabilities-contract.ts';
import type { JsonSchema } from '../../src/contract/json-schema.ts';
import { SAMPLE_PROVIDER_SECRET } from '../../src/operations/webhook-samples.ts';
import { signCallback } from '../../src/webhooks/sign.ts';
import { bodyOf, edited, violationsOf } from '../support/agent-client.ts';
import { createValidator } from '../support/schemas.ts';
import { type TestService, call, sessionBody, startTestService } from '../support/service.ts';
import { type Envelope, type ToolAnswer, callTool, rpc } from './rpc.ts';
import { startBridge } from './stdio.ts';

interface Case {
  action: string;
  what: string;
  body: Record<string, unknown>;
  /** Body of the REST request, if it differs from the input of the tool. */
  restBody?: Record<string, unknown>;
}

/** Removes session ids, because two responses may differ only in session ids. */
function withoutIds(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value).replace(/\bchk_[0-9a-z]{36}/g, 'chk_'));
}

async function casesOf(url: string): Promise<Case[]> {
  const { body: capabilities } = await call<Capabilities>('GET', `${url}/api/agent/capabilities`);
  return capabilities.actions.flatMap(({ name: action, inputSchema, example }) => {
    const schema: JsonSchema = inputSchema;
    const whole = bodyOf(schema, 'all');
    const { idempotencyKey: _key, ...keyless } = whole;
    return [
      { action, what: 'the published example', body: example.request },
      { action, what: 'an input with the required fields only', body: bodyOf(schema, 'required') },
      { action, what: 'an input with all fields', body: whole },
      { action, what: 'the input with all fields again', body: whole },
      { action, what: 'an empty input', body: {} },
      { action, what: 'many faults', body: { colour: 'red', 'a"b': 1, payload: [], amount: '49.99', customer: 'x' } },
      ...violationsOf(schema, keyless).map(({ what, path, body }) => ({
        action,
        what: `${path} ${what}`,
        body,
        // Tools treat null like a missing field.
        ...(what === 'null' && { restBody: edited(body, path.split('.'), undefined) }),
      })),
    ];
  });
}

/** Cases that do not follow from the schemas. */
function furtherCases(sessionId: string): Case[] {
  const keyed = sessionBody({ idempotencyKey: 'order-A-2002' });
  const payload = { status: 'provider_pending', amount: 49.99, sessionId, eventId: 'evt_parity' };
  const signed = (secret: string) => ({
    payload,
    signature: signCallback(secret, 1_700_000_000, JSON.stringify(payload)),
  });
  const insecure = { environment: 'production', redirectUrl: 'http://shop.example' };
  const mismatch = { amount: 5, routeId: 'sandbox_card_acquirer', preferredRoute: 'wallet' };
  const cases: [action: string, what: string, body: Record<string, unknown>][] = [
    ['checkout.create', 'a key for the first time', keyed],
    ['checkout.create', 'a key again', keyed],
    ['checkout.create', 'a key with another body', { ...keyed, amount: 50 }],
    ['checkout.create', 'an environment without routes', sessionBody({ environment: 'production' })],
    ['checkout.preview', 'http in production', sessionBody(insecure)],
    ['fees.estimate', 'an unknown route', { amount: 5, routeId: 'no_such_route' }],
    ['fees.estimate', 'a route of another kind', mismatch],
    ['webhook.verify_sample', 'a wrong signature', signed('another secret')],
    ['webhook.verify_sample', 'a right signature over keys in another order', signed(SAMPLE_PROVIDER_SECRET)],
  ];
  return cases.map(([action, what, body]) => ({ action, what, body }));
}

test('the same input to an action gives the same response over REST, /mcp and stdio', async (t) => {
  await using service = await startTestService();
  const { url } = service;
  const sessionId = await sessionWithEvent(service);
  const cases = [...(await casesOf(url)), ...furtherCases(sessionId)];
  await using bridge = startBridge(url);
  const validators = await outputValidators(url);
  for (const { action, what, body, restBody = body } of cases) {
    const label = `${action}: ${what}`;
    const tool = action.replaceAll('.', '_');
    const rest = await call<Envelope>('POST', `${url}/api/agent/actions/${action}`, restBody);
    for (const answer of [await callTool(url, tool, body), await bridge.callTool(tool, body)]) {
      assert.deepEqual(withoutIds(answer.structuredContent), withoutIds(rest.body), label);
      assert.deepEqual(JSON.parse(answer.content[0]!.text), answer.structuredContent, label);
      assert.equal(answer.isError ?? false, !rest.body.ok, label);
      assert(validators.get(tool)!(answer.structuredContent), label);
    }
  }
  assert.equal(new Set(cases.map(({ action }) => action)).size, 5);
  t.diagnostic(`${cases.length} inputs`);
  assert(cases.length > 150);
});

/** Inputs as JSON text that are not objects, or that a JavaScript client would not send. */
const ODD_INPUTS = [
  'null',
  '[]',
  '[{"amount":5}]',
  '"amount"',
  '5',
  'true',
  '{"amount":5,"__proto__":{"amount":5}}',
  '{"__proto__":null}',
  '{"sent":{"amount":5}}',
  '{"amount":5,"sent":{"amount":5}}',
  '{}',
  '{"amount":5}',
];

test('an input that is missing or not an object gives the same response over REST, /mcp and stdio', async () => {
  await using service = await startTestService();
  const { url } = service;
  await using bridge = startBridge(url);
  const codes = new Set<unknown>();
  for (const [action, tool] of [
    ['fees.estimate', 'fees_estimate'],
    ['webhook.verify_sample', 'webhook_verify_sample'],
  ]) {
    for (const input of [...ODD_INPUTS, undefined]) {
      const label = `${action}: ${input}`;
      const sent = { headers: { 'content-type': 'application/json' }, ...(input !== undefined && { body: input }) };
      const answer = await fetch(`${url}/api/agent/actions/${action}`, { method: 'POST', ...sent });
      const rest: unknown = await answer.json();
      const { error } = rest as Envelope;
      codes.add(error && `${error.code} ${error.field}`);
      const params = input === undefined ? `{"name":"${tool}"}` : `{"name":"${tool}","arguments":${input}}`;
      const http = await rpc<ToolAnswer>(url, '', `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`);
      const modern = await rpcModern<ToolAnswer>(url, 'tools/call', tool!, params);
      const stdio = await bridge.request<ToolAnswer>('tools/call', params);
      for (const answer of [http.result, modern.result, stdio]) {
        assert.deepEqual(answer.structuredContent, rest, label);
        assert.equal(answer.isError ?? false, error !== undefined, label);
      }
    }
  }
  for (const found of ['invalid_input body', 'invalid_input __proto__', 'invalid_input sent', undefined]) {
    assert(codes.has(found), String(found));
  }
});

test('resources that depend on the environment of the API key have a private cache scope', async () => {
  await using service = await startTestService();
  for (const [uri, scope] of [
    ['gateway://routes', 'private'],
    ['gateway://capabilities', 'private'],
    ['gateway://schema/checkout.create', 'public'],
  ] as const) {
    const { result } = await rpcModern<{ cacheScope: string }>(
      service.url,
      'resources/read',
      uri,
      JSON.stringify({ uri }),
    );
    assert.equal(result.cacheScope, scope, uri);
  }
});

/** Sends a request with protocol version 2026-07-28. */
function rpcModern<Result>(url: string, method: string, name: string, params: string) {
  const meta = JSON.stringify({
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'parity', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  });
  const body = `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params.slice(0, -1)},"_meta":${meta}}}`;
  return rpc<Result>(url, '', body, { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, 'mcp-name': name });
}

/** Creates a session and applies a sample callback, so that a repetition gets the same response over each transport. */
async function sessionWithEvent({ url }: TestService): Promise<string> {
  const created = await callTool(url, 'checkout_create', sessionBody());
  const sessionId = String(created.structuredContent.result!['id']);
  const payload = { status: 'provider_pending', amount: 49.99, sessionId, eventId: 'evt_parity' };
  const signature = signCallback(SAMPLE_PROVIDER_SECRET, 1_700_000_000, JSON.stringify(payload));
  const applied = await callTool(url, 'webhook_verify_sample', { payload, signature });
  assert.equal(applied.structuredContent.result!['merchantWebhookQueued'], true);
  return sessionId;
}

async function outputValidators(url: string) {
  const { result } = await rpc<{ tools: { name: string; outputSchema: object }[] }>(url, 'tools/list');
  const ajv = createValidator();
  return new Map(result.tools.map(({ name, outputSchema }) => [name, ajv.compile(outputSchema)]));
}
