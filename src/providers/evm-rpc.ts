import { z } from 'zod';
import { type Reply, TRANSFER_TOPIC, amount, block, bytes32, log, quantity, receipt, reply } from './evm-rpc-data.ts';
import { createHttpClient } from './provider-http.ts';

// Selectors of balanceOf(address), decimals() and symbol().
const BALANCE_OF = '0x70a08231';
const DECIMALS = '0x313ce567';
const SYMBOL = '0x95d89b41';
// A check of an instance needs two calls in a row, within 10 s.
const CALL_TIMEOUT_MS = 4000;
/** Addresses in one query for logs, and calls in one batch. RPC vendors accept at least these numbers. */
const ADDRESSES_PER_QUERY = 500;
const CALLS_PER_BATCH = 50;
/** Number of times that a range of blocks is halved after a node has refused the query. */
const HALVINGS = 5;
const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 60_000;
const MAX_REASON_LENGTH = 200;

export interface Block {
  number: number;
  hash: string;
}

/** Transfer of the token to an address of ours, as a node reports it. */
export interface TransferLog {
  txHash: string;
  logIndex: number;
  blockHash: string;
  blockNumber: number;
  /** The recipient, with its checksum. */
  address: string;
  /** Millionths of a USDC. */
  units: number;
}

export interface Receipt {
  blockHash: string;
  blockNumber: number;
  /** Transfers of the token in the transaction, to any recipient (small letters), in order. */
  transfers: { logIndex: number; to: string; units: number }[];
}

/** One RPC node of a chain. Every call rejects if the node does not answer, or answers with invalid data. */
export interface ChainNode {
  /** Host of the node. The URL can contain a key. */
  name: string;
  /** The newest blocks. Rejects also for a node of another chain. */
  heads(): Promise<{ latest: Block; final: Block }>;
  blockHash(block: number): Promise<string>;
  /**
   * Transfers to `addresses` in a range of blocks, both ends included. Rejects if the server that answers does not have the block
   * `known`, because a node can consist of several servers with different forks. Default: the last block of the range, of any fork.
   */
  transfers(from: number, to: number, addresses: readonly string[], known?: Block): Promise<TransferLog[]>;
  /** Receipt of a transaction that succeeded; null for other transactions. Rejects like `transfers` without the block `known`. */
  receipt(txHash: string, known?: Block): Promise<Receipt | null>;
  /** Balances at the latest block, in the order of `addresses`. */
  balances(addresses: readonly string[]): Promise<number[]>;
  token(): Promise<{ decimals: number; symbol: string }>;
}

/** Error that the node itself reports, for example because a range of blocks is too large. */
class RefusedCall extends Error {}

interface Call {
  method: string;
  params: unknown[];
}

interface NodeOptions {
  url: string;
  /** Id of the chain that the node must serve. */
  chainId: number;
  /** Address of the token. */
  token: string;
  now(): number;
}

