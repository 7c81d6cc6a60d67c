// @run needs=process
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { BOOTSTRAP, bearer, makeKeys } from '../support/keys.ts';
import { providerSays } from '../support/money-arrives.ts';
import { type TestService, call, sessionBody, startTestService } from '../support/service.ts';
import { type Envelope, type ToolAnswer, callTool, rpc } from './rpc.ts';
import { stdioCommand } from './stdio-command.ts';
import { startBridge } from './stdio.ts';

let service: TestService;
let url: string;
before(async () => {
  service = await startTestService();
  url = service.url;
});
after(() => service[Symbol.asyncDispose]());

async function createSession(status?: 'paid'): Promise<string> {
  const { structuredContent } = await callTool(url, 'checkout_create', sessionBody());
  const id = String(structuredContent.result!['id']);
  if (status) await providerSays(service, id, status);
  return id;
}

const envelopeOf = async (name: string, input: Record<string, unknown>) =>
  (await callTool(url, name, input)).structuredContent;

describe('the MCP tools for records', () => {
  test('the MCP tools for records return the responses of the gateway API for a session, payments and a refund', async () => {
    const id = await createSession('paid');
    const refunds = `${url}/api/gateway/payments/${id}/refunds`;
    const { body: refund } = await call<{ id: string }>('POST', refunds, { amount: 2 });
    const { body: payments } = await call<{ data: { id: string }[] }>('GET', `${url}/api/gateway/payments?limit=1`);
    const cases: [name: string, input: Record<string, unknown>, path: string][] = [
      ['session_get', { sessionId: id }, `sessions/${id}`],
      ['payment_get', { paymentId: id }, `payments/${id}`],
      ['payment_list', { limit: 1 }, 'payments?limit=1'],
      ['payment_list', { startingAfter: payments.data[0]!.id }, `payments?startingAfter=${payments.data[0]!.id}`],
      ['refund_get', { refundId: refund.id }, `refunds/${refund.id}`],
    ];
    for (const [name, input, path] of cases) {
      const { body: result } = await call('GET', `${url}/api/gateway/${path}`);
      assert.deepEqual(await envelopeOf(name, input), { ok: true, action: name.replace('_', '.'), result }, path);
    }
  });

  test('the MCP tools return the error of the gateway API for a missing record, and invalid_input for an invalid id', async () => {
    const none = '01m7x0e4kq3v8n5c2t9y6w1r4b7d0f3h5j8m';
    for (const [name, field, id, path] of [
      ['session_get', 'sessionId', `chk_${none}`, `sessions/chk_${none}`],
      ['refund_get', 'refundId', `ref_${none}`, `refunds/ref_${none}`],
    ] as const) {
      const { body } = await call<Envelope>('GET', `${url}/api/gateway/${path}`);
      assert.deepEqual((await envelopeOf(name, { [field]: id })).error, body.error, name);
      assert.equal((await envelopeOf(name, { [field]: '../keys' })).error!.code, 'invalid_input');
    }
  });

  test('session_expire expires a session, but not after its buyer has started to pay', async () => {
    const id = await createSession();
    const { result } = await envelopeOf('session_expire', { sessionId: id });
    assert.equal(result!['status'], 'expired');
    const { error } = await envelopeOf('session_expire', { sessionId: await createSession('paid') });
    assert.equal(error!.code, 'invalid_state');
  });

  test('refund_create and the REST API create one refund for an idempotency key', async () => {
    const id = await createSession('paid');
    const input = { paymentId: id, amount: 10, reason: 'duplicate', idempotencyKey: 'refund-one-way' };
    const { result } = await envelopeOf('refund_create', input);
    const { paymentId, ...body } = input;
    const rest = await call('POST', `${url}/api/gateway/payments/${paymentId}/refunds`, body);
    assert.deepEqual(result, rest.body);
    const { body: payment } = await call<Record<string, number>>('GET', `${url}/api/gateway/payments/${id}`);
    assert.equal(payment['refundPendingAmount']! + payment['refundedAmount']!, 10);
    const { error: conflict } = await envelopeOf('refund_create', { ...input, amount: 11 });
    assert.equal(conflict!.code, 'idempotency_conflict');
    const { error: tooMuch } = await envelopeOf('refund_create', { paymentId: id, amount: 1000 });
    assert.deepEqual([tooMuch!.code, tooMuch!.field], ['invalid_input', 'amount']);
  });
});

