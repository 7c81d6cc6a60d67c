import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { describe, it } from 'node:test';
import { signCallback } from '../../src/webhooks/sign.ts';
import { SECRET, createSession, start, trustSecret } from '../simulator/buyer.ts';
import { paymentsOf } from '../support/gateway.ts';
import { sendRaw } from '../support/raw-http.ts';
import { suiteService } from '../support/suite.ts';

const tillway = suiteService({}, async () => {
  trustSecret(tillway);
  sessionId = await createSession(tillway);
  await start(tillway, sessionId, 'card');
  paymentId = (await paymentsOf(tillway, sessionId))[0]!.id;
});
let sessionId: string;
let paymentId: string;

const bodyOf = (event: string) =>
  JSON.stringify({
    event,
    type: 'charge.updated',
    order: sessionId,
    charge: paymentId,
    state: 'CREATED',
    amount: 4999,
    currency: 'USD',
  });
const seconds = () => Math.floor(tillway.clock.now() / 1000);

async function send(body: string, headers: Record<string, string>, provider = 'sandbox'): Promise<number> {
  const answer = await fetch(`${tillway.url}/api/providers/${provider}/callbacks`, { method: 'POST', body, headers });
  await answer.arrayBuffer();
  return answer.status;
}

async function rows(): Promise<string> {
  const { store } = tillway.service.deps;
  const checkout = await store.checkout(sessionId);
  return JSON.stringify([checkout, await store.providerMessages(sessionId)]);
}

describe('a provider callback', () => {
  it('a callback with an invalid, missing or repeated signature is rejected with 401 and changes nothing', async () => {
    const before = await rows();
    const body = bodyOf('forged');
    const t = seconds();
    const right = signCallback(SECRET, t, body);
    const hex = /v1=([0-9a-f]+)/.exec(right)![1]!;
    const mac = (secret: string, text: string) => createHmac('sha256', secret).update(text).digest('hex');
    const wrong = [
      '',
      ' ',
      'v1=',
      `t=${t}`,
      `t=${t},v1=`,
      `t=${t},v1=${hex.slice(1)}`,
      `t=${t},v1=${hex}0`,
      `t=${t},v1=${hex}${hex}`,
      `t=${t},v1=${'z'.repeat(64)}`,
      `t=${t},v1=${'0'.repeat(64)}`,
      `t=${t},v1=${'x'.repeat(4000)}`,
      `t=,v1=${hex}`,
      `t=-1,v1=${hex}`,
      `t=NaN,v1=${hex}`,
      `t=1e9,v1=${hex}`,
      `t=99999999999999999999,v1=${hex}`,
      `t=${t + 1},v1=${hex}`,
      `v1=${hex}`,
      hex,
      signCallback('another secret', t, body),
      signCallback(SECRET, t, `${body} `),
      `t=${t},v1=${mac(SECRET, body)}`,
      `t=${t},v1=${mac('', `${t}.${body}`)}`,
    ];
    for (const signature of wrong)
      assert.equal(await send(body, { 'x-provider-signature': signature }), 401, signature);
    assert.equal(await send(body, {}), 401);
    const head = 'POST /api/providers/sandbox/callbacks HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n';
    const twice = `x-provider-signature: ${right}\r\nx-provider-signature: t=1,v1=00\r\n`;
    const length = `content-length: ${body.length}\r\n\r\n`;
    assert.equal((await sendRaw(tillway.url, head + twice + length + body)).status, 401);
    assert.equal(await send(body, { 'x-provider-signature': right }, 'another'), 404);
    assert.equal(await rows(), before);
  });
});
