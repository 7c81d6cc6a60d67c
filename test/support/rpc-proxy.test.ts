// @run needs=process
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, before, beforeEach, describe, test } from 'node:test';
import {
  type Address,
  type Hash,
  type Hex,
  createPublicClient,
  encodeEventTopics,
  erc20Abi,
  getAddress,
  http,
  pad,
} from 'viem';
import { type Chain, startChain } from './chain.ts';
import * as node from './rpc-proxy.ts';

const SHOP = getAddress(pad('0xa1', { size: 20 }));
const OTHER = getAddress(pad('0xa2', { size: 20 }));
const FORGED_HASH = pad('0xf0');

describe('the JSON-RPC proxy', () => {
  let chain: Chain;
  let proxy: node.RpcProxy;
  let hashes: [Hash, Hash];
  let client: ReturnType<typeof clientOf>;

  const clientOf = (url: string) => createPublicClient({ transport: http(url, { retryCount: 0 }), cacheTime: 0 });
  /** Block, transaction and units of the transfers to both addresses, as the proxy reports them. */
  const reported = async (toBlock: bigint | 'latest' | 'finalized' = 'latest', to: Address[] = [SHOP, OTHER]) => {
    const found = { abi: erc20Abi, eventName: 'Transfer', address: chain.token, args: { to } } as const;
    const logs = await client.getContractEvents({ ...found, fromBlock: 5n, toBlock });
    return logs.map(({ blockNumber, transactionHash, args }) => [Number(blockNumber), transactionHash, args.value]);
  };
  const numberOf = async (blockTag: 'latest' | 'finalized') => Number((await client.getBlock({ blockTag })).number);
  const post = (calls: unknown) => fetch(proxy.url, { method: 'POST', body: JSON.stringify(calls) });
  const call = (method: string, ...params: unknown[]) => ({ jsonrpc: '2.0', id: 7, method, params });

  // Blocks 5 and 6 contain one transfer each, block 6 is final, and block 10 is the newest.
  before(async () => {
    chain = await startChain();
    hashes = [await chain.transfer(SHOP, 5n), await chain.transfer(OTHER, 6n)];
    await chain.client.mine({ blocks: 4 });
    proxy = await node.startRpcProxy(chain.url);
    client = clientOf(proxy.url);
  });
  after(async () => {
    await proxy[Symbol.asyncDispose]();
    await chain[Symbol.asyncDispose]();
  });
  beforeEach(async () => {
    await proxy.setFault();
    proxy.takeCounts();
  });

  test('without a fault it forwards single calls, batches and errors', async () => {
    assert.deepEqual(await reported(), [
      [5, hashes[0], 5n],
      [6, hashes[1], 6n],
    ]);
    const calls = [call('eth_chainId'), { ...call('eth_blockNumber'), id: 8 }, { ...call('eth_unknown'), id: 9 }];
    const answers = (await (await post(calls)).json()) as { id: number; result?: Hex; error?: { code: number } }[];
    assert.deepEqual(
      answers.map(({ id, result, error }) => [id, result ?? error?.code]),
      [
        [7, '0x7a69'],
        [8, '0xa'],
        [9, -32601],
      ],
    );
  });

  test('it counts requests and calls, and the largest filter', async () => {
    await reported();
    await reported('latest', [SHOP, OTHER, SHOP]);
    await post([call('eth_chainId'), call('eth_chainId')]);
    const calls = { eth_getLogs: 2, eth_chainId: 2 };
    assert.deepEqual(proxy.takeCounts(), { requests: 3, calls, mostTopics: 3, mostAddresses: 1 });
    assert.equal(proxy.takeCounts().requests, 0);
  });

  test('a lagging node lacks the last blocks without an error', async () => {
    await proxy.setFault(node.lag(5));
    assert.equal(await client.getBlockNumber(), 5n);
    assert.deepEqual([await numberOf('latest'), await numberOf('finalized')], [5, 1]);
    const known = [[5, hashes[0], 5n]];
    assert.deepEqual([await reported(), await reported(10n)], [known, known]);
    const later = await client.getLogs({ fromBlock: 6n, toBlock: 10n });
    assert.deepEqual(later, []);
    await client.getTransactionReceipt({ hash: hashes[0] });
    await assert.rejects(client.getTransactionReceipt({ hash: hashes[1] }), {
      name: 'TransactionReceiptNotFoundError',
    });
    await assert.rejects(client.getBlock({ blockNumber: 6n }), { name: 'BlockNotFoundError' });
    const balance = { abi: erc20Abi, address: chain.token, functionName: 'balanceOf', args: [OTHER] } as const;
    assert.equal(await client.readContract(balance), 0n);
    await assert.rejects(client.readContract({ ...balance, blockNumber: 6n }), /header not found/);
  });

  test('an empty node has the genesis block only', async () => {
    await proxy.setFault(node.empty());
    assert.equal(await client.getBlockNumber(), 0n);
    assert.deepEqual([await numberOf('latest'), await numberOf('finalized')], [0, 0]);
    assert.deepEqual(await reported(), []);
    assert.equal(await client.getCode({ address: chain.token }), undefined);
    assert.equal(await client.getChainId(), 31337);
  });

  test('a hiding node hides logs, also in receipts', async () => {
    const isToShop = ({ topics }: { topics: Hex[] }) => topics[2] === pad(SHOP).toLowerCase();
    await proxy.setFault(node.hide(isToShop));
    assert.deepEqual(await reported(), [[6, hashes[1], 6n]]);
    assert.equal((await client.getTransactionReceipt({ hash: hashes[0] })).logs.length, 0);
    await proxy.setFault(node.hide());
    assert.deepEqual(await reported(), []);
  });

  test('a forging node adds a transfer, also as a receipt, to the filters that match it', async () => {
    const forgery = { token: chain.token, to: SHOP, units: 99n, blockNumber: 6, hash: FORGED_HASH };
    await proxy.setFault(node.forge(forgery));
    const forged = [6, FORGED_HASH, 99n];
    assert.deepEqual((await reported()).at(-1), forged);
    assert.deepEqual((await reported('finalized')).at(-1), forged);
    assert.equal((await reported(5n)).length, 1);
    assert.equal((await reported('latest', [OTHER])).length, 1);
    const { blockHash, logs } = await client.getTransactionReceipt({ hash: FORGED_HASH });
    assert.equal(blockHash, (await chain.client.getBlock({ blockNumber: 6n })).hash);
    const [topic] = encodeEventTopics({ abi: erc20Abi, eventName: 'Transfer' });
    assert.deepEqual(
      logs.map(({ data, topics }) => [BigInt(data), topics[0]]),
      [[99n, topic]],
    );
    assert.equal((await client.getLogs({ blockHash })).length, 2);
  });

  test('a node of another chain reports its chain id', async () => {
    await proxy.setFault(node.otherChain(8453));
    assert.equal(await client.getChainId(), 8453);
    assert.equal(await client.getBlockNumber(), 10n);
  });

  test('a throttling node rejects a share of the requests', async () => {
    const statuses = async () => {
      const answers = [];
      for (let i = 0; i < 6; i++) answers.push(await post(call('eth_chainId')));
      return answers.map(({ status, headers }) => (status === 429 ? headers.get('retry-after') : status));
    };
    await proxy.setFault(node.throttle(1 / 2));
    assert.deepEqual(await statuses(), [200, null, 200, null, 200, null]);
    await proxy.setFault(node.throttle(1, 3));
    assert.deepEqual(await statuses(), Array(6).fill('3'));
  });

  test('a node is down in three ways, and returns at the same port', async () => {
    await proxy.setFault(node.down('refusing'));
    // A new socket, since `fetch` would find that its idle connection is closed.
    const [refusal] = (await once(connect(Number(new URL(proxy.url).port)), 'error')) as [NodeJS.ErrnoException];
    assert.equal(refusal.code, 'ECONNREFUSED');
    await proxy.setFault(node.down('closing'));
    await assert.rejects(post(call('eth_chainId')), { message: 'fetch failed' });
    await proxy.setFault(node.down('silent'));
    const signal = AbortSignal.timeout(100);
    await assert.rejects(fetch(proxy.url, { method: 'POST', body: '{}', signal }), { name: 'TimeoutError' });
    await proxy.setFault();
    assert.equal(await client.getChainId(), 31337);
  });

  test('a broken node responds with five kinds of garbage', async () => {
    const answer = async (how: Parameters<typeof node.garbage>[0], calls: unknown = call('eth_blockNumber')) => {
      await proxy.setFault(node.garbage(how));
      return await (await post(calls)).text();
    };
    for (const how of ['html', 'text'] as const) {
      const body = await answer(how);
      assert.throws(() => JSON.parse(body), SyntaxError);
    }
    assert.equal(typeof JSON.parse(await answer('types')).result.number, 'number');
    assert.ok((await answer('huge')).length > 2 ** 20);
    assert.equal(JSON.parse(await answer('id')).id, 8);
    assert.equal(JSON.parse(await answer('types', [call('eth_blockNumber')])).length, 1);
  });
});
