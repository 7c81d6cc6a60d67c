import type { ChainNode, TransferLog } from '../../src/providers/evm-rpc.ts';
import type { SeededRandom } from '../faults/random.ts';

/** Blocks after which a block cannot be replaced. */
export const FINALITY = 12;
const FIRST_BLOCK = 100;
const FORGED_UNITS = 77_000_000;

interface Transfer {
  to: string;
  units: number;
}

interface Transaction {
  hash: string;
  transfers: readonly Transfer[];
}

interface MemoryBlock {
  number: number;
  hash: string;
  transactions: { transaction: Transaction; firstLog: number }[];
  /** Bits of the nodes that have had this block deep enough for a fast confirmation. */
  confirmedBy: number;
}

/** The blocks that a node knows, and the highest final one. */
interface View {
  blocks: readonly MemoryBlock[];
  final: number;
}

export type MemoryChain = ReturnType<typeof createMemoryChain>;

/** A chain in memory whose last blocks can be replaced until they are final. */
export function createMemoryChain(random: SeededRandom) {
  const blocks: MemoryBlock[] = [];
  /** Blocks that others have replaced. */
  const replaced: MemoryBlock[] = [];
  let pending: Transaction[] = [];
  let final = FIRST_BLOCK;
  let counter = 0;
  /** Units that were moved away from an address. */
  const swept = new Map<string, number>();
  const unique = (prefix: string) => `0x${prefix}${(counter++).toString(16)}`;

  function mine(count = 1): void {
    for (let mined = 0; mined < count; mined++) {
      let firstLog = random.int(3);
      const included = pending.filter(() => random.chance(0.8));
      pending = pending.filter((one) => !included.includes(one));
      const transactions = included.map((transaction) => {
        const placed = { transaction, firstLog };
        firstLog += transaction.transfers.length + random.int(2);
        return placed;
      });
      blocks.push({ number: FIRST_BLOCK + blocks.length, hash: unique('b'), transactions, confirmedBy: 0 });
    }
    final = Math.max(final, blocks.at(-1)!.number - FINALITY);
  }

  mine(50);
  return {
    mine,
    /** Replaces up to `depth` blocks that are not final. Some of their transactions are lost for ever. */
    reorganize(depth: number): void {
      const removed = blocks.splice(-Math.min(depth, blocks.at(-1)!.number - final));
      replaced.push(...removed);
      const left = removed.flatMap(({ transactions }) => transactions.map(({ transaction }) => transaction));
      pending.push(...left.filter(() => random.chance(0.7)));
      mine(Math.max(1, removed.length + random.int(3) - 1));
    },
    send(transfers: Transfer[]): void {
      pending.push({ hash: unique('t'), transfers });
    },
    /** Includes every pending transaction, and makes it final. */
    finalize(): void {
      while (pending.length > 0) mine();
      mine(FINALITY);
    },
    sweep(address: string): void {
      swept.set(address, finalSum(address));
    },
    view: (): View => ({ blocks: blocks.slice(), final }),
    finalSum,
    balance: (view: View, address: string) => sumOf(view.blocks, address) - (swept.get(address) ?? 0),
    /** Sum of the transfers that are final, or that `quorum` nodes have had deep enough. Each transfer counts once. */
    confirmedSum(address: string, quorum: number): number {
      const counted = new Set<Transaction>();
      let sum = 0;
      for (const block of [...blocks, ...replaced]) {
        const { number, confirmedBy, transactions } = block;
        const isFinal = number <= final && blocks[number - FIRST_BLOCK] === block;
        if (!isFinal && bits(confirmedBy) < quorum) continue;
        for (const { transaction } of transactions) {
          if (!counted.has(transaction)) sum += unitsTo(transaction, address);
          counted.add(transaction);
        }
      }
      return sum;
    },
  };

  function finalSum(address: string): number {
    return sumOf(blocks.slice(0, final - FIRST_BLOCK + 1), address);
  }
}

function bits(mask: number): number {
  let count = 0;
  for (let rest = mask; rest > 0; rest >>= 1) count += rest & 1;
  return count;
}

function unitsTo({ transfers }: Transaction, address: string): number {
  let sum = 0;
  for (const { to, units } of transfers) if (to === address) sum += units;
  return sum;
}

function sumOf(blocks: readonly MemoryBlock[], address: string): number {
  let sum = 0;
  for (const { transactions } of blocks) {
    for (const { transaction } of transactions) sum += unitsTo(transaction, address);
  }
  return sum;
}

