import assert from 'node:assert/strict';
import { json } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { type ChainNode, createNode } from '../../src/providers/evm-rpc.ts';
import { startServer } from '../support/http-server.ts';

const TOKEN = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913';
const ADDRESS = '0x9858EfFD232B4033E47d90003D41EC34EcaEda94';
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
const word = (digits: string) => `0x${digits.replace('0x', '').toLowerCase().padStart(64, '0')}`;
const HASH = word('a1');
const BLOCK = { number: '0x10', hash: word('b10c') };
const LOG = {
  address: TOKEN.toLowerCase(),
  topics: [TRANSFER, word('beef'), word(ADDRESS)],
  data: word('131297c'),
  blockNumber: '0x10',
  blockHash: BLOCK.hash,
  transactionHash: HASH,
  logIndex: '0x2',
  removed: false,
};
const RECEIPT = { status: '0x1', blockHash: BLOCK.hash, blockNumber: '0x10', transactionHash: HASH, logs: [LOG] };
const TEXT = `${word('20')}${word('4').slice(2)}${Buffer.from('USDC').toString('hex').padEnd(64, '0')}`;

type Results = Record<string, unknown>;
const RESULTS: Results = {
  eth_getBlockByNumber: BLOCK,
  eth_getLogs: [LOG],
  eth_getTransactionReceipt: RECEIPT,
  eth_chainId: '0x2105',
  eth_getCode: '0x60',
};

let results: Results;
let server: Awaited<ReturnType<typeof startServer>>;
/** Replaces the whole response if set. */
let respond: ((calls: { id: number }[]) => string) | undefined;
let now = 0;

before(async () => {
  server = await startServer(async (request, response) => {
    const calls = (await json(request)) as { id: number; method: string; params: [{ data?: string }] }[];
    const answers = calls.map(({ id, method, params }) => {
      const data = params[0]?.data;
      const called = data === '0x313ce567' ? word('6') : data === '0x95d89b41' ? TEXT : word('131297c');
      const result = method === 'eth_call' ? (results['eth_call'] ?? called) : results[method];
      return { jsonrpc: '2.0', id, result };
    });
    response.end(respond?.(calls) ?? JSON.stringify(answers));
  });
});
after(() => server[Symbol.asyncDispose]());

/** A node whose answers are the usual ones with the given changes. Each node is new, because a node that failed pauses. */
function nodeWith(changes: Results = {}): ChainNode {
  results = { ...RESULTS, ...changes };
  respond = undefined;
  return createNode({ url: server.url, chainId: 8453, token: TOKEN, now: () => (now += 1) });
}

const CALLS: Record<string, (node: ChainNode) => Promise<unknown>> = {
  heads: (node) => node.heads(),
  blockHash: (node) => node.blockHash(16),
  transfers: (node) => node.transfers(10, 16, [ADDRESS]),
  receipt: (node) => node.receipt(HASH),
  balances: (node) => node.balances([ADDRESS]),
  token: (node) => node.token(),
};

const VALUES: unknown[] = [null, undefined, 7, true, '', 'x', '0x', {}, [], word('z'), `0x${'f'.repeat(64)}`, '-0x1'];