test('tools/list contains only the tools that the API key may call; other tools are forbidden, as over REST', async () => {
  await using protectedService = await startTestService({ variables: BOOTSTRAP });
  const { sandbox: keys } = await makeKeys(protectedService.url);
  const forbiddenTools: Record<keyof typeof keys, string[]> = {
    admin: [],
    write: [],
    read: ['checkout_create', 'webhook_verify_sample', 'session_expire', 'refund_create'],
    agent: ['webhook_verify_sample', 'session_expire', 'payment_list', 'refund_create', 'refund_get'],
  };
  const { tools: all } = (await rpc<{ tools: { name: string }[] }>(url, 'tools/list')).result;
  for (const [scope, names] of Object.entries(forbiddenTools) as [keyof typeof keys, string[]][]) {
    const allowedTools = all.map(({ name }) => name).filter((name) => !names.includes(name));
    const http = await rpc<{ tools: { name: string }[] }>(protectedService.url, 'tools/list', {}, bearer(keys[scope]));
    await using bridge = startBridge(protectedService.url, { apiKey: keys[scope] });
    for (const { tools } of [http.result, await bridge.request<typeof http.result>('tools/list')]) {
      assert.deepEqual(
        tools.map(({ name }) => name),
        allowedTools,
        scope,
      );
    }
    for (const name of names) {
      const { result } = await rpc<ToolAnswer>(
        protectedService.url,
        'tools/call',
        { name, arguments: {} },
        bearer(keys[scope]),
      );
      assert.equal(result.structuredContent.error!.code, 'forbidden', `${scope} ${name}`);
    }
  }
  const path = '/api/gateway/payments/pay_1/refunds';
  const rest = await call<Envelope>('POST', protectedService.url + path, {}, bearer(keys.read));
  const input = { name: 'refund_create', arguments: { paymentId: 'pay_1' } };
  const { result } = await rpc<ToolAnswer>(protectedService.url, 'tools/call', input, bearer(keys.read));
  assert.deepEqual(result.structuredContent.error, rest.body.error);
});

describe('an MCP host that can open pages for its user', () => {
  /** Connects a client that supports elicitation by URL. `opened` lists the URLs that the service asked the client to open. */
  async function connectHost(transport: 'http' | 'legacy stdio', action: 'accept' | 'decline') {
    const opened: string[] = [];
    const legacy = transport === 'legacy stdio';
    const client = new Client(
      { name: 'host', version: '1' },
      {
        capabilities: { elicitation: { url: {} } },
        versionNegotiation: { mode: legacy ? 'legacy' : { pin: '2026-07-28' } },
      },
    );
    client.setRequestHandler('elicitation/create', ({ params }) => {
      if (params.mode === 'url') opened.push(params.url);
      return { action };
    });
    const http = () => new StreamableHTTPClientTransport(new URL(`${url}/mcp`));
    await client.connect(legacy ? new StdioClientTransport(stdioCommand(url)) : http());
    return { client, opened, [Symbol.asyncDispose]: () => client.close() };
  }
  const sessionsOf = async (customer: string) =>
    (await call<{ data: unknown[] }>('GET', `${url}/api/gateway/sessions?customer=${customer}`)).body.data.length;

  for (const [transport, action] of [
    ['http', 'accept'],
    ['http', 'decline'],
    ['legacy stdio', 'accept'],
  ] as const) {
    test(`an MCP host is asked to open the page of a new checkout (${transport}, ${action})`, async () => {
      await using host = await connectHost(transport, action);
      const customer = `${transport.replace(' ', '.')}.${action}@example.com`;
      const answer = await host.client.callTool({ name: 'checkout_create', arguments: sessionBody({ customer }) });
      const { structuredContent } = answer as unknown as ToolAnswer;
      assert.equal(structuredContent.ok, true);
      assert.deepEqual(host.opened, [structuredContent.result!['checkoutUrl']]);
      assert.equal(await sessionsOf(customer), 1);
    });
  }

  test('an MCP host is not asked to open a page if the checkout was rejected', async () => {
    await using host = await connectHost('http', 'accept');
    const answer = await host.client.callTool({ name: 'checkout_create', arguments: { amount: 0 } });
    assert.equal((answer as unknown as ToolAnswer).structuredContent.error!.code, 'invalid_input');
    assert.deepEqual(host.opened, []);
  });
});