/** Client of one node, for the calls that the adapter needs: https://ethereum.org/developers/docs/apis/json-rpc */
export function createNode({ url, chainId, token, now }: NodeOptions): ChainNode {
  const { origin, pathname, search, host } = new URL(url);
  const http = createHttpClient({ origin, headers: {}, now });
  const contract = token.toLowerCase();
  let failures = 0;
  let pausedUntil = 0;

  /** The results of the calls, in order. After failures, no request is sent during a pause that doubles with each failure. */
  async function callAll(calls: readonly Call[]): Promise<unknown[]> {
    if (now() < pausedUntil) throw new Error(`${host} is not asked for a while, after ${failures} failures`);
    try {
      const json = calls.map(({ method, params }, id) => ({ jsonrpc: '2.0', id, method, params }));
      const answer = await http({ method: 'POST', path: pathname + search, json, timeoutMs: CALL_TIMEOUT_MS });
      if (answer.status !== 200) throw new Error(`${host} answered ${answer.status}`);
      const replies = z.array(reply).length(calls.length).safeParse(answer.json);
      if (!replies.success) throw new Error(`${host} answered without a result`);
      const byId = new Map(replies.data.map((one) => [one.id, one]));
      const results = calls.map((call, id) => resultOf(call, byId.get(id)));
      failures = 0;
      return results;
    } catch (error) {
      // Concurrent calls that fail together count as one failure.
      if (!(error instanceof RefusedCall) && now() >= pausedUntil) {
        pausedUntil = now() + Math.min(FIRST_PAUSE_MS * 2 ** failures, LONGEST_PAUSE_MS);
        failures++;
      }
      throw error;
    }
  }

  function resultOf({ method }: Call, answer: Reply | undefined): unknown {
    if (answer?.error) {
      const reason = answer.error.message.slice(0, MAX_REASON_LENGTH);
      throw new RefusedCall(`${host} refused ${method}: ${reason}`);
    }
    if (answer?.result === undefined) throw new Error(`${host} answered ${method} without a result`);
    return answer.result;
  }

  function read<Value>(schema: z.ZodType<Value>, result: unknown, what: string): Value {
    const { success, data } = schema.safeParse(result);
    if (success) return data;
    throw new Error(`${host} answered ${what} with invalid data`);
  }

  /** Throws unless `found` is the block `number`, with the hash `hash` if it is known. */
  function requireBlock(found: unknown, { number, hash }: Partial<Block> & { number: number }): void {
    if (found === null || (hash !== undefined && read(block, found, `block ${number}`).hash !== hash))
      throw new Error(`${host} does not have block ${number}`);
  }

  async function transfersOnce(
    from: number,
    to: number,
    addresses: readonly string[],
    known: Block | undefined,
  ): Promise<TransferLog[]> {
    const recipients = new Map(addresses.map((address) => [topicOf(address), address]));
    const filter = {
      fromBlock: hex(from),
      toBlock: hex(to),
      address: contract,
      topics: [TRANSFER_TOPIC, null, [...recipients.keys()]],
    };
    const required = known ?? { number: to };
    const [logs, last] = await callAll([{ method: 'eth_getLogs', params: [filter] }, blockCall(hex(required.number))]);
    // A node that lacks the last block would answer with an empty list instead of an error.
    requireBlock(last, required);
    const found = read(z.array(log), logs, 'eth_getLogs').map((one): TransferLog => {
      const address = recipients.get(one.topics[2]);
      const isAsked =
        address !== undefined &&
        one.address.toLowerCase() === contract &&
        one.blockNumber >= from &&
        one.blockNumber <= to;
      if (!isAsked) throw new Error(`${host} answered eth_getLogs with other logs than asked for`);
      const { transactionHash: txHash, logIndex, blockHash, blockNumber, data: units } = one;
      return { txHash, logIndex, blockHash, blockNumber, address, units };
    });
    if (new Set(found.map(({ txHash, logIndex }) => `${txHash} ${logIndex}`)).size < found.length) {
      throw new Error(`${host} answered eth_getLogs with a log twice`);
    }
    return found.filter(({ units }) => units > 0);
  }

  /** Like `transfersOnce`, in smaller ranges if the node refuses the range. */
  async function transfersIn(
    from: number,
    to: number,
    page: readonly string[],
    known: Block | undefined,
    halvings = HALVINGS,
  ): Promise<TransferLog[]> {
    try {
      return await transfersOnce(from, to, page, known);
    } catch (error) {
      if (!(error instanceof RefusedCall) || halvings === 0 || from === to) throw error;
      const middle = Math.floor((from + to) / 2);
      const first = await transfersIn(from, middle, page, known, halvings - 1);
      return [...first, ...(await transfersIn(middle + 1, to, page, known, halvings - 1))];
    }
  }

  return {
    name: host,
    async heads() {
      const [served, latest, final] = await callAll([
        { method: 'eth_chainId', params: [] },
        blockCall('latest'),
        blockCall('finalized'),
      ]);
      const id = read(quantity, served, 'eth_chainId');
      if (id !== chainId) throw new Error(`${host} serves chain ${id} instead of ${chainId}`);
      return { latest: read(block, latest, 'the latest block'), final: read(block, final, 'the finalized block') };
    },
    async blockHash(number) {
      const [found] = await callAll([blockCall(hex(number))]);
      return read(block, found, `block ${number}`).hash;
    },
    async transfers(from, to, addresses, known) {
      const pages = pagesOf(addresses, ADDRESSES_PER_QUERY);
      return (await Promise.all(pages.map((page) => transfersIn(from, to, page, known)))).flat();
    },
    async receipt(txHash, known) {
      const [found, last] = await callAll([
        { method: 'eth_getTransactionReceipt', params: [txHash] },
        ...(known ? [blockCall(hex(known.number))] : []),
      ]);
      if (known) requireBlock(last, known);
      const included = found === null ? undefined : read(receipt, found, 'eth_getTransactionReceipt');
      if (included?.transactionHash !== txHash || included.status !== '0x1') return null;
      const transfers = included.logs
        .filter(({ address, topics }) => address.toLowerCase() === contract && topics[0] === TRANSFER_TOPIC)
        .map(({ logIndex, topics, data }) => {
          const units = read(amount, data, 'eth_getTransactionReceipt');
          return { logIndex, to: `0x${read(bytes32, topics[2], 'eth_getTransactionReceipt').slice(-40)}`, units };
        });
      return { blockHash: included.blockHash, blockNumber: included.blockNumber, transfers };
    },
    async balances(addresses) {
      const calls = addresses.map((address) => call(contract, BALANCE_OF + topicOf(address).slice(2)));
      const pages = await Promise.all(pagesOf(calls, CALLS_PER_BATCH).map(callAll));
      return pages.flat().map((result) => read(amount, result, 'balanceOf'));
    },
    async token() {
      const [code, decimals, symbol] = await callAll([
        { method: 'eth_getCode', params: [contract, 'latest'] },
        call(contract, DECIMALS),
        call(contract, SYMBOL),
      ]);
      if (code === '0x') throw new Error(`${host} reports no contract at ${token}`);
      return {
        decimals: read(amount, decimals, 'decimals'),
        symbol: symbolOf(read(z.string(), symbol, 'symbol')),
      };
    },
  };
}

function call(to: string, data: string): Call {
  return { method: 'eth_call', params: [{ to, data }, 'latest'] };
}

function blockCall(block: string): Call {
  return { method: 'eth_getBlockByNumber', params: [block, false] };
}

function hex(number: number): string {
  return `0x${number.toString(16)}`;
}

function topicOf(address: string): string {
  return `0x${address.slice(2).toLowerCase().padStart(64, '0')}`;
}

/** Text of an ABI string: its offset and its length in 32 bytes each, then its bytes. */
function symbolOf(data: string): string {
  const bytes = Buffer.from(data.slice(2), 'hex');
  const length = bytes.length < 64 ? 0 : Math.min(bytes.readUInt32BE(60), 32);
  return bytes.subarray(64, 64 + length).toString('utf8');
}

export function pagesOf<Item>(items: readonly Item[], size: number): Item[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, page) =>
    items.slice(page * size, (page + 1) * size),
  );
}
