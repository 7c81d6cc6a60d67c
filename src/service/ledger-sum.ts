import { setTimeout as sleep } from 'node:timers/promises';
import type { EntryPosition } from '../domain/ledger.ts';
import type { Cents } from '../domain/money.ts';
import type { Instant } from '../domain/records.ts';
import type { Environment } from '../domain/route.ts';
import { type LedgerPartition, partitionsOf } from '../store/ledger-port.ts';
import type { Store } from '../store/store.ts';

// A posting is dated before its commit. Entries older than the longest commit are complete.
const COMPLETE_AFTER_MS = 60_000;
// The embedded database reads in the serving thread: a part takes some milliseconds, and requests are served in the pauses.
const PART = 10_000;
const PAUSE_MS = 50;
// Only another read finds an old entry that was altered outside the service.
const ANEW_EVERY_MS = 3_600_000;

/** Sum of all entries of an environment: 0, or the books are wrong. */
export interface LedgerSum {
  /**
   * Reads the entries since the last call, since the journal is append-only, and once an hour all of them, to find altered ones.
   * Undefined once aborted.
   */
  refresh(signal: AbortSignal): Promise<Cents | undefined>;
}

interface AddedUp {
  shelf: LedgerPartition;
  cents: Cents;
  after: EntryPosition | undefined;
}

export function createLedgerSum(store: Store, environment: Environment, part = PART): LedgerSum {
  const known = new Map<string, AddedUp>();
  let begun: Instant = -Infinity;

  async function addShelf(sum: AddedUp, until: number, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const { last, debits, credits } = await store.partitionSum(sum.shelf, { after: sum.after, until, limit: part });
      sum.cents += debits - credits;
      sum.after = last ?? { created: until + 1, postingId: '', line: -1 };
      if (!last) return;
      await sleep(PAUSE_MS, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  /** Accounts and kinds of this version, and all others in the journal. */
  async function findShelves(): Promise<void> {
    for (const shelf of [...partitionsOf(environment), ...(await store.partitionsInUse(environment))]) {
      const name = `${shelf.account} ${shelf.kind}`;
      if (!known.has(name)) known.set(name, { shelf, cents: 0, after: undefined });
    }
  }

  return {
    async refresh(signal) {
      const now = store.now();
      const complete = now - COMPLETE_AFTER_MS;
      if (now - begun >= ANEW_EVERY_MS) {
        known.clear();
        begun = now;
      }
      await findShelves();
      const sums = [...known.values()];
      for (const sum of sums) await addShelf(sum, complete, signal);
      if (signal.aborted) return undefined;
      const shelves = sums.map(({ shelf }) => shelf);
      const recent = await store.recentSums(shelves, complete, now);
      const before = sums.reduce((sum, { cents }) => sum + cents, 0);
      return recent.reduce((sum, { debits, credits }) => sum + debits - credits, before);
    },
  };
}
