import type { Logger } from 'pino';
import type { Instant } from '../domain/records.ts';
import { type Chain, queryRanges } from './evm-chains.ts';
import { type AgreedHeight, type AnsweringNode, ChainProblem, type Quorum, transferKey } from './evm-quorum.ts';
import type {
  ChainAddress,
  ChainCursor,
  ChainTransfer,
  WatchChanges,
  WatchStore,
  WatchedAddress,
} from './evm-store.ts';
import { type ConfirmRules, nextVerdict, standbyReason, strayOf, sumsOf } from './evm-verdicts.ts';
import type { Watch, WatchedSignal } from './provider.ts';

const SECOND_MS = 1000;
const DAY_MS = 24 * 60 * 60 * SECOND_MS;
/** Time between two polls while no address is hot. */
const IDLE_MS = 10 * 60 * SECOND_MS;
const LEASE_MS = 30 * SECOND_MS;
/** Final blocks that the next poll reads again. */
const OVERLAP = 24;
/** Largest number of transfers whose receipts one poll asks for. */
const RECEIPTS_PER_POLL = 50;

/** The lease has expired, and another process may be polling. */
class LostLease extends Error {}

interface WatchOptions {
  provider: string;
  chain: Chain;
  quorum: Quorum;
  confirm: ConfirmRules;
  /** Days after its creation for which an address is watched. */
  lateWatchDays: number;
  store: WatchStore;
  now(): Instant;
  log: Pick<Logger, 'info' | 'warn'>;
  /** Called when the routes of the instance must go to standby. */
  onNotReady(reason: string): void;
}

/**
 * Watches one chain for transfers to our addresses. A transfer counts as final only if a quorum of nodes reports the same final
 * block and the same transfers. The transfers and the position are committed together, and all reports are derived from the stored
 * rows. Every process has a watcher; the watcher with the lease polls.
 */
