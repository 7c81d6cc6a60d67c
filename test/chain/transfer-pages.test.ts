// @run needs=process
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startUsdcService } from '../support/usdc-service.ts';

const usdc = await startUsdcService();
const { on, chain } = usdc;
after(() => usdc[Symbol.asyncDispose]());

async function pageOf(id: string) {
  const markup = await (await fetch(`${on.url}/checkout/${id}`)).text();
  const text = markup.replace(/<\/?bdi>/g, '').replace(/<[^>]+>/g, ' ');
  return { markup, text: text.replace(/\s+/g, ' ') };
}

async function submit(id: string, step: string, fields: Record<string, string>): Promise<void> {
  const body = new URLSearchParams(fields);
  const { status } = await fetch(`${on.url}/checkout/${id}/${step}`, { method: 'POST', redirect: 'manual', body });
  assert.equal(status, 303);
}

async function finalize(): Promise<void> {
  await chain.finalize();
  await usdc.poll();
}

test('the page asks for what is missing, and its version changes with every step of the transfer', async () => {
  const id = await usdc.begin();
  const versions: string[] = [];
  const shown = async () => {
    const page = await pageOf(id);
    const [, version] = /data-version="([^"]*)"/.exec(page.markup)!;
    const status = (await (await fetch(`${on.url}/checkout/${id}/status`)).json()) as { version: string };
    assert.equal(status.version, version);
    versions.push(version!);
    return page;
  };
  assert.match((await shown()).markup, /<form[^>]*cancel/);
  await usdc.send(id, 500);
  await usdc.poll();
  await shown();
  await finalize();

  const partial = await shown();
  const { address } = await usdc.instructions(id);
  const word = (digits: string) => digits.padStart(64, '0');
  const call = `0xa9059cbb${word(address.slice(2).toLowerCase())}${word((14_990_000).toString(16))}`;
  assert.ok(partial.markup.includes(`data-call="${call}"`));
  // Money that has arrived cannot be abandoned.
  assert.doesNotMatch(partial.markup, /<form/);

  await usdc.send(id, 1499);
  await usdc.poll();
  assert.doesNotMatch((await shown()).markup, /data-call|<svg class="qr"|<form/);
  await finalize();
  assert.match((await shown()).text, /Payment received/);
  assert.equal(new Set(versions).size, 5);
});

test('the page shows the time left in words', async () => {
  const id = await usdc.begin();
  const { timeoutAt } = await usdc.payment(id);
  for (const [secondsLeft, words] of [
    [3599, '59 minutes'],
    [150, '2 minutes'],
    [119, '1 minute'],
    [59, 'less than a minute'],
  ] as const) {
    on.clock.advance(timeoutAt - secondsLeft * 1000 - on.clock.now());
    assert.match((await pageOf(id)).text, new RegExp(`Time left ${words} `));
  }
});

test('the page of a paid session sends the buyer to the merchant for money that is not refunded automatically', async () => {
  const overpaid = await usdc.begin();
  await usdc.send(overpaid, 2099);
  await usdc.poll();
  await finalize();
  assert.match((await pageOf(overpaid)).text, /\$1\.00 more than the total arrived\. Ask Demo merchant/);

  const twice = await usdc.begin();
  const { address } = await usdc.instructions(twice);
  await submit(twice, 'switch', { attempt: '1' });
  await submit(twice, 'pay', { kind: 'wallet', total_wallet: '1999' });
  await usdc.send(twice);
  await chain.transfer(address as `0x${string}`, 19_990_000n);
  await usdc.poll();
  await finalize();
  const { text } = await pageOf(twice);
  assert.match(text, /A second payment of \$19\.99 arrived too\. Ask Demo merchant/);
  assert.doesNotMatch(text, /need not do anything/);
});

test('the page of a session that ended with a part of the amount does not claim that no money arrived', async () => {
  const id = await usdc.begin();
  await usdc.send(id, 500);
  await usdc.poll();
  await finalize();
  const { timeoutAt } = await usdc.payment(id);
  await on.pass(timeoutAt - on.clock.now());
  const { text } = await pageOf(id);
  assert.match(text, /A different amount has arrived\. Ask Demo merchant/);
  assert.doesNotMatch(text, /not received any money|not been charged/);
});
