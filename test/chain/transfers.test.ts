// @run on=sqlite,postgres needs=process
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { after, describe, test } from 'node:test';
import type { Address } from 'viem';
import { DEMO_XPUB, tokenAbi } from '../../examples/chain/local-chain.ts';
import { chooseAnotherMethod } from '../../src/operations/leave-payment.ts';
import { temporaryFolder } from '../process/program.ts';
import { start } from '../simulator/buyer.ts';
import { booksOf } from '../support/gateway.ts';
import { assertSound } from '../support/sound.ts';
import { startUsdcService } from '../support/usdc-service.ts';

const HOUR_MS = 60 * 60_000;
const DAY_MS = 24 * HOUR_MS;

const usdc = await startUsdcService();
const { on, chain } = usdc;
after(() => usdc[Symbol.asyncDispose]());

const discrepanciesOf = async (session: string) =>
  (await on.service.deps.store.checkout(session))!.discrepancies.map(({ kind, status, received, resolution }) => ({
    kind,
    status,
    received,
    resolution,
  }));

/** Status and ledger status of a session's payment. */
async function stateOf(session: string) {
  const { status, ledgerStatus } = await usdc.payment(session);
  return [status, ledgerStatus];
}

async function finish(): Promise<void> {
  await chain.finalize();
  await usdc.poll();
}

