import type {
  ChainAddress,
  ChainCursor,
  ChainTransfer,
  WatchStore,
  WatchedAddress,
} from '../../src/providers/evm-store.ts';

const PAGE = 2;
const isOpen = ({ state }: ChainTransfer) => state === 'seen' || state === 'fast';
const keyOf = ({ txHash, logIndex, blockHash }: ChainTransfer) => `${txHash}/${logIndex}/${blockHash}`;

export interface MemoryWatchStore extends WatchStore {
  rows: Map<string, ChainAddress>;
  current(): ChainCursor | undefined;
}

/** The rows of a watcher in memory, with the rules of `createWatchStore`. `onRow` is called before a row changes. */
export function createMemoryWatchStore(onRow: (before: ChainAddress, after: ChainAddress) => void): MemoryWatchStore {
  let cursor: ChainCursor | undefined;
  const rows = new Map<string, ChainAddress>();
  const transfers = new Map<string, ChainTransfer>();
  const inOrder = (a: ChainTransfer, b: ChainTransfer) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex;

  function withTransfers(row: ChainAddress): WatchedAddress {
    const own = [...transfers.values()].filter(({ address }) => address === row.address);
    return { row, transfers: own.toSorted(inOrder) };
  }

  function mayNeedReport({ row, transfers: own }: WatchedAddress, reported: number): boolean {
    const final = own.reduce((sum, { state, units }) => sum + (state === 'final' ? units : 0), 0);
    const isOpenBook = (row.reportedUnits >= reported && !row.settled) || row.unsent !== null;
    return final !== row.reportedUnits - row.reversedUnits || isOpenBook || own.some(isOpen);
  }

  return {
    rows,
    current: () => cursor,
    cursor: async () => cursor,
    async createCursor(created) {
      cursor ??= created;
    },
    async claim({ lease, leaseUntil }, before) {
      if (cursor?.lease !== before.lease) return false;
      cursor = { ...cursor, lease, leaseUntil };
      return true;
    },
    async hot(now) {
      return [...rows.values()].filter(({ hotUntil }) => hotUntil > now).map(({ address }) => address!);
    },
    async cold(now, since, after) {
      const cold = [...rows.values()].filter(({ hotUntil, created }) => hotUntil <= now && created > since);
      const addresses = cold.map(({ address }) => address!).toSorted();
      return addresses.filter((address) => address > after).slice(0, PAGE);
    },
    async active(now) {
      const hot = [...rows.values()].filter(({ hotUntil }) => hotUntil > now);
      return hot.map(withTransfers).filter((one) => mayNeedReport(one, 1));
    },
    async unreported(now, since) {
      const cold = [...rows.values()].filter(({ hotUntil, created }) => hotUntil <= now && created > since);
      return cold
        .map(withTransfers)
        .filter(mayNeedReport)
        .map(({ row }) => row.address!);
    },
    async checksDue(now) {
      return [...rows.values()]
        .filter(({ checkAt }) => checkAt !== null && checkAt <= now)
        .toSorted((a, b) => a.checkAt! - b.checkAt!)
        .slice(0, PAGE)
        .map(withTransfers);
    },
    openTransfers: async () => [...transfers.values()].filter(isOpen),
    async finalTransfers(from, to) {
      return [...transfers.values()].filter((one) => one.blockNumber >= from && one.blockNumber <= to && !isOpen(one));
    },
    async save({ cursor: next, put = [], drop = [], rows: changed = [], warm }) {
      if (cursor?.lease !== next.lease) return false;
      cursor = next;
      for (const one of drop) if (isOpen(transfers.get(keyOf(one)) ?? one)) transfers.delete(keyOf(one));
      for (const one of put) transfers.set(keyOf(one), one);
      for (const row of changed) {
        onRow(rows.get(row.paymentId)!, row);
        rows.set(row.paymentId, row);
      }
      for (const row of rows.values()) {
        const isWarmed = warm?.addresses.includes(row.address!) === true && row.hotUntil < warm.until;
        if (warm && isWarmed) rows.set(row.paymentId, { ...row, hotUntil: warm.until });
      }
      return true;
    },
  };
}
