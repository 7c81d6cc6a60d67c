// @run on=postgres needs=browser
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { startMerchant, startServer } from '../support/http-server.ts';
import { openPage, startBrowser } from '../support/browser.ts';
import { providerSays } from '../support/money-arrives.ts';
import { type TestService, call, sessionBody, startTestService } from '../support/service.ts';
import { assertSound } from '../support/sound.ts';
import { until } from '../support/until.ts';

const SECRET = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;

/** An HTTP proxy that forwards requests to its targets in turn and counts the requests per target. */
async function startProxy() {
  const targets: string[] = [];
  const counts = new Map<string, number>();
  let turn = 0;
  const server = await startServer((incoming, outgoing) => {
    const target = targets[turn++ % targets.length]!;
    counts.set(target, (counts.get(target) ?? 0) + 1);
    const onward = request(target + incoming.url!, { method: incoming.method!, headers: incoming.headers });
    onward.on('response', (answer) => answer.pipe(outgoing.writeHead(answer.statusCode!, answer.headers)));
    onward.on('error', () => outgoing.destroy());
    outgoing.on('close', () => onward.destroy());
    incoming.pipe(onward);
  });
  return Object.assign(server, { targets, counts });
}

describe('two instances with one database, behind a proxy that alternates between them', () => {
  const stack = new AsyncDisposableStack();
  let proxy: Awaited<ReturnType<typeof startProxy>>;
  let one: TestService;
  let other: TestService;
  let received: (sessionId: string, count: number) => Promise<string[]>;
  before(async () => {
    proxy = stack.use(await startProxy());
    const merchant = stack.use(await startMerchant());
    const variables = { BASE_URL: proxy.url, WEBHOOK_URL: merchant.url, WEBHOOK_SECRET: SECRET };
    // The first instance runs no workers, as if its process had died after each commit.
    one = stack.use(await startTestService({ live: true, background: false, variables }));
    other = stack.use(await startTestService({ live: true, beside: one, variables }));
    proxy.targets.push(one.url, other.url);
    received = async (sessionId, count) => {
      const ids = () => merchant.received.map(({ headers }) => String(headers['x-gateway-event']));
      const ofSession = () => ids().filter((id) => id.includes(sessionId));
      await until(() => ofSession().length >= count);
      return ofSession();
    };
  });
  after(() => stack.disposeAsync());

  test('two instances show the payment in an open page without a reload, and send each event once', async () => {
    await using browser = await startBrowser();
    const { body } = await call<{ id: string; checkoutUrl: string }>(
      'POST',
      `${proxy.url}/api/gateway/sessions`,
      sessionBody(),
    );
    const { page, complaints } = await openPage(browser);
    await page.goto(body.checkoutUrl);
    await page.getByRole('radio', { name: /^Bank transfer/ }).check();
    await page.getByRole('button', { name: /^Pay \$/ }).click();
    const confirm = page.getByRole('button', { name: 'I have sent it' });
    await confirm.waitFor();
    const secondPage = await page.context().newPage();
    await secondPage.goto(body.checkoutUrl);
    await secondPage.getByRole('heading', { name: 'Waiting for your payment' }).waitFor();
    await confirm.click();
    await secondPage.getByRole('heading', { name: 'Payment received' }).waitFor();
    assert.deepEqual(await received(body.id, 2), [`evt_${body.id}_provider_pending`, `evt_${body.id}_paid`]);
    assert.deepEqual(complaints, []);
    for (const { url } of [one, other]) assert.ok((proxy.counts.get(url) ?? 0) > 3, 'one instance got no requests');
  });

  test('an instance delivers events that another instance committed', async () => {
    const { body } = await call<{ id: string }>('POST', `${one.url}/api/gateway/sessions`, sessionBody());
    await providerSays(one, body.id, 'paid');
    assert.deepEqual(await received(body.id, 1), [`evt_${body.id}_paid`]);
  });

  test('two instances break no invariant', () => assertSound(one.databaseUrl));
});
