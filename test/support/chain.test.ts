// @run needs=process
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { type Address, type Hash, getAddress, pad } from 'viem';
import { tokenAbi } from '../../examples/chain/local-chain.ts';
import { type Chain, startChain } from './chain.ts';
import { until } from './until.ts';

const BUYER_1 = getAddress(pad('0xa1', { size: 20 }));
const BUYER_2 = getAddress(pad('0xa2', { size: 20 }));
const LOCAL_CHAIN = new URL('../../examples/chain/local-chain.ts', import.meta.url).href;

function balanceOf({ client, token }: Chain, account: Address, address = token): Promise<bigint> {
  return client.readContract({ address, abi: tokenAbi, functionName: 'balanceOf', args: [account] });
}

/** Recipient, units, block and log index of every transfer of the buyers. */
async function transfers({ client, token }: Chain): Promise<unknown[]> {
  const args = { to: [BUYER_1, BUYER_2] };
  const logs = await client.getContractEvents({
    address: token,
    abi: tokenAbi,
    eventName: 'Transfer',
    args,
    fromBlock: 0n,
  });
  return logs.map(({ args, blockNumber, logIndex }) => [args.to, args.value, Number(blockNumber), logIndex]);
}

const isAnswering = (url: string): Promise<boolean> =>
  fetch(url).then(
    () => true,
    () => false,
  );

describe('the local chain', () => {
  test('the token looks like USDC, and is at the same address on every chain', async () => {
    await using chain = await startChain();
    const { client, token: address } = chain;
    assert.equal(address, '0x5FbDB2315678afecb367f032d93F642f64180aa3');
    assert.equal(await client.readContract({ address, abi: tokenAbi, functionName: 'decimals' }), 6);
    assert.equal(await client.readContract({ address, abi: tokenAbi, functionName: 'symbol' }), 'USDC');
  });

  test('a transfer moves units of the token that it names, and several fit in one transaction', async () => {
    await using chain = await startChain();
    await chain.transfer(BUYER_1, 19_990_000n);
    await chain.transfer(BUYER_1, 0n);
    await chain.transfer(BUYER_1, 7n, chain.otherToken);
    const hash = await chain.transferMany([
      [BUYER_1, 1n],
      [BUYER_2, 2n],
    ]);
    assert.deepEqual(await transfers(chain), [
      [BUYER_1, 19_990_000n, 5, 0],
      [BUYER_1, 0n, 6, 0],
      [BUYER_1, 1n, 8, 0],
      [BUYER_2, 2n, 8, 1],
    ]);
    assert.equal((await chain.client.getTransactionReceipt({ hash })).logs.length, 2);
    assert.equal(await balanceOf(chain, BUYER_1), 19_990_001n);
    assert.equal(await balanceOf(chain, BUYER_1, chain.otherToken), 7n);
  });

  test('the final block follows the newest one', async () => {
    await using chain = await startChain({ finalityBlocks: 6 });
    await chain.client.mine({ blocks: 10 });
    assert.deepEqual(await chain.heights(), { latest: 14, finalized: 8 });
    await chain.finalize();
    assert.deepEqual(await chain.heights(), { latest: 20, finalized: 14 });
  });

  test('transactions wait for a block if mining is manual', async () => {
    await using chain = await startChain({ mining: 'manual' });
    await chain.transfer(BUYER_1, 1n);
    await chain.transfer(BUYER_2, 2n);
    assert.deepEqual(await transfers(chain), []);
    await chain.client.mine({ blocks: 1 });
    assert.deepEqual(await transfers(chain), [
      [BUYER_1, 1n, 5, 0],
      [BUYER_2, 2n, 5, 1],
    ]);
  });

  test('blocks are mined at an interval', async () => {
    await using chain = await startChain({ mining: 1 });
    await chain.transfer(BUYER_1, 1n);
    await until(async () => (await transfers(chain)).length === 1);
  });

  test('a reorganization drops and moves transactions, and changes the hash of every block', async () => {
    await using chain = await startChain();
    const hashes: Hash[] = [];
    for (const units of [1n, 2n, 3n, 4n]) hashes.push(await chain.transfer(BUYER_1, units));
    const [first, second, third, fourth] = hashes as [Hash, Hash, Hash, Hash];
    const blocksNow = () =>
      Promise.all([5n, 6n, 7n, 8n].map(async (blockNumber) => (await chain.client.getBlock({ blockNumber })).hash));
    const before = await blocksNow();
    await chain.reorganize(3, { drop: [third], move: { [second]: 8 } });
    const after = await blocksNow();
    assert.equal(after[0], before[0]);
    assert.equal(new Set([...before, ...after]).size, 7);
    assert.deepEqual(await transfers(chain), [
      [BUYER_1, 1n, 5, 0],
      [BUYER_1, 2n, 8, 0],
      [BUYER_1, 4n, 8, 1],
    ]);
    assert.equal(await balanceOf(chain, BUYER_1), 7n);
    assert.equal((await chain.client.getTransactionReceipt({ hash: first })).blockHash, before[0]);
    assert.equal((await chain.client.getTransactionReceipt({ hash: fourth })).blockHash, after[3]);
    await assert.rejects(chain.client.getTransactionReceipt({ hash: third }), {
      name: 'TransactionReceiptNotFoundError',
    });
    await chain.resend(third);
    assert.equal(await balanceOf(chain, BUYER_1), 10n);
  });

  test('10 reorganizations of 12 blocks keep all transfers', async () => {
    await using chain = await startChain({ finalityBlocks: 12 });
    await chain.client.mine({ blocks: 12 });
    for (let round = 0; round < 10; round++) {
      await chain.transfer(BUYER_1, 1n);
      await chain.reorganize(12);
    }
    assert.equal(await balanceOf(chain, BUYER_1), 10n);
  });

  test('anvil stops with the chain, and when the process is killed', async () => {
    const chain = await startChain();
    await chain[Symbol.asyncDispose]();
    assert.equal(await isAnswering(chain.url), false);
    const script = `const { startLocalChain } = await import('${LOCAL_CHAIN}'); console.log((await startLocalChain()).url)`;
    const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [url] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
    assert.equal(await isAnswering(url.trim()), true);
    child.kill('SIGKILL');
    await until(async () => !(await isAnswering(url.trim())));
  });
});