describe('answers of a node', () => {
  test('valid answers are read', async () => {
    const node = nodeWith();
    const transfer = { txHash: HASH, logIndex: 2, blockHash: BLOCK.hash, blockNumber: 16 };
    assert.deepEqual(await node.transfers(10, 16, [ADDRESS]), [{ ...transfer, address: ADDRESS, units: 19_999_100 }]);
    assert.deepEqual(await node.balances([ADDRESS, TOKEN]), [19_999_100, 19_999_100]);
    assert.deepEqual(await node.token(), { decimals: 6, symbol: 'USDC' });
    assert.deepEqual((await node.receipt(HASH))?.transfers, [
      { logIndex: 2, to: ADDRESS.toLowerCase(), units: 19_999_100 },
    ]);
  });

  test('a log with any field of another type or range is rejected, and so is the whole answer', async () => {
    for (const field of Object.keys(LOG)) {
      for (const value of VALUES) {
        if (field === 'removed' && value === undefined) continue;
        // Another hash is valid data; the quorum compares it with the hashes of other nodes.
        if (field.endsWith('Hash') && value === `0x${'f'.repeat(64)}`) continue;
        const node = nodeWith({ eth_getLogs: [LOG, { ...LOG, logIndex: '0x3', [field]: value }] });
        await assert.rejects(CALLS['transfers']!(node), `${field}: ${String(value)}`);
      }
    }
  });

  for (const [what, change] of Object.entries({
    'of another token': { address: ADDRESS.toLowerCase() },
    'to an address that was not asked for': { topics: [TRANSFER, word('beef'), word('dead')] },
    'of another event': { topics: [word('1'), word('beef'), word(ADDRESS)] },
    'of a block outside of the range': { blockNumber: '0x11' },
    'that was removed': { removed: true },
    'of more units than USDC can have': { data: word('20000000000000') },
    'that is in the answer twice': {},
  })) {
    test(`a log ${what} is rejected`, async () => {
      const node = nodeWith({ eth_getLogs: [LOG, { ...LOG, ...change }] });
      await assert.rejects(node.transfers(10, 16, [ADDRESS]));
    });
  }

  test('a node that lacks the last block of the range is not believed that there are no transfers', async () => {
    await assert.rejects(
      nodeWith({ eth_getLogs: [], eth_getBlockByNumber: null }).transfers(10, 16, [ADDRESS]),
      /block 16/,
    );
  });

  test('a node of another chain is rejected', async () => {
    await assert.rejects(nodeWith({ eth_chainId: '0x1' }).heads(), /serves chain 1 instead of 8453/);
  });

  test('a transfer of zero units is left out', async () => {
    assert.deepEqual(await nodeWith({ eth_getLogs: [{ ...LOG, data: word('0') }] }).transfers(10, 16, [ADDRESS]), []);
  });

  test('a receipt counts only for its transaction, and only if it succeeded', async () => {
    assert.equal(await nodeWith({ eth_getTransactionReceipt: { ...RECEIPT, status: '0x0' } }).receipt(HASH), null);
    const other = { ...RECEIPT, transactionHash: word('a2') };
    assert.equal(await nodeWith({ eth_getTransactionReceipt: other }).receipt(HASH), null);
    const foreign = { ...RECEIPT, logs: [{ ...LOG, address: ADDRESS }] };
    assert.deepEqual((await nodeWith({ eth_getTransactionReceipt: foreign }).receipt(HASH))?.transfers, []);
  });

  for (const [what, body] of Object.entries<(calls: { id: number }[]) => string>({
    'is not JSON': () => '<html>',
    'is empty': () => '',
    'is not a list': () => '{"id":0,"result":"0x1"}',
    'has fewer results than calls': (calls) => JSON.stringify(calls.slice(1).map(({ id }) => ({ id, result: BLOCK }))),
    'has other ids than the calls': (calls) => JSON.stringify(calls.map(({ id }) => ({ id: id + 7, result: BLOCK }))),
    'has no results': (calls) => JSON.stringify(calls.map(({ id }) => ({ id }))),
    'is larger than 1 MiB': (calls) =>
      JSON.stringify(calls.map(({ id }) => ({ id, result: BLOCK, pad: 'x'.repeat(2 ** 20) }))),
  })) {
    test(`every call rejects an answer that ${what}`, async () => {
      for (const [name, call] of Object.entries(CALLS)) {
        const node = nodeWith();
        respond = body;
        await assert.rejects(call(node), name);
      }
    });
  }

  test('after a failure, a node gets no request for a pause that grows, and then it is asked again', async () => {
    let requests = 0;
    let time = 0;
    results = RESULTS;
    respond = (calls) => (requests++ < 3 ? '' : JSON.stringify(calls.map(({ id }) => ({ id, result: BLOCK }))));
    const node = createNode({ url: server.url, chainId: 8453, token: TOKEN, now: () => time });
    const asked: number[] = [];
    for (; time < 10_000; time += 500) {
      const before = requests;
      await node.blockHash(16).catch(() => undefined);
      if (requests > before) asked.push(time);
    }
    assert.deepEqual(asked.slice(0, 4), [0, 1000, 3000, 7000]);
  });
});
