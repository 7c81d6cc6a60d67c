import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { RouteKind } from '../../src/domain/route.ts';
import { attempt } from '../simulator/buyer.ts';
import { startTestService } from '../support/service.ts';
import type { Envelope } from './rpc.ts';

/** Connects an agent that knows only the URL of /mcp. */
async function connect(url: string) {
  const client = new Client({ name: 'agent', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`)));
  const run = async (name: string, input: Record<string, unknown>) => {
    const { structuredContent } = await client.callTool({ name, arguments: input });
    return structuredContent as Envelope;
  };
  return { client, run, [Symbol.asyncDispose]: () => client.close() };
}

test('an agent that knows only the URL of /mcp sells one item by each payment method', async () => {
  await using service = await startTestService();
  await using agent = await connect(service.url);
  const { client, run } = agent;
  assert.match(client.getInstructions()!, /payment_get returns status paid/);
  const { tools } = await client.listTools();
  assert.equal(tools.length, 12);
  for (const kind of ['card', 'wallet', 'local'] satisfies RouteKind[]) {
    const order = { product: 'Field guide', amount: 49.99, customer: `${kind}@example.com`, preferredRoute: kind };
    const preview = await run('checkout_preview', order);
    const created = await run('checkout_create', { ...order, idempotencyKey: `order-${kind}-1` });
    const { id, checkoutUrl, feeSplit } = created.result as { id: string; checkoutUrl: string; feeSplit: object };
    assert.deepEqual(feeSplit, preview.result!['feeSplit']);
    assert.equal(checkoutUrl, `${service.url}/checkout/${id}`);
    assert.equal((await run('payment_get', { paymentId: id })).error?.code, 'not_found');

    await attempt(service, id, kind, 'paid');
    assert.equal((await run('payment_get', { paymentId: id })).result?.['status'], 'pending');
    await service.pass(60_000);
    const paid = await run('payment_get', { paymentId: id });
    assert.deepEqual([paid.result?.['status'], paid.result?.['sessionId']], ['paid', id]);
    assert.deepEqual(await run('payment_get', { paymentId: paid.result!['id'] }), paid);
  }
});

test('a sample callback that is signed as the tool description explains pays the session without a buyer', async () => {
  await using service = await startTestService();
  await using agent = await connect(service.url);
  const { client, run } = agent;
  const created = await run('checkout_create', { product: 'Field guide', amount: 20, customer: 'buyer@example.com' });
  const sessionId = created.result!['id'];
  const { tools } = await client.listTools();
  const { description = '' } = tools.find(({ name }) => name === 'webhook_verify_sample')!;
  assert.match(description, /t=<unix seconds>,v1=<hex HMAC-SHA256 of t, a full stop and payload as compact JSON/);
  const [, secret = ''] = /keyed with the text (\w+)/.exec(description)!;
  // The capabilities contain the same secret.
  const { contents } = await client.readResource({ uri: 'gateway://capabilities' });
  const { webhooks } = JSON.parse((contents[0] as { text: string }).text) as {
    webhooks: { verifySample: { secret: string } };
  };
  assert.equal(secret, webhooks.verifySample.secret);
  const payload = { eventId: 'evt_agent_1', sessionId, status: 'paid', amount: 20 };
  const signed = `1700000000.${JSON.stringify(payload)}`;
  const signature = `t=1700000000,v1=${createHmac('sha256', secret).update(signed).digest('hex')}`;
  const verified = await run('webhook_verify_sample', { payload, signature });
  assert.equal(verified.result?.['merchantWebhookQueued'], true);
  assert.equal((await run('payment_get', { paymentId: sessionId })).result?.['status'], 'paid');
});