describe('a payment by USDC', () => {
  test('is paid and settled once its transfer is final, and not before', async () => {
    const session = await usdc.begin();
    const hash = await usdc.send(session);
    await usdc.poll();
    assert.deepEqual(await stateOf(session), ['pending', 'pending']);
    assert.ok((await usdc.payment(session)).expectedBy !== null);
    await finish();
    assert.deepEqual(await stateOf(session), ['paid', 'settled']);
    assert.equal((await usdc.payment(session)).txHash, hash);
    assert.deepEqual(await discrepanciesOf(session), []);
  });

  test('is completed by the rest of a partial payment, whose transfer moves the time-out', async () => {
    const session = await usdc.begin();
    const { timeoutAt } = await usdc.payment(session);
    await usdc.send(session, 500);
    await finish();
    assert.deepEqual(await stateOf(session), ['pending', 'pending']);
    assert.deepEqual(await discrepanciesOf(session), [
      { kind: 'amount_mismatch', status: 'open', received: 500, resolution: null },
    ]);
    on.clock.advance(timeoutAt - on.clock.now() - 60_000);
    await usdc.send(session, 100);
    await usdc.poll();
    assert.ok((await usdc.payment(session)).timeoutAt >= on.clock.now() + 29 * 60_000);
    await usdc.send(session, 1399);
    await finish();
    assert.deepEqual(await stateOf(session), ['paid', 'settled']);
    assert.equal((await discrepanciesOf(session))[0]?.resolution, 'paid_in_full');
  });

  test('with too much money is paid, and the excess is listed', async () => {
    const session = await usdc.begin();
    await usdc.send(session, 2100);
    await finish();
    assert.deepEqual(await stateOf(session), ['paid', 'settled']);
    assert.deepEqual(await discrepanciesOf(session), [
      { kind: 'amount_mismatch', status: 'open', received: 101, resolution: null },
    ]);
  });

  test('counts several transfers of one transaction, transfers of dust, and no other token and no zero value', async () => {
    const session = await usdc.begin();
    const { address } = (await usdc.instructions(session)) as { address: Address };
    await chain.transfer(address, 50_000_000n, chain.otherToken);
    await chain.transfer(address, 0n);
    await chain.transfer(address, 1n);
    await finish();
    assert.equal((await usdc.instructions(session)).received, 1);
    assert.equal((await usdc.payment(session)).status, 'pending');
    await chain.transferMany([
      [address, 9_990_000n],
      [address, 9_999_998n],
    ]);
    await finish();
    assert.equal((await usdc.payment(session)).status, 'pending', 'a cent of dust is missing');
    await chain.transfer(address, 1n);
    await finish();
    assert.deepEqual(await stateOf(session), ['paid', 'settled']);
  });

  test('that arrives after the time-out changes the session from failed to paid', async () => {
    const session = await usdc.begin();
    await on.pass(HOUR_MS + 1000);
    assert.equal((await usdc.payment(session)).status, 'failed');
    await usdc.send(session);
    await finish();
    assert.deepEqual(await stateOf(session), ['paid', 'settled']);
  });

  test('that arrives days later, at an address whose money the merchant has moved away, is found by the daily pass', async () => {
    const session = await usdc.begin();
    await usdc.send(session);
    await finish();
    const { address } = (await usdc.instructions(session)) as { address: Address };
    await chain.client.impersonateAccount({ address });
    await chain.client.setBalance({ address, value: 10n ** 18n });
    const sweep = { address: chain.token, abi: tokenAbi, functionName: 'transfer' as const };
    await chain.client.writeContract({
      chain: null,
      account: address,
      ...sweep,
      args: [chain.accounts[0]!, 19_990_000n],
    });
    await on.pass(3 * DAY_MS);
    await usdc.poll();
    await usdc.send(session, 300);
    await finish();
    assert.deepEqual(await discrepanciesOf(session), [], 'a cold address is looked at once a day');
    await on.pass(DAY_MS);
    await usdc.poll();
    assert.deepEqual(await discrepanciesOf(session), [
      { kind: 'amount_mismatch', status: 'open', received: 300, resolution: null },
    ]);
  });

  test('cannot be left for another method while its money is on its way', async () => {
    const session = await usdc.begin();
    await usdc.send(session, 500);
    await usdc.poll();
    await chooseAnotherMethod(on.service.deps, session, 1);
    assert.equal((await usdc.payment(session)).status, 'pending');
  });

  test('that arrives for an attempt that the buyer left, after another attempt has paid, is surplus, and its refund waits for an operator', async () => {
    const session = await usdc.begin();
    const { address } = (await usdc.instructions(session)) as { address: Address };
    await chooseAnotherMethod(on.service.deps, session, 1);
    assert.equal((await usdc.payment(session)).status, 'failed');
    await start(on, session, 'wallet');
    await usdc.send(session);
    await finish();
    await chain.transfer(address, 19_990_000n);
    await finish();
    assert.deepEqual(await discrepanciesOf(session), [
      { kind: 'surplus', status: 'open', received: 1999, resolution: null },
    ]);
    const [refund] = (await on.service.deps.store.listRefunds({ sessionId: session }, { limit: 10 })).items;
    assert.deepEqual([refund?.status, refund?.amount], ['pending', 1999]);
  });

  test('leaves sound books: every invariant holds, and the provider holds only what was not paid out', async () => {
    const session = await usdc.begin();
    await usdc.send(session);
    await finish();
    const books = await booksOf(on, (await usdc.payment(session)).id);
    assert.equal(books['provider_clearing'] ?? 0, 0);
    await assertSound(on.databaseUrl);
  });
});

describe('a reorganization', () => {
  test('before a transfer counts: the payment is never paid, and it is paid when the transfer comes back', async () => {
    const session = await usdc.begin();
    const hash = await usdc.send(session);
    await usdc.poll();
    assert.equal((await usdc.instructions(session)).received, 19_990_000);
    await chain.reorganize(1, { drop: [hash] });
    await finish();
    assert.deepEqual(await stateOf(session), ['pending', 'pending']);
    assert.equal((await usdc.instructions(session)).received, 0);
    await chain.resend(hash);
    await finish();
    assert.deepEqual(await stateOf(session), ['paid', 'settled']);
  });

  test('that moves a transfer to another block counts it once', async () => {
    const session = await usdc.begin();
    const hash = await usdc.send(session);
    await chain.client.mine({ blocks: 1 });
    await usdc.poll();
    const { latest } = await chain.heights();
    await chain.reorganize(2, { move: { [hash]: latest } });
    await usdc.poll();
    await finish();
    await finish();
    assert.deepEqual(await stateOf(session), ['paid', 'settled']);
    assert.deepEqual(await discrepanciesOf(session), []);
  });
});