export function createChainWatch(options: WatchOptions): Watch {
  const { provider, chain, quorum, confirm, lateWatchDays, store, now, log, onNotReady } = options;
  let lease: number | undefined;

  async function poll(): Promise<void> {
    const known = (await store.cursor()) ?? (await createCursor());
    if (!known) return;
    const reason = standbyReason(known, now());
    if (reason !== undefined) onNotReady(reason);
    const isIdle = known.failingSince === null && known.coldAt + DAY_MS > now() && now() - known.polledAt < IDLE_MS;
    if (isIdle && (await store.hot(now())).length === 0) return;
    const cursor = await claimed(known);
    if (!cursor) return;
    try {
      await look(cursor);
    } catch (error) {
      if (error instanceof LostLease) return;
      if (!(error instanceof ChainProblem)) throw error;
      await noteProblem(error);
    }
  }

  /** The first cursor of the instance starts at the final block. Older blocks contain no transfer to our addresses. */
  async function createCursor(): Promise<ChainCursor | undefined> {
    try {
      const { height } = await quorum.height();
      const start = { finalBlock: height, coldBlock: height, coldAt: now(), polledAt: now() };
      const sound = { failingSince: null, problem: null, disagreements: 0 };
      await store.createCursor({ provider, chainId: chain.chainId, ...start, ...sound, lease: 0, leaseUntil: 0 });
    } catch (error) {
      if (!(error instanceof ChainProblem)) throw error;
      onNotReady(error.message);
    }
    return store.cursor();
  }

  /** The cursor, if this process has the lease. */
  async function claimed(cursor: ChainCursor): Promise<ChainCursor | undefined> {
    if (cursor.leaseUntil > now()) return cursor.lease === lease ? cursor : undefined;
    const next = { ...cursor, lease: cursor.lease + 1, leaseUntil: now() + LEASE_MS };
    if (!(await store.claim(next, cursor))) return undefined;
    lease = next.lease;
    return next;
  }

  /** Commits changes under the lease, and extends the lease. */
  async function save(cursor: ChainCursor, changes: Omit<WatchChanges, 'cursor'> = {}): Promise<ChainCursor> {
    const extended = { ...cursor, leaseUntil: now() + LEASE_MS };
    if (await store.save({ cursor: extended, ...changes })) return extended;
    throw new LostLease();
  }

  async function noteProblem({ message, isDisagreement }: ChainProblem): Promise<void> {
    // The poll can have moved the cursor before it failed.
    const cursor = await store.cursor();
    if (!cursor || cursor.lease !== lease) return;
    if (cursor.failingSince === null) log.warn({ provider, reason: message }, 'the chain cannot be read');
    const disagreements = isDisagreement ? cursor.disagreements + 1 : 0;
    const failingSince = cursor.failingSince ?? now();
    await store.save({ cursor: { ...cursor, problem: message, failingSince, disagreements } });
  }

  async function look(before: ChainCursor): Promise<void> {
    const polledAt = now();
    const agreed = await quorum.height();
    // The addresses are read after the height: a later address has no transfer in a final block.
    const hot = await store.hot(now());
    let cursor = await passOverFinal(before, agreed, hot);
    await passOverOpen(cursor, agreed, hot);
    if (agreed.height < before.finalBlock) {
      throw new ChainProblem(`the nodes of ${chain.label} are behind: block ${before.finalBlock} was final before`);
    }
    if (confirm.fastUpToUnits > 0) cursor = await confirmFast(cursor, agreed);
    cursor = await checkBalances(cursor, agreed);
    if (cursor.coldAt + DAY_MS <= now()) cursor = await passOverCold(cursor, agreed);
    await save({ ...cursor, polledAt, failingSince: null, problem: null, disagreements: 0 });
    if (cursor.failingSince !== null) log.info({ provider }, 'the chain can be read again');
  }

  /** Stores the final transfers up to the agreed height, and moves the cursor there. */
  async function passOverFinal(before: ChainCursor, { height, agreeing }: AgreedHeight, hot: readonly string[]) {
    let cursor = before;
    while (cursor.finalBlock < height) {
      const to = hot.length === 0 ? height : Math.min(height, cursor.finalBlock + chain.logRange);
      const put = await newFinal(agreeing, cursor.finalBlock + 1 - OVERLAP, to, hot);
      const open = await store.openTransfers();
      const drop = open.filter(({ blockNumber }) => blockNumber <= to);
      cursor = await save({ ...cursor, finalBlock: to }, { put, drop });
    }
    return cursor;
  }

  /** The final transfers in a range of blocks that are not stored yet. */
  async function newFinal(
    agreeing: readonly AnsweringNode[],
    first: number,
    to: number,
    addresses: readonly string[],
  ): Promise<ChainTransfer[]> {
    if (addresses.length === 0) return [];
    const from = Math.max(first, 0);
    const found = new Map(
      (await quorum.transfers(agreeing, from, to, addresses)).map((log) => [transferKey(log), log]),
    );
    const asked = new Set(addresses);
    for (const transfer of await store.finalTransfers(from, to)) {
      if (!asked.has(transfer.address) || found.delete(transferKey(transfer))) continue;
      throw new ChainProblem(
        `the nodes of ${chain.label} no longer report a final transfer of ${transfer.txHash}`,
        true,
      );
    }
    return Array.from(found.values(), (log) => ({ provider, ...log, state: 'final' as const }));
  }

  /** Replaces the transfers that are not final. */
  async function passOverOpen(cursor: ChainCursor, { agreeing }: AgreedHeight, hot: readonly string[]): Promise<void> {
    const seen = hot.length === 0 ? [] : await quorum.openTransfers(agreeing, cursor.finalBlock, hot);
    if (!seen) return;
    const open = await store.openTransfers();
    const [found, known] = [seen, open].map((transfers) => new Set(transfers.map(transferKey)));
    const drop = open.filter((transfer) => !found!.has(transferKey(transfer)));
    const appeared = seen.filter((log) => !known!.has(transferKey(log)));
    const put = appeared.map((log) => ({ provider, ...log, state: 'seen' as const }));
    if (put.length + drop.length > 0) await save(cursor, { put, drop });
  }

  /** Marks transfers as `fast` that complete a small payment, are deep enough, and whose receipts a quorum confirms. */
  async function confirmFast(cursor: ChainCursor, { heads }: AgreedHeight): Promise<ChainCursor> {
    const completed = (await store.active(now())).filter(({ row, transfers }) => {
      const isSmall = row.provider === provider && row.dueUnits <= confirm.fastUpToUnits;
      const { final, fast, seen } = sumsOf(transfers);
      return isSmall && row.reportedUnits < row.dueUnits && final + fast + seen >= row.dueUnits;
    });
    const newest = Math.max(...heads.map(({ latest }) => latest.number));
    const deep = completed
      .flatMap(({ transfers }) => transfers)
      .filter(({ state, blockNumber }) => state === 'seen' && newest - blockNumber + 1 >= confirm.blocks)
      .slice(0, RECEIPTS_PER_POLL);
    const confirmed = await Promise.all(deep.map((transfer) => quorum.confirms(transfer, heads, confirm.blocks)));
    const put = deep.filter((_, index) => confirmed[index]).map((one) => ({ ...one, state: 'fast' as const }));
    return put.length === 0 ? cursor : save(cursor, { put });
  }

  /** Compares due addresses with their balances. If an address has more than is known, its transfers are read again. */
  async function checkBalances(before: ChainCursor, { agreeing }: AgreedHeight): Promise<ChainCursor> {
    const due = await store.checksDue(now());
    if (due.length === 0) return before;
    const addresses = due.map(({ row }) => row.address!);
    const balances = await quorum.balances(agreeing, addresses);
    const put: ChainTransfer[] = [];
    const rows: ChainAddress[] = [];
    for (const [index, { row, transfers }] of due.entries()) {
      const { final, fast, seen } = sumsOf(transfers);
      const isHidden = balances[index]! > final + fast + seen;
      const ranges = isHidden ? queryRanges(chain, row.createdBlock, before.finalBlock) : [];
      const hidden = await newFinalIn(before, ranges, agreeing, [row.address!]);
      if (hidden.length > 0) log.warn({ provider, paymentId: row.paymentId }, 'the nodes had hidden a transfer');
      put.push(...hidden);
      rows.push({ ...row, checkAt: nextCheck(row), ...(hidden.length > 0 && { hotUntil: now() + DAY_MS }) });
    }
    return save(before, { put, rows });
  }

  /** The final transfers in many ranges of blocks that are not stored yet. */
  async function newFinalIn(
    cursor: ChainCursor,
    ranges: readonly [first: number, last: number][],
    agreeing: readonly AnsweringNode[],
    addresses: readonly string[],
  ): Promise<ChainTransfer[]> {
    const found: ChainTransfer[] = [];
    for (const [first, last] of ranges) {
      found.push(...(await newFinal(agreeing, first, last, addresses)));
      // Extends the lease: the ranges of some days take longer than it.
      await save(cursor);
    }
    return found;
  }

  /** The next comparison after the time-out: when the address is no longer hot, then daily to the end of its watch. */
  function nextCheck({ created, hotUntil }: ChainAddress): Instant | null {
    if (now() < hotUntil) return hotUntil;
    const next = now() + DAY_MS;
    return next > created + lateWatchDays * DAY_MS ? null : next;
  }

  /** Looks for transfers to addresses that are no longer hot. */
  async function passOverCold(before: ChainCursor, { agreeing }: AgreedHeight): Promise<ChainCursor> {
    const started = now();
    const since = started - lateWatchDays * DAY_MS;
    let cursor = before;
    const ranges = queryRanges(chain, before.coldBlock + 1 - OVERLAP, before.finalBlock);
    let page: readonly string[] = [];
    do {
      page = await store.cold(started, since, page.at(-1) ?? '');
      // An address that becomes hot is not in the next pass, so one commit stores all its transfers.
      const put = await newFinalIn(cursor, ranges, agreeing, page);
      const addresses = [...new Set(put.map(({ address }) => address))];
      cursor = await save(cursor, { put, warm: { addresses, until: now() + DAY_MS } });
    } while (page.length > 0);
    const warm = { addresses: await store.unreported(started, since), until: now() + DAY_MS };
    return save({ ...cursor, coldBlock: before.finalBlock, coldAt: started }, { warm });
  }

  /**
   * The reports about one address. The row is stored before each report about money that a reorganization can undo, and after the
   * caller has applied a report.
   */
  async function* reportsOf(watched: WatchedAddress, cursor: ChainCursor): AsyncGenerator<WatchedSignal> {
    let { row } = watched;
    // After a failed poll, the transfers that are not final can be out of date.
    const { finalBlock, failingSince } = cursor;
    const position = { chain, confirm, finalBlock, isCurrent: failingSince === null };
    for (;;) {
      const verdict = nextVerdict({ ...watched, row }, position, now());
      if (!verdict) return;
      if (verdict.signal) yield verdict.signal;
      row = verdict.after;
      await save(cursor, { rows: [row] });
    }
  }

  /** Reports about money for a payment of another chain. */
  async function* strays({ row, transfers }: WatchedAddress, cursor: ChainCursor): AsyncGenerator<WatchedSignal> {
    for (const transfer of transfers.filter(({ state }) => state === 'final')) {
      yield { ...strayOf(row, transfer, chain), provider: row.provider };
      await save(cursor, { put: [{ ...transfer, state: 'listed' }] });
    }
  }

  return {
    pollMs: chain.pollMs,
    poll,
    async *reports() {
      const cursor = await store.cursor();
      if (!cursor || cursor.lease !== lease || cursor.leaseUntil <= now()) return;
      try {
        for (const watched of await store.active(now())) {
          yield* watched.row.provider === provider ? reportsOf(watched, cursor) : strays(watched, cursor);
        }
      } catch (error) {
        // The process with the lease makes the remaining reports.
        if (!(error instanceof LostLease)) throw error;
      }
    },
  };
}
