import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { brotliCompressSync } from 'node:zlib';
import { startTestService } from '../support/service.ts';
import { createStage, everyState, startStage } from './stage.ts';

const MAX_COMPRESSED_BYTES = 30 * 1024;

const { service, fake, stage, end } = await startStage();
const states = await everyState(service, stage);
after(end);

async function get(url: string, init: RequestInit = {}): Promise<{ status: number; headers: Headers; text: string }> {
  const response = await fetch(url, { redirect: 'manual', ...init });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

async function page(state: string): Promise<string> {
  return (await get(states.get(state)!)).text;
}

function textOf(markup: string): string {
  return markup.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ');
}

test('every checkout state has a page with exactly one heading', async () => {
  const headingsOf: Record<string, string[]> = {
    'Choose how to pay': ['choose', 'notice', 'long', 'rtl', 'evil'],
    'That payment did not go through': ['declined'],
    'Choose another way to pay': ['switched'],
    'Waiting for your payment': ['waiting', 'not-stopped'],
    'We are confirming with the provider': ['confirming', 'returned'],
    'Your payment is in progress': ['processing'],
    'Payment received': ['paid', 'paid-own-page', 'surplus'],
    'Payment refunded': ['refunded'],
    'The payment was not completed': ['failed', 'failed-uncertain', 'failed-own-page', 'failed-uncertain-own-page'],
    'This checkout has expired': ['expired', 'expired-own-page'],
    'This payment cannot be taken right now': ['no-way'],
    'This is a preview': ['preview'],
    'There is no checkout here': ['unknown'],
  };
  const expected = new Map(Object.entries(headingsOf).flatMap(([title, names]) => names.map((name) => [name, title])));
  assert.deepEqual([...states.keys()].toSorted(), [...expected.keys()].toSorted());
  for (const [state, title] of expected) {
    const answer = await get(states.get(state)!);
    assert.equal(answer.status, state === 'unknown' ? 404 : 200, state);
    const headings = [...answer.text.matchAll(/<h[1-6][^>]*>(.*?)<\/h[1-6]>/gs)].map(([, text]) => text);
    assert.deepEqual(headings, [title], state);
  }
});

test('a checkout page, its style sheet and its script have at most 30 KB in total after compression', async () => {
  const sizes: number[] = [];
  const assetSizes = new Map<string, number>();
  for (const url of states.values()) {
    const { text } = await get(url);
    const assets = [...text.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map(([, path]) => path!);
    assert.equal(assets.length, 2);
    let size = brotliCompressSync(text).length;
    for (const path of assets) {
      // The path of an asset contains the hash of its content.
      if (!assetSizes.has(path)) assetSizes.set(path, brotliCompressSync((await get(service.url + path)).text).length);
      size += assetSizes.get(path)!;
    }
    sizes.push(size);
  }
  assert.ok(Math.max(...sizes) <= MAX_COMPRESSED_BYTES, `the largest is ${Math.max(...sizes)} bytes`);
});

test('the checkout page lists the payment methods with fee and total, and the preferred method first and preselected', async () => {
  const id = await stage.create({ preferredRoute: 'wallet', amount: 1234.5 });
  const { text } = await get(stage.url(id));
  const methods = [...text.matchAll(/name="kind"\s+id="way-\w+"\s+value="(\w+)"\s+required\s*(checked)?/g)];
  assert.deepEqual(
    methods.map(([, kind, checked]) => [kind, checked === 'checked']),
    [
      ['wallet', true],
      ['card', false],
      ['local', false],
    ],
  );
  assert.match(text, /name="total_wallet" value="124067"/);
  assert.match(text, /name="total_card" value="123450"/);
  assert.match(textOf(text), /Wallet about 1 minute \$1,240\.67 \$6\.17 fee/);
});

test('paying redirects to the provider through a page of the checkout', async () => {
  const id = await stage.create();
  const paid = await stage.submit(id, 'pay', { kind: 'card', total_card: '4999' });
  assert.deepEqual(paid, { status: 303, location: `/checkout/${id}/continue` });
  const { text } = await get(`${stage.url(id)}/continue`);
  assert.ok(text.includes(`<meta http-equiv="refresh" content="0;url=${fake.pageUrl}?back=`));
  assert.ok(text.includes(`href="${fake.pageUrl}?back=`));
  assert.match(textOf(text), /You pay \$49\.99 there/);
  // A second click gets the same redirect.
  assert.deepEqual(await stage.submit(id, 'pay', { kind: 'card', total_card: '4999' }), paid);
});

test('an old page does not lead to the provider of another payment method than the buyer chose', async () => {
  const id = await stage.create();
  await stage.submit(id, 'pay', { kind: 'wallet', total_wallet: '5024' });
  const toCheckout = { status: 303, location: `/checkout/${id}` };
  assert.deepEqual(await stage.submit(id, 'pay', { kind: 'card', total_card: '9999' }), toCheckout);
  assert.match(textOf((await get(stage.url(id))).text), /\$50\.24.*Continue at.*Choose another way to pay/);
});

test('the checkout page shows a notice if a payment cannot start', async () => {
  const id = await stage.create();
  const path = `/checkout/${id}`;
  const lower = await stage.submit(id, 'pay', { kind: 'wallet', total_wallet: '5023' });
  assert.deepEqual(lower, { status: 303, location: `${path}?notice=fee_changed` });
  assert.match(await (await fetch(service.url + lower.location)).text(), /The fee has changed/);

  fake.answer = 'refuse';
  const refused = await stage.submit(id, 'pay', { kind: 'card', total_card: '4999' });
  fake.answer = 'accept';
  assert.equal(refused.location, `${path}?notice=refused`);
  assert.match(textOf(await (await fetch(service.url + refused.location)).text()), /You can try 2 more times/);

  const production = await stage.create({ environment: 'production' });
  const none = await stage.submit(production, 'pay', { kind: 'card', total_card: '4999' });
  assert.equal(none.location, `/checkout/${production}?notice=no_route`);

  await stage.start(id);
  await stage.submit(id, 'cancel');
  const closed = await stage.submit(id, 'pay', { kind: 'card', total_card: '4999' });
  assert.equal(closed.location, `${path}?notice=closed`);

  const foreign = await get(`${stage.url(await stage.create())}?notice=constructor&notice=<b>`);
  assert.doesNotMatch(foreign.text, /id="notice"/);
});

test('the page of a payment in progress shows its expected time, and offers no switch, cancellation or link to the provider', async () => {
  const processing = await page('processing');
  assert.match(textOf(processing), /the money has arrived\. This usually takes up to 10 days\./);
  assert.doesNotMatch(processing, /<form|Continue at/);
  assert.match(await page('waiting'), /<form[^>]*cancel/);
});

test('the page for a buyer who returns from the provider does not link to the provider again', async () => {
  const id = await stage.create();
  await stage.start(id);
  const back = await get(`${stage.url(id)}/back`);
  assert.deepEqual([back.status, back.headers.get('location')], [303, `/checkout/${id}?returned=1`]);
  assert.doesNotMatch(await page('returned'), /Continue at/);
  assert.match(await page('returned'), /<form[^>]*cancel/);
  // The query parameter `returned` does not change the page of a paid session.
  assert.match((await get(`${states.get('paid')!}?returned=1`)).text, /Payment received/);
});

test('the address at which a buyer returned from an earlier attempt shows the current attempt', async () => {
  const id = await stage.create();
  await stage.start(id);
  await stage.report(id, 'failed');
  await stage.start(id);
  assert.match((await get(`${stage.url(id)}?returned=1`)).text, /Continue at/);
  const back = await get(`${stage.url(id)}/back`);
  assert.doesNotMatch((await get(new URL(back.headers.get('location')!, stage.url(id)).href)).text, /Continue at/);
});

test('cancelling closes a started checkout and leaves a checkout without a payment open', async () => {
  const fresh = await stage.create();
  assert.equal((await stage.submit(fresh, 'cancel')).location, `/checkout/${fresh}?notice=kept_open`);
  assert.equal((await service.service.deps.store.session(fresh))!.status, 'routed');

  const started = await stage.create();
  await stage.start(started);
  assert.equal((await stage.submit(started, 'cancel')).location, `/checkout/${started}`);
  assert.equal((await service.service.deps.store.session(started))!.status, 'failed');
});

test('the buyer can choose another payment method as long as attempts remain', async () => {
  const id = await stage.create();
  for (const left of [2, 1]) {
    await stage.start(id);
    assert.match((await get(stage.url(id))).text, /\/switch"/);
    assert.deepEqual(await stage.submit(id, 'switch'), { status: 303, location: `/checkout/${id}` });
    const tries = left === 1 ? 'once more' : '2 more times';
    assert.ok(textOf((await get(stage.url(id))).text).includes(`You can try ${tries} within the next 15 minutes`));
  }
  await stage.start(id);
  assert.doesNotMatch((await get(stage.url(id))).text, /\/switch"/);
});

test('a form of an earlier attempt does not change the current attempt', async () => {
  const id = await stage.create();
  const pending = async () => (await service.service.deps.store.checkout(id))!.payments.map(({ status }) => status);
  await stage.start(id);
  await stage.submit(id, 'switch');
  await stage.start(id);
  for (const step of ['switch', 'cancel'] as const) {
    await stage.submit(id, step, { attempt: '1' });
    assert.deepEqual(await pending(), ['failed', 'pending'], step);
  }
  await stage.submit(id, 'switch', { attempt: '2' });
  assert.deepEqual(await pending(), ['failed', 'failed']);
  await stage.start(id);
  await stage.submit(id, 'switch', { attempt: '3' });
  assert.deepEqual(
    await pending(),
    ['failed', 'failed', 'pending'],
    'the buyer could leave the last attempt for another payment method',
  );
});

test('pages state that nothing was charged only if that is certain', async () => {
  assert.match(textOf(await page('failed')), /You have not been charged\./);
  assert.doesNotMatch(textOf(await page('failed-uncertain')), /You have not been charged/);
  assert.match(
    textOf(await page('surplus')),
    /A second payment of \$49\.99 arrived too\. It is being refunded in full/,
  );
  assert.doesNotMatch(textOf(await page('switched')), /You have not been charged/);
  const id = await stage.create();
  await stage.start(id);
  await stage.submit(id, 'switch');
  await stage.start(id);
  await stage.report(id, 'failed');
  const declined = textOf((await get(stage.url(id))).text);
  assert.match(declined, /did not go through We have stopped the earlier payment\. If you had approved it/);
});

test('final pages link back to the merchant with session and status', async () => {
  for (const [state, status] of [
    ['paid', 'paid'],
    ['failed', 'failed'],
    ['expired', 'expired'],
    ['choose', 'routed'],
  ] as const) {
    const id = states.get(state)!.split('/').at(-1)!;
    const href = `https://shop.example/thanks?order=7&amp;session_id=${id}&amp;status=${status}#top`;
    assert.ok((await page(state)).includes(`href="${href}"`), state);
  }
  assert.doesNotMatch(await page('paid-own-page'), /data-return/);
  const complete = await get(`${states.get('paid-own-page')!}/complete`);
  assert.equal(complete.status, 200);
  assert.match(complete.text, /Payment received/);
  const unfinished = await get(`${states.get('choose')!}/complete`);
  assert.equal(unfinished.status, 303);
});

test('a checkout that ended unpaid without a redirectUrl states that no money was taken, and offers a next step', async () => {
  const noMoney: Record<string, RegExp> = {
    'failed-own-page': /You have not been charged\./,
    'failed-uncertain-own-page': /We have not received any money\./,
    'expired-own-page': /You have not been charged\./,
  };
  for (const [state, expected] of Object.entries(noMoney)) {
    const url = states.get(state)!;
    const text = textOf(await page(state));
    assert.match(text, expected, state);
    assert.match(text, /contact Demo merchant and give this reference:/, state);
    assert.ok(text.includes(` Order A-1001 Checkout ${url.split('/').at(-1)} `), state);
    assert.doesNotMatch(text, /You pay on the page of a payment provider|close this page/, state);
    const again = (await page(state)).includes(`<a class="button" href="${new URL(url).pathname}">Check again</a>`);
    assert.equal(again, state === 'failed-uncertain-own-page', state);
  }
  for (const state of ['failed', 'failed-uncertain', 'expired']) {
    assert.doesNotMatch(textOf(await page(state)), /give this reference/, state);
  }
});

test('a fee of zero is not shown', async () => {
  assert.doesNotMatch(textOf(await page('paid-own-page')), /Payment fee/);
  assert.match(textOf(await page('paid')), /Payment fee \$6\.17/);
  assert.doesNotMatch(textOf(await page('waiting')), /Payment fee/);
  assert.doesNotMatch(textOf(await page('choose')), /\$0\.00/);
});

test('every page of an unknown checkout is the same 404 page', async () => {
  const unknown = states.get('unknown')!;
  const { text } = await get(unknown);
  const id = unknown.split('/').at(-1)!;
  assert.ok(!text.includes(id));
  for (const url of [`${unknown}/continue`, `${unknown}/complete`, `${service.url}/checkout/x?preview=1`]) {
    const answer = await get(url);
    assert.equal(answer.status, 404);
    assert.equal(answer.text, text);
  }
  assert.equal((await get(`${unknown}/somewhere/else`)).text, text);
  const posted = await get(`${unknown}/cancel`, { method: 'POST', body: new URLSearchParams({ attempt: '0' }) });
  assert.deepEqual([posted.status, posted.text], [404, text]);
  const status = await get(`${unknown}/status`);
  assert.equal(status.status, 404);
  assert.match(status.text, /^\{"ok":false,/);
});

test('an invalid form is answered with a page that links back', async () => {
  const id = await stage.create();
  const post = (body: NonNullable<RequestInit['body']>, headers: Record<string, string> = {}) =>
    get(`${stage.url(id)}/pay`, { method: 'POST', body, headers });
  const form = (fields: Record<string, string>) => post(new URLSearchParams(fields));
  const answers = [
    [400, await form({})],
    [400, await form({ kind: 'cash', total_cash: '1' })],
    [400, await form({ kind: 'card' })],
    [400, await form({ kind: 'card', total_card: '49.99' })],
    [400, await form({ kind: 'card', total_card: '-1' })],
    [400, await post('{"kind":"card"}', { 'content-type': 'application/json' })],
    [413, await form({ kind: 'card', total_card: '9'.repeat(200_000) })],
    [415, await post('kind=card', { 'content-type': 'text/plain' })],
  ] as const;
  for (const [status, answer] of answers) {
    assert.equal(answer.status, status);
    assert.match(answer.headers.get('content-type') ?? '', /^text\/html/);
    assert.ok(answer.text.includes(`href="/checkout/${id}"`));
  }
  assert.equal((await service.service.deps.store.checkout(id))!.payments.length, 0);
});

test('the status path of a checkout returns its status, and the payment methods while the buyer can choose', async () => {
  const id = await stage.create();
  const status = async () => {
    const { methods, ...others } = JSON.parse((await get(`${stage.url(id)}/status`)).text) as { methods?: object[] };
    return { ...others, methods: methods?.length };
  };
  const none = { transfer: null, methods: undefined };
  assert.deepEqual(await status(), { status: 'routed', attempt: null, version: '1', transfer: null, methods: 3 });
  await stage.start(id);
  assert.deepEqual(await status(), { status: 'pending', attempt: 'pending', version: '3', ...none });
  await stage.report(id, 'paid');
  assert.deepEqual(await status(), { status: 'paid', attempt: 'paid', version: '4', ...none });
});

test('behind a proxy with a path prefix, every link has that prefix', async () => {
  await using proxied = await startTestService({ variables: { CHECKOUT_URL: 'http://127.0.0.1:9/shop/' } });
  const other = createStage(proxied, fake);
  const { text } = await get(other.url(await other.create()));
  const paths = [...text.matchAll(/(?:href|src|action|data-status)="(\/[^"]*)"/g)].map(([, path]) => path!);
  assert.ok(paths.length >= 4);
  for (const path of paths) assert.ok(path.startsWith('/shop/'), path);
});
