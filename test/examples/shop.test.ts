// @run on=sqlite,postgres needs=process
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { deliveryHeaders } from '../../src/webhooks/sign.ts';
import { type TestDatabase, createServiceDatabase } from '../support/database.ts';
import {
  type Program,
  type RunningService,
  freePort,
  startProgram,
  startServiceProgram,
  httpStatusOf,
  temporaryFolder,
} from '../process/program.ts';
import { until } from '../support/until.ts';

const SHOP = new URL('../../examples/shop/server.ts', import.meta.url);
const SECRET = `whsec_${Buffer.alloc(32, 5).toString('base64')}`;

interface StoredEvent {
  id: string;
  type: string;
  data: { session_id: string; metadata: { orderId: string } };
}

describe('the example shop', () => {
  const folder = temporaryFolder();
  let database: TestDatabase;
  let tillway: RunningService;
  let shop: Program;
  let shopUrl: string;
  before(async () => {
    database = await createServiceDatabase();
    const port = String(await freePort());
    shopUrl = `http://127.0.0.1:${port}`;
    tillway = await startServiceProgram({
      DATABASE_URL: database.url,
      WEBHOOK_URL: `${shopUrl}/webhooks`,
      WEBHOOK_SECRET: SECRET,
    });
    shop = await openShop(port);
  });
  after(async () => {
    await shop[Symbol.asyncDispose]();
    await tillway[Symbol.asyncDispose]();
    await database[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  it('the example shop is at most 60 lines long', () => {
    assert.ok(readFileSync(SHOP, 'utf8').trimEnd().split('\n').length <= 60);
  });

  it('the example shop sells one item, and fulfils the order once when the order is paid', async () => {
    const checkoutUrl = await buy();
    assert.match(await textOf(`${shopUrl}/thanks?session_id=${sessionOf(checkoutUrl)}`), /not paid yet/);
    const back = await payByCard(checkoutUrl);
    assert.equal(new URL(back).origin, shopUrl);
    await until(() => paidEvents().length === 1);
    assert.match(await textOf(back), /Thank you, the order is paid/);
    // The output of the shop can arrive after its file and its responses.
    await until(() => fulfilled().length > 0);
    assert.deepEqual(fulfilled(), [paidEvents()[0]!.data.metadata.orderId]);
  });

  it('the example shop accepts a repeated event without fulfilling the order again, also after a restart', async () => {
    const before = storedLines();
    const body = before.find((line) => line.includes('"payment.paid"'))!;
    assert.equal(await deliver(body), 200);
    const port = new URL(shopUrl).port;
    await shop[Symbol.asyncDispose]();
    shop = await openShop(port);
    assert.equal(await deliver(body), 200);
    assert.deepEqual(fulfilled(), []);
    assert.deepEqual(storedLines(), before);
  });

  it('the example shop stores an event of another type, which is signed with two secrets', async () => {
    const event = { id: 'evt_pending', type: 'payment.provider_pending', data: { metadata: { orderId: 'o-pending' } } };
    assert.equal(await deliver(JSON.stringify(event), { secrets: [`${SECRET}x`, SECRET] }), 200);
    assert.deepEqual(fulfilled(), []);
    assert.ok(storedLines().some((line) => line.includes('evt_pending')));
  });

  it('the example shop rejects a request without a valid signature', async () => {
    const before = storedLines();
    const data = { metadata: { orderId: 'o-forged' } };
    const body = JSON.stringify({ id: 'evt_forged', type: 'payment.paid', data });
    const now = Math.floor(Date.now() / 1000);
    for (const options of [
      { secrets: ['whsec_another'] },
      { timestamp: now - 310 },
      { timestamp: now + 310 },
      { signed: `${body} ` },
    ]) {
      assert.equal(await deliver(body, options), 400, JSON.stringify(options));
    }
    const zeros = '0'.repeat(64);
    for (const signature of ['', 'v1=', `t=${now}`, `t=${now},v1=`, `t=${now},v1=zz`, `t=,v1=${zeros}`]) {
      const headers = { 'x-gateway-signature': signature };
      assert.equal((await fetch(`${shopUrl}/webhooks`, { method: 'POST', body, headers })).status, 400, signature);
    }
    assert.equal((await fetch(`${shopUrl}/webhooks`, { method: 'POST', body })).status, 400);
    assert.deepEqual(fulfilled(), []);
    assert.deepEqual(storedLines(), before);
  });

  it('the example shop opens the same checkout if the buyer presses the button twice', async () => {
    const form = new URLSearchParams(formOf(await textOf(shopUrl), '/buy').fields);
    const press = async () => {
      const answer = await fetch(`${shopUrl}/buy`, { method: 'POST', body: form, redirect: 'manual' });
      return answer.headers.get('location');
    };
    const [first, second] = await Promise.all([press(), press()]);
    assert.match(first ?? '', /\/checkout\/chk_/);
    assert.equal(second, first);
  });

  async function openShop(port: string): Promise<Program> {
    const program = startProgram(SHOP, {
      PORT: port,
      TILLWAY_URL: tillway.url,
      WEBHOOK_SECRET: SECRET,
      FILE: folder.path('events.jsonl'),
    });
    await until(
      async () => (await httpStatusOf(shopUrl)) === 200,
      () => program.stderr(),
    );
    return program;
  }

  /** Presses the button of the shop, and resolves with the checkout URL. */
  async function buy(): Promise<string> {
    const { fields } = formOf(await textOf(shopUrl), '/buy');
    return redirectOf(`${shopUrl}/buy`, fields);
  }

  /** Pays on the checkout page, and resolves with the link back to the shop. */
  async function payByCard(checkoutUrl: string): Promise<string> {
    const choice = formOf(await textOf(checkoutUrl), '/pay');
    const next = await redirectOf(new URL(choice.action, checkoutUrl).href, { ...choice.fields, kind: 'card' });
    const provider = linkIn(await textOf(new URL(next, checkoutUrl).href), '/simulator/pay/');
    const card = { number: '4242 4242 4242 4242', expiry: '12 / 34', cvc: '123', name: 'Test Buyer' };
    assert.match(await textOf(provider), /Pay by test card/);
    await redirectOf(provider, card);
    let page = '';
    await until(async () => {
      page = await textOf(checkoutUrl);
      return page.includes('Payment received');
    });
    return linkIn(page, `${shopUrl}/thanks`);
  }

  async function deliver(
    body: string,
    { secrets = [SECRET], timestamp = Math.floor(Date.now() / 1000), signed = body } = {},
  ): Promise<number> {
    const headers = deliveryHeaders({ eventId: 'evt_again', body: signed, timestamp, secrets });
    const answer = await fetch(`${shopUrl}/webhooks`, { method: 'POST', headers, body });
    await answer.arrayBuffer();
    return answer.status;
  }

  /** Orders that the shop has fulfilled since its start. */
  function fulfilled(): string[] {
    return [...shop.stdout().matchAll(/^Fulfil order (.*)$/gm)].map(([, orderId]) => orderId!);
  }

  function storedLines(): string[] {
    const path = folder.path('events.jsonl');
    // The first event creates the file, and the last line of the file can be incomplete.
    return existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : [];
  }

  function paidEvents(): StoredEvent[] {
    return storedLines()
      .map((line) => JSON.parse(line) as StoredEvent)
      .filter(({ type }) => type === 'payment.paid');
  }
});

function sessionOf(checkoutUrl: string): string {
  return new URL(checkoutUrl).pathname.split('/').at(-1)!;
}

const textOf = async (url: string) => (await fetch(url)).text();

async function redirectOf(url: string, fields: Record<string, string>): Promise<string> {
  const answer = await fetch(url, { method: 'POST', redirect: 'manual', body: new URLSearchParams(fields) });
  assert.equal(answer.status, 303, await answer.text());
  return answer.headers.get('location')!;
}

/** The form whose action ends with `end`, with its hidden fields. */
function formOf(page: string, end: string): { action: string; fields: Record<string, string> } {
  for (const [, action = '', inner = ''] of page.matchAll(/<form[^>]* action="([^"]*)"[^>]*>(.*?)<\/form>/gs)) {
    if (!action.endsWith(end)) continue;
    const hidden = inner.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g);
    return { action, fields: Object.fromEntries(Array.from(hidden, ([, name, value]) => [name!, value!])) };
  }
  throw new Error(`no form for ${end} in ${page}`);
}

function linkIn(page: string, part: string): string {
  const links = Array.from(page.matchAll(/<a\b[^>]* href="([^"]*)"/g), ([, href]) => href!.replaceAll('&amp;', '&'));
  const link = links.find((href) => href.includes(part));
  assert.ok(link, `no link to ${part} in ${page}`);
  return link;
}
