import { setTimeout as sleep } from 'node:timers/promises';
import type { EntryPlace } from '../domain/ledger.ts';
import type { Cents } from '../domain/money.ts';
import type { Instant } from '../domain/records.ts';
import type { Environment } from '../domain/route.ts';
import { type LedgerShelf, shelvesOf } from '../store/ledger.ts';
import type { Store } from '../store/store.ts';

// A posting is dated before it is committed: what is older than any commit can take is complete.
const COMPLETE_AFTER_MS = 60_000;
// The embedded database answers in the thread that serves: so many entries take some milliseconds, and leave as many
// pauses for whoever pays meanwhile.
const PART = 10_000;
const PAUSE_MS = 50;
// Whoever alters an entry behind the database's guards does so to an old one: only reading it again tells.
const ANEW_EVERY_MS = 3_600_000;

/** What all entries of an environment add up to: 0, or the books are wrong. */
export interface LedgerSum {
  /**
   * Reads what was booked since the last time, the journal being append-only, and once an hour all of it, so that what
   * was altered or put right is seen; undefined once aborted.
   */
  refresh(signal: AbortSignal): Promise<Cents | undefined>;
}

interface AddedUp {
  shelf: LedgerShelf;
  cents: Cents;
  after: EntryPlace | undefined;
}

export function createLedgerSum(store: Store, environment: Environment, part = PART): LedgerSum {
  const known = new Map<string, AddedUp>();
  let begun: Instant = -Infinity;

  async function addShelf(sum: AddedUp, until: number, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const { last, debits, credits } = await store.shelfSum(sum.shelf, { after: sum.after, until, limit: part });
      sum.cents += debits - credits;
      sum.after = last ?? { created: until + 1, postingId: '', line: -1 };
      if (!last) return;
      await sleep(PAUSE_MS, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  /** Those that this version books on, and whatever else somebody has put there. */
  async function findShelves(): Promise<void> {
    for (const shelf of [...shelvesOf(environment), ...(await store.shelvesInUse(environment))]) {
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