describe('a small payment that is confirmed before finality', () => {
  test('is paid after 12 blocks and settled when it is final; a larger payment waits for finality', async () => {
    await using slow = await startUsdcService({}, { finalityBlocks: 40 });
    const [small, large] = [await slow.begin(100), await slow.begin(100.01)];
    for (const session of [small, large]) await slow.send(session);
    const states = async () =>
      [await slow.payment(small), await slow.payment(large)].map(
        ({ status, ledgerStatus }) => `${status} ${ledgerStatus}`,
      );
    await slow.chain.client.mine({ blocks: 9 });
    await slow.poll();
    assert.deepEqual(await states(), ['pending pending', 'pending pending']);
    await slow.chain.client.mine({ blocks: 5 });
    await slow.poll();
    assert.deepEqual(await states(), ['paid pending', 'pending pending']);
    await slow.chain.finalize();
    await slow.poll();
    assert.deepEqual(await states(), ['paid settled', 'paid settled']);
  });

  test('that a reorganization undoes is reversed, and returned if its transfer comes back', async () => {
    await using slow = await startUsdcService({}, { finalityBlocks: 40 });
    const session = await slow.begin();
    const hash = await slow.send(session);
    await slow.chain.client.mine({ blocks: 12 });
    await slow.poll();
    const { id, status } = await slow.payment(session);
    assert.equal(status, 'paid');
    await slow.chain.reorganize(13, { drop: [hash] });
    await slow.poll();
    assert.equal((await slow.payment(session)).reversed, 0, 'the transfer can still come back');
    await slow.chain.finalize();
    await slow.poll();
    const reversals = async () =>
      (await slow.on.service.deps.store.checkout(session))!.discrepancies.map(({ kind, status, received }) => [
        kind,
        status,
        received,
      ]);
    assert.equal((await slow.payment(session)).reversed, 1999);
    assert.deepEqual(await reversals(), [['reversal', 'open', 1999]]);
    assert.equal((await booksOf(slow.on, id))['provider_clearing'] ?? 0, 0);
    await slow.chain.resend(hash);
    await slow.chain.finalize();
    await slow.poll();
    assert.equal((await slow.payment(session)).reversed, 0);
    assert.deepEqual(await reversals(), [['reversal', 'resolved', 0]]);
    assert.equal((await slow.payment(session)).ledgerStatus, 'settled');
    await assertSound(slow.on.databaseUrl);
  });
});

describe('the settings', () => {
  test('confirm {"final": true} makes small payments wait, and toleranceCents accepts a payment that is a little short', async () => {
    using folder = temporaryFolder();
    const file = folder.path('providers.json');
    await using slow = await startUsdcService({}, { finalityBlocks: 40 }, async ({ url, token }) => {
      const settings = { chain: 'local', token, xpub: { env: 'WALLET' }, rpc: [{ env: 'NODE' }] };
      const options = { confirm: { final: true }, toleranceCents: 2 };
      const instance = { id: 'local', adapter: 'evm-usdc', environment: 'sandbox', ...settings, ...options };
      writeFileSync(file, JSON.stringify({ providers: [instance] }));
      return { PROVIDERS_FILE: file, WALLET: DEMO_XPUB, NODE: url };
    });
    const [exact, short, tooShort] = [await slow.begin(), await slow.begin(), await slow.begin()];
    await slow.send(exact);
    await slow.send(short, 1997);
    await slow.send(tooShort, 1996);
    await slow.chain.client.mine({ blocks: 20 });
    await slow.poll();
    assert.equal((await slow.payment(exact)).status, 'pending');
    await slow.chain.finalize();
    await slow.poll();
    assert.deepEqual(await Promise.all([exact, short, tooShort].map(async (one) => (await slow.payment(one)).status)), [
      'paid',
      'paid',
      'pending',
    ]);
    assert.equal((await slow.payment(short)).shortfall, 2);
    await assertSound(slow.on.databaseUrl);
  });
});
