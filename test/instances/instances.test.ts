// @run on=postgres needs=browser
import assert from 'node:assert/strict';
import { type IncomingMessage, type Server, type ServerResponse, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { openPage, startBrowser } from '../support/browser.ts';
import { TEST_DATABASE, settingsOf } from '../support/database.ts';
import { providerSays } from '../support/money-arrives.ts';
import { type TestService, call, sessionBody, startTestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { brokenInvariants } from '../support/sound.ts';

// Two instances over one database, behind a proxy that alternates between them.

const SECRET = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;

interface Proxy {
  url: string;
  /** Instances that get the next requests in turn. */
  targets: string[];
  /** Number of requests of each target. */
  counts: Map<string, number>;
  close(): void;
}

const listen = async (server: Server): Promise<string> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

async function startProxy(): Promise<Proxy> {
  const targets: string[] = [];
  const counts = new Map<string, number>();
  let turn = 0;
  async function forward(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const target = targets[turn++ % targets.length]!;
    counts.set(target, (counts.get(target) ?? 0) + 1);
    const onward = request(target + incoming.url!, { method: incoming.method!, headers: incoming.headers });
    onward.on('response', (answer) => {
      outgoing.writeHead(answer.statusCode!, answer.headers);
      void pipeline(answer, outgoing).catch(() => outgoing.destroy());
    });
    await pipeline(incoming, onward);
  }
  const server = createServer((incoming, outgoing) => {
    forward(incoming, outgoing).catch(() => outgoing.destroy());
  });
  const url = await listen(server);
  return { url, targets, counts, close: () => server.close() };
}

/** A merchant that records the id of every event it gets. */
async function startReceiver(): Promise<{ url: string; events: string[]; close(): void }> {
  const events: string[] = [];
  const server = createServer((incoming, outgoing) => {
    events.push(String(incoming.headers['x-gateway-event']));
    incoming.resume().on('end', () => outgoing.end());
  });
  const url = await listen(server);
  return { url: `${url}/webhooks`, events, close: () => server.close() };
}

const skip = TEST_DATABASE === 'sqlite' && 'several instances are for PostgreSQL: see docs/scaling.md';

describe('two instances over one database', { skip }, () => {
  let browser: Browser;
  let proxy: Proxy;
  let receiver: Awaited<ReturnType<typeof startReceiver>>;
  let one: TestService;
  let other: TestService;
  before(async () => {
    [proxy, receiver, browser] = await Promise.all([startProxy(), startReceiver(), startBrowser()]);
    const variables = { BASE_URL: proxy.url, WEBHOOK_URL: receiver.url, WEBHOOK_SECRET: SECRET };
    one = await startTestService({ live: true, background: false, variables });
    other = await startTestService({ live: true, beside: one, variables });
    proxy.targets.push(one.url, other.url);
  });
  after(async () => {
    await browser.close();
    await other[Symbol.asyncDispose]();
    await one[Symbol.asyncDispose]();
    proxy.close();
    receiver.close();
  });

  async function received(count: number, sessionId: string): Promise<string[]> {
    const ofSession = () => receiver.events.filter((id) => id.includes(sessionId));
    await until(() => ofSession().length >= count);
    return ofSession();
  }

  test('let a buyer pay and see it without a reload, and notify the merchant once', async () => {
    const created = await call<{ id: string; checkoutUrl: string }>(
      'POST',
      `${proxy.url}/api/gateway/sessions`,
      sessionBody(),
    );
    const { id, checkoutUrl } = created.body;
    const { page, complaints } = await openPage(browser);
    await page.goto(checkoutUrl);
    await page.getByRole('radio', { name: /^Bank transfer/ }).check();
    await page.getByRole('button', { name: /^Pay \$/ }).click();
    const confirm = page.getByRole('button', { name: 'I have sent it' });
    await confirm.waitFor();
    const meanwhile = await page.context().newPage();
    await meanwhile.goto(checkoutUrl);
    await meanwhile.getByRole('heading', { name: 'Waiting for your payment' }).waitFor();
    await confirm.click();
    await meanwhile.getByRole('heading', { name: 'Payment received' }).waitFor();
    assert.deepEqual(await received(2, id), [`evt_${id}_provider_pending`, `evt_${id}_paid`]);
    assert.deepEqual(complaints, []);
    assert.ok(
      [one, other].every(({ url }) => (proxy.counts.get(url) ?? 0) > 3),
      'one instance got no requests',
    );
    await page.context().close();
  });

  test('deliver events that the other one has committed', async (context) => {
    // The first instance runs no workers, as if it had died right after the commit.
    const { body } = await call<{ id: string }>('POST', `${one.url}/api/gateway/sessions`, sessionBody());
    await providerSays(one, body.id, 'paid');
    const committed = performance.now();
    assert.deepEqual(await received(1, body.id), [`evt_${body.id}_paid`]);
    context.diagnostic(`${(performance.now() - committed).toFixed(0)} ms after the commit`);
  });

  test('create one session for simultaneous requests with one idempotency key', async () => {
    const request = sessionBody({ idempotencyKey: 'on-both-at-once', customer: 'new-here@example.com' });
    const answers = await Promise.all(
      Array.from({ length: 16 }, (_, index) =>
        call<{ id: string }>('POST', `${[one, other][index % 2]!.url}/api/gateway/sessions`, request),
      ),
    );
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
    assert.equal(new Set(answers.map(({ body }) => body.id)).size, 1);
  });

  test('break no invariant', async () => {
    assert.deepEqual(await brokenInvariants(settingsOf(one.databaseUrl)), []);
  });
});
