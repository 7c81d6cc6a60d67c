import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { describe, test } from 'node:test';
import type { Capabilities } from '../../src/contract/capabilities-contract.ts';
import { linksOf } from '../support/agent-client.ts';
import { call, startTestService } from '../support/service.ts';

type LinkSet = { linkset: Record<string, { href: string }[]>[] };
type Guide = { verifySample: { secret: string } };

/** The first document that the API catalogue of a service lists for a link relation. */
async function discover<Found>(url: string, relation: string): Promise<Found> {
  const front = await fetch(url, { method: 'HEAD' });
  const [catalogue = ''] = linksOf(front.headers.get('link'))['api-catalog'] ?? [];
  const { body } = await call<LinkSet>('GET', catalogue);
  return (await call<Found>('GET', body.linkset[0]![relation]![0]!.href)).body;
}

describe('a client that knows only the address of the service', () => {
  for (const kind of ['card', 'wallet', 'local']) {
    test(`a client that knows only the address finds the capabilities and completes a sandbox payment by ${kind}`, async () => {
      await using service = await startTestService();
      const { actions, entrypoints, webhooks } = await discover<Capabilities>(service.url, 'service-meta');
      const urlOf = (id: string, name: string, value: string) =>
        entrypoints.find((entry) => entry.id === id)!.url.replace(`{${name}}`, value);
      const act = async (name: string, input: Record<string, unknown>) => {
        const { url } = actions.find((action) => action.name === name)!;
        const { status, body } = await call<{ result: Record<string, unknown> }>('POST', url, input);
        assert.equal(status, 200, JSON.stringify(body));
        return body.result;
      };
      const example = actions.find(({ name }) => name === 'checkout.create')!.example.request;
      const created = await act('checkout.create', { ...example, preferredRoute: kind });
      const sessionId = String(created['id']);
      const payment = urlOf('getPayment', 'paymentId', sessionId);
      assert.equal((await call('GET', payment)).status, 404);

      const payload = { eventId: 'evt_cold_1', sessionId, status: 'paid', amount: example['amount'] };
      const signature = signatureOf(payload, (webhooks as unknown as Guide).verifySample.secret);
      const verified = await act('webhook.verify_sample', { payload, signature });
      assert.equal(verified['merchantWebhookQueued'], true);

      assert.equal((await call<{ status: string }>('GET', payment)).body.status, 'paid');
      const events = `${entrypoints.find(({ id }) => id === 'listEvents')!.url}?sessionId=${sessionId}`;
      const { body: listed } = await call<{ data: { type: string }[] }>('GET', `${events}&type=payment.paid`);
      assert.deepEqual(
        listed.data.map(({ type }) => type),
        ['payment.paid'],
      );
    });
  }

  test('a client completes a sandbox payment with the instructions in /llms.txt', async () => {
    await using service = await startTestService();
    const front = await fetch(service.url, { method: 'HEAD' });
    const [address = ''] = linksOf(front.headers.get('link'))['describedby'] ?? [];
    const text = await (await fetch(address)).text();
    const matchIn = (pattern: RegExp) => pattern.exec(text)?.[1] ?? assert.fail(`${pattern} is not in ${text}`);
    const act = (name: string, body: object) => {
      const url = matchIn(new RegExp(String.raw`\[${name}\]\((\S+/actions/\S+)\): POST`));
      return call<{ result: { id: string } }>('POST', url, body);
    };
    const order = { product: 'Field guide', amount: 20, customer: 'buyer@example.com' };
    const { id: sessionId } = (await act('checkout.create', order)).body.result;
    const payload = { eventId: 'evt_cold_2', sessionId, status: 'paid', amount: 20 };
    const signature = signatureOf(payload, matchIn(/HMAC-SHA256 of [^>]* keyed with (\w+)>/));
    assert.equal((await act('webhook.verify_sample', { payload, signature })).status, 200);
    const payment = matchIn(/GET (\S+\/)\{session id\}/) + sessionId;
    assert.equal((await call<{ status: string }>('GET', payment)).body.status, 'paid');
  });
});

/** Signature `t=<unix seconds>,v1=<hex HMAC-SHA256 of t, a full stop and the payload as compact JSON>`. */
function signatureOf(payload: object, secret: string): string {
  const digest = createHmac('sha256', secret)
    .update(`1768469400.${JSON.stringify(payload)}`)
    .digest('hex');
  return `t=1768469400,v1=${digest}`;
}
