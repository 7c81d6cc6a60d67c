import type { ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { type Address, type Hash, type Hex, encodeEventTopics, erc20Abi, numberToHex, zeroAddress } from 'viem';
import { startServer } from './http-server.ts';

/** A JSON-RPC proxy in front of a chain. It stands for a node that is faulty, behind or lying. */
export interface RpcProxy extends AsyncDisposable {
  url: string;
  /** Replaces the fault of the next requests. Without a fault, the proxy forwards each call. */
  setFault(fault?: Fault): Promise<void>;
  /** Counts since the last call. */
  takeCounts(): Counts;
}

interface Counts {
  /** HTTP requests; a batch is one. */
  requests: number;
  /** Calls by method. */
  calls: Record<string, number>;
  /** Largest number of topics at one position, and of addresses, in one call of `eth_getLogs`. */
  mostTopics: number;
  mostAddresses: number;
}

/** Behaviour of a node. A test can pass its own. */
export interface Fault {
  isRefusing?: boolean;
  /** Answers the HTTP request and returns true, or returns false. */
  onRequest?: (calls: Call | Call[], response: ServerResponse) => boolean;
  /** Returns the result of one call, or throws a JSON-RPC error. `ask` asks the chain. */
  onCall?: (method: string, params: unknown[], ask: Ask) => Promise<unknown>;
}

type Ask = (method: string, params: unknown[]) => Promise<unknown>;
type Call = { id: number; method: string; params?: unknown[] };
type Filter = { fromBlock?: Hex; toBlock?: Hex; blockHash?: Hash; address?: Address | Address[]; topics?: Wanted[] };
type Wanted = Hex | Hex[] | null;
type Block = { number: Hex; hash: Hash };
type Log = { address: Address; topics: Hex[]; blockNumber: Hex; blockHash: Hash };

const TAGS: unknown[] = ['earliest', 'finalized', 'safe', 'latest', 'pending'];
const STATE_METHODS = ['eth_call', 'eth_getBalance', 'eth_getCode'];
const HUGE_BYTES = 2 * 1024 * 1024;

/** The node's chain ends `blocks` earlier. Like many nodes, it has no logs, instead of an error, for blocks that it lacks. */
export function lag(blocks: number): Fault {
  return {
    async onCall(method, params, ask) {
      const head = await heightAt('latest', ask, blocks);
      if (method === 'eth_blockNumber') return head;
      const known = await withoutTags(params, ask, blocks);
      if (STATE_METHODS.includes(method) && Number((known[1] ??= head)) > Number(head)) {
        throw { code: -32000, message: 'header not found' };
      }
      const filter = known[0] as Filter;
      if (method === 'eth_getLogs' && filter.blockHash === undefined) {
        if (Number(filter.fromBlock ?? head) > Number(head)) return [];
        if (Number(filter.toBlock ?? Infinity) > Number(head)) filter.toBlock = head;
      }
      const result = await ask(method, known);
      const isKnown = (part: { blockNumber?: Hex; number?: Hex } | null) =>
        Number(part?.blockNumber ?? part?.number ?? 0) <= Number(head);
      if (Array.isArray(result)) return result.filter(isKnown);
      return isKnown(result as Block) ? result : null;
    },
  };
}

/** The node was restarted without data. */
export const empty = (): Fault => lag(Infinity);

/** The node hides logs, by default all, from `eth_getLogs` and from receipts. */
export function hide(isHidden: (log: Log) => boolean = () => true): Fault {
  const visible = (logs: Log[]) => logs.filter((log) => !isHidden(log));
  return {
    async onCall(method, params, ask) {
      const result = await ask(method, params);
      if (method === 'eth_getLogs') return visible(result as Log[]);
      if (method !== 'eth_getTransactionReceipt' || result === null) return result;
      return { ...result, logs: visible((result as { logs: Log[] }).logs) };
    },
  };
}

/** The node reports a transfer that never happened, in a transaction `hash` in an existing block. */
export function forge(forged: { token: Address; to: Address; units: bigint; blockNumber: number; hash: Hash }): Fault {
  const args = { from: zeroAddress, to: forged.to };
  const topics = encodeEventTopics({ abi: erc20Abi, eventName: 'Transfer', args }) as Hex[];
  const data = numberToHex(forged.units, { size: 32 });
  const address = forged.token.toLowerCase() as Address;
  const blockNumber = numberToHex(forged.blockNumber);
  return {
    async onCall(method, params, ask) {
      const isReceipt = method === 'eth_getTransactionReceipt' && params[0] === forged.hash;
      if (!isReceipt && method !== 'eth_getLogs') return ask(method, params);
      const { hash: blockHash } = (await ask('eth_getBlockByNumber', [blockNumber, false])) as Block;
      const place = { blockNumber, blockHash, transactionHash: forged.hash, transactionIndex: '0x63' };
      const log = { ...place, address, topics, data, logIndex: '0x63', removed: false };
      if (isReceipt) return { ...place, status: '0x1', type: '0x2', from: zeroAddress, to: address, logs: [log] };
      const logs = (await ask(method, params)) as Log[];
      const [filter] = await withoutTags(params, ask);
      return matches(filter as Filter, log, await heightAt('latest', ask)) ? [...logs, log] : logs;
    },
  };
}

/** The node belongs to another chain. */
export const otherChain = (chainId: number): Fault => ({
  onCall: async (method, params, ask) => (method === 'eth_chainId' ? numberToHex(chainId) : ask(method, params)),
});

/** The node rejects a share of the HTTP requests, spread evenly, with status 429. */
export function throttle(share: number, retryAfterSeconds?: number): Fault {
  let owed = 0;
  return {
    onRequest(_, response) {
      owed += share;
      if (owed < 1) return false;
      owed -= 1;
      if (retryAfterSeconds !== undefined) response.setHeader('retry-after', retryAfterSeconds);
      response.writeHead(429).end('Too many requests');
      return true;
    },
  };
}

/** The node refuses connections, closes each connection without a response, or never responds. */
export function down(how: 'refusing' | 'closing' | 'silent'): Fault {
  if (how === 'refusing') return { isRefusing: true };
  return {
    onRequest(_, response) {
      if (how === 'closing') response.destroy();
      return true;
    },
  };
}

/** The node responds, with status 200, with HTML, plain text, wrong types, over 1 MiB, or to another request. */
export function garbage(how: 'html' | 'text' | 'types' | 'huge' | 'id'): Fault {
  const result = { types: { number: 12, hash: null, logs: 'none' }, huge: '0'.repeat(HUGE_BYTES), id: '0x1' };
  return {
    onRequest(calls, response) {
      if (how === 'html') response.setHeader('content-type', 'text/html').end('<h1>Maintenance</h1>');
      else if (how === 'text') response.end('OK');
      else {
        const answer = ({ id }: Call) => ({ jsonrpc: '2.0', id: how === 'id' ? id + 1 : id, result: result[how] });
        response.end(JSON.stringify(Array.isArray(calls) ? calls.map(answer) : answer(calls)));
      }
      return true;
    },
  };
}

/** Starts a proxy on a free port, to which it returns after it has refused connections. */
export async function startRpcProxy(target: string): Promise<RpcProxy> {
  const nothing = (): Counts => ({ requests: 0, calls: {}, mostTopics: 0, mostAddresses: 0 });
  let counts = nothing();
  let fault: Fault = {};
  const ask: Ask = async (method, params) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const response = await fetch(target, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    const { result, error } = (await response.json()) as { result: unknown; error?: unknown };
    if (error !== undefined) throw error;
    return result;
  };
  const answer = async ({ id, method, params = [] }: Call) => {
    try {
      return { jsonrpc: '2.0', id, result: await (fault.onCall?.(method, params, ask) ?? ask(method, params)) };
    } catch (error) {
      return { jsonrpc: '2.0', id, error: error instanceof Error ? { code: -32603, message: String(error) } : error };
    }
  };
  const listen = (port?: number) =>
    startServer(async (request, response) => {
      const calls = JSON.parse(await text(request)) as Call | Call[];
      count([calls].flat(), counts);
      if (fault.onRequest?.(calls, response)) return;
      const answers = Array.isArray(calls) ? await Promise.all(calls.map(answer)) : await answer(calls);
      response.setHeader('content-type', 'application/json').end(JSON.stringify(answers));
    }, port);
  let server: (AsyncDisposable & { url: string }) | undefined = await listen();
  const { url } = server;
  const stop = async () => {
    await server?.[Symbol.asyncDispose]();
    server = undefined;
  };
  return {
    url,
    async setFault(next = {}) {
      fault = next;
      if (fault.isRefusing) await stop();
      else server ??= await listen(Number(new URL(url).port));
    },
    takeCounts() {
      const taken = counts;
      counts = nothing();
      return taken;
    },
    [Symbol.asyncDispose]: stop,
  };
}

/** Adds the calls of one request. */
function count(calls: Call[], counts: Counts): void {
  counts.requests++;
  for (const { method, params } of calls) {
    counts.calls[method] = (counts.calls[method] ?? 0) + 1;
    if (method !== 'eth_getLogs') continue;
    const { topics = [], address = [] } = params![0] as Filter;
    counts.mostTopics = Math.max(counts.mostTopics, ...topics.map((each) => [each ?? []].flat().length));
    counts.mostAddresses = Math.max(counts.mostAddresses, [address].flat().length);
  }
}

/** Number of the block with a tag on a chain that ends `behind` blocks earlier. */
async function heightAt(tag: string, ask: Ask, behind = 0): Promise<Hex> {
  const block = (await ask('eth_getBlockByNumber', [tag === 'pending' ? 'latest' : tag, false])) as Block;
  return numberToHex(Math.max(0, Number(block.number) - behind));
}

/** A copy of the parameters with numbers in place of block tags. */
async function withoutTags(params: unknown[], ask: Ask, behind = 0): Promise<unknown[]> {
  const copy = structuredClone(params) as Record<string, unknown>[];
  for (const holder of [copy as unknown as Record<string, unknown>, ...copy]) {
    if (typeof holder !== 'object' || holder === null) continue;
    for (const [name, value] of Object.entries(holder)) {
      if (TAGS.includes(value)) holder[name] = await heightAt(value as string, ask, behind);
    }
  }
  return copy;
}

function matches(filter: Filter, log: Log, latest: Hex): boolean {
  const isAmong = (wanted: Wanted | undefined, value: Hex) =>
    [wanted ?? value].flat().some((each) => each.toLowerCase() === value);
  const { blockHash, fromBlock = latest, toBlock = latest, address, topics = [] } = filter;
  if (!isAmong(address, log.address) || !topics.every((each, i) => isAmong(each, log.topics[i]!))) return false;
  if (blockHash !== undefined) return blockHash === log.blockHash;
  return Number(log.blockNumber) >= Number(fromBlock) && Number(log.blockNumber) <= Number(toBlock);
}
