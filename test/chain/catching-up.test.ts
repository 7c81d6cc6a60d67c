// @run needs=process
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import type { Address } from 'viem';
import { DEMO_XPUB } from '../../examples/chain/local-chain.ts';
import { createWallet } from '../../src/providers/evm-wallet.ts';
import { temporaryFolder } from '../process/program.ts';
import { startChain } from '../support/chain.ts';
import { type RpcProxy, hide, startRpcProxy } from '../support/rpc-proxy.ts';
import { startUsdcService, usdcVariables } from '../support/usdc-service.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const ADDRESSES = 10_000;
const ADDRESSES_PER_QUERY = 500;

/** A service whose only node is a proxy. */
async function startProxied() {
  await using starting = new AsyncDisposableStack();
  let node: RpcProxy;
  const usdc = await startUsdcService({}, {}, async ({ url, token }) => {
    node = starting.use(await startRpcProxy(url));
    return usdcVariables(token, [node.url]);
  });
  starting.use(usdc);
  const running = starting.move();
  return { usdc, node: node!, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

describe('the watch of a chain', () => {
  test('catches up after three days without the service: money that arrived meanwhile is found, in ranges of blocks', async () => {
    await using proxied = await startProxied();
    const { usdc, node } = proxied;
    const [pending, late] = [await usdc.begin(), await usdc.begin()];
    await usdc.poll();
    await usdc.send(pending);
    await usdc.chain.client.mine({ blocks: 600 });
    await usdc.send(late);
    await usdc.chain.client.mine({ blocks: 600 });
    node.takeCounts();
    usdc.on.clock.advance(3 * DAY_MS);
    await usdc.poll();
    await usdc.poll();
    assert.deepEqual([(await usdc.payment(pending)).status, (await usdc.payment(late)).status], ['paid', 'paid']);
    const { calls } = node.takeCounts();
    assert.ok(calls['eth_getLogs']! >= 3 && calls['eth_getLogs']! < 30, `${calls['eth_getLogs']} queries`);
  });

  test(`looks at ${ADDRESSES} hot addresses with ${ADDRESSES / ADDRESSES_PER_QUERY} queries for each range of blocks`, async () => {
    await using proxied = await startProxied();
    const { usdc, node } = proxied;
    const session = await usdc.begin();
    addHotAddresses(usdc.on.databaseUrl, usdc.on.clock.now() + DAY_MS);
    await usdc.send(session);
    await usdc.chain.client.mine({ blocks: 10 });
    node.takeCounts();
    await usdc.on.service.deps.providers.get('local')!.watch!.poll();
    const { calls, mostTopics } = node.takeCounts();
    // One range of final blocks, and one of later blocks.
    assert.equal(calls['eth_getLogs'], (2 * ADDRESSES) / ADDRESSES_PER_QUERY);
    assert.equal(mostTopics, ADDRESSES_PER_QUERY);
    await usdc.poll();
    assert.equal((await usdc.payment(session)).status, 'paid');
  });

  test('finds a transfer that its only node had hidden, by the balance of the address at the time-out', async () => {
    await using proxied = await startProxied();
    const { usdc, node } = proxied;
    const session = await usdc.begin();
    await usdc.poll();
    await node.setFault(hide());
    await usdc.send(session);
    await usdc.chain.client.mine({ blocks: 100 });
    await usdc.poll();
    await node.setFault();
    await usdc.poll();
    assert.equal((await usdc.payment(session)).status, 'pending');
    await usdc.on.pass(61 * MINUTE_MS);
    await usdc.poll();
    assert.equal((await usdc.payment(session)).status, 'paid');
    assert.ok(usdc.on.logged.some((line) => line.includes('had hidden a transfer')));
  });

  test('lists money for a payment of another configured chain with the same wallet as a currency mismatch', async () => {
    using folder = temporaryFolder();
    await using other = await startChain();
    await using usdc = await startUsdcService({}, {}, async ({ url, token }) => {
      const file = folder.path('providers.json');
      const instances = [
        { id: 'here', rpc: [{ env: 'HERE' }] },
        { id: 'elsewhere', rpc: [{ env: 'ELSEWHERE' }] },
      ];
      const shared = { adapter: 'evm-usdc', environment: 'sandbox', chain: 'local', token, xpub: { env: 'WALLET' } };
      writeFileSync(file, JSON.stringify({ providers: instances.map((each) => ({ ...each, ...shared })) }));
      return { PROVIDERS_FILE: file, WALLET: DEMO_XPUB, HERE: url, ELSEWHERE: other.url };
    });
    const session = await usdc.begin();
    const payment = await usdc.payment(session);
    const wrong = payment.route.provider === 'here' ? other : usdc.chain;
    await wrong.transfer(payment.providerReference as Address, 19_990_000n);
    await wrong.finalize();
    await usdc.poll();
    await usdc.poll();
    const { discrepancies, payments } = (await usdc.on.service.deps.store.checkout(session))!;
    assert.deepEqual(
      discrepancies.map(({ kind, status, currency, received }) => [kind, status, currency, received]),
      [['currency_mismatch', 'open', 'USDC/local', 1999]],
    );
    assert.equal(payments[0]!.status, 'pending');
  });
});

/** Stores addresses that wait for a payment, beside those of the service. */
function addHotAddresses(databaseUrl: string, hotUntil: number): void {
  const database = new DatabaseSync(databaseUrl.replace('sqlite:', ''));
  const columns = `wallet, address_index, payment_id, provider, address, due_units, created, created_block, hot_until, closed,
    announced_units, reported_units, reversed_units, reversal_revision, settled`;
  const insert = database.prepare(
    `INSERT INTO chain_addresses (${columns}) VALUES (?, ?, ?, 'local', ?, 1000000, 0, 0, ?, 0, 0, 0, 0, 0, 0)`,
  );
  const { fingerprint } = createWallet(DEMO_XPUB);
  database.exec('BEGIN');
  for (let index = 1; index < ADDRESSES; index++) {
    insert.run(fingerprint, index, `pay_${index}`, `0x${randomBytes(20).toString('hex')}`, hotUntil);
  }
  database.exec('COMMIT');
  database.close();
}