/** Faults of a node: the probabilities, for each call, of each kind. */
export interface NodeFaults {
  /** The node does not learn the newest blocks. */
  lag?: number;
  /** An older backend of the node answers the call. */
  stale?: number;
  fail?: number;
  /** The node hides transfers. */
  hide?: number;
  /** The node reports transfers, balances and blocks that do not exist. */
  forge?: number;
}

export interface MemoryNode extends ChainNode {
  sync(): void;
  repair(): void;
}

/** A node of the chain. `bit` identifies it, and `deep` is the depth of a fast confirmation. */
export function createMemoryNode(
  chain: MemoryChain,
  random: SeededRandom,
  bit: number,
  deep: number,
  given: NodeFaults,
): MemoryNode {
  let faults = given;
  let newest = chain.view();
  let older = newest;
  const happens = (fault: keyof NodeFaults) => faults[fault] !== undefined && random.chance(faults[fault]);

  function seen(): View {
    if (happens('fail')) throw new Error('the node failed');
    return happens('stale') ? older : newest;
  }

  function logsIn({ blocks }: View, from: number, to: number, asked: ReadonlySet<string>): TransferLog[] {
    const found: TransferLog[] = [];
    for (const { number: blockNumber, hash: blockHash, transactions } of blocks.slice(
      Math.max(0, from - FIRST_BLOCK),
      to - FIRST_BLOCK + 1,
    )) {
      for (const { transaction, firstLog } of transactions) {
        for (const [index, { to: address, units }] of transaction.transfers.entries()) {
          if (!asked.has(address) || units === 0) continue;
          found.push({ txHash: transaction.hash, logIndex: firstLog + index, blockHash, blockNumber, address, units });
        }
      }
    }
    return found;
  }

  function forged({ blocks }: View, from: number, to: number, addresses: readonly string[]): TransferLog[] {
    const block = blocks[from + random.int(to - from + 1) - FIRST_BLOCK];
    if (!block || addresses.length === 0 || !happens('forge')) return [];
    const place = { logIndex: 99, blockHash: block.hash, blockNumber: block.number };
    const address = random.pick(addresses);
    return [{ txHash: `0xf${address}`, ...place, address, units: FORGED_UNITS }];
  }

  const hashAt = ({ blocks }: View, number: number) => {
    const hash = blocks[number - FIRST_BLOCK]?.hash;
    if (hash === undefined) throw new Error('the node does not have this block');
    return hash;
  };
  return {
    name: `node ${bit}`,
    async heads() {
      const view = seen();
      const latest = view.blocks.at(-1)!;
      if (happens('forge')) {
        const number = view.final + random.int(4);
        return { latest: { number: latest.number + 20, hash: '0xf' }, final: { number, hash: '0xf' } };
      }
      return {
        latest: { number: latest.number, hash: latest.hash },
        final: { number: view.final, hash: hashAt(view, view.final) },
      };
    },
    blockHash: async (number) => hashAt(seen(), number),
    async transfers(from, to, addresses, known) {
      const view = seen();
      if (known && hashAt(view, known.number) !== known.hash) throw new Error('the node has another block');
      const logs = logsIn(view, from, to, new Set(addresses));
      const shown = happens('hide') ? logs.filter(() => random.chance(0.5)) : logs;
      return [...shown, ...forged(view, from, to, addresses)];
    },
    async receipt(txHash, known) {
      const view = seen();
      if (known && hashAt(view, known.number) !== known.hash) throw new Error('the node has another block');
      for (const { number: blockNumber, hash: blockHash, transactions } of view.blocks) {
        const placed = transactions.find(({ transaction }) => transaction.hash === txHash);
        if (!placed) continue;
        const transfers = placed.transaction.transfers.map(({ to, units }, index) => {
          return { logIndex: placed.firstLog + index, to: to.toLowerCase(), units };
        });
        return { blockHash, blockNumber, transfers: happens('hide') ? [] : transfers };
      }
      return null;
    },
    async balances(addresses) {
      const view = seen();
      return addresses.map((address) => (happens('forge') ? FORGED_UNITS : chain.balance(view, address)));
    },
    token: () => Promise.reject(new Error('no check in this world')),
    sync() {
      if (happens('lag')) return;
      older = newest;
      newest = chain.view();
      const { blocks } = newest;
      for (let index = blocks.length - deep; index >= 0 && (blocks[index]!.confirmedBy & bit) === 0; index--) {
        blocks[index]!.confirmedBy |= bit;
      }
    },
    repair() {
      faults = {};
    },
  };
}
