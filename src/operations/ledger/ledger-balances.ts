import { setImmediate as turn } from 'node:timers/promises';
import { ACCOUNTS, type Balances, type BalancesAt, type EntryPosition } from '../../domain/ledger.ts';
import type { Instant } from '../../domain/records.ts';
import type { Environment } from '../../domain/route.ts';
import { type AccountSum, DAY_MS, type LedgerPartition, partitionsOf } from '../../store/ledger-port.ts';
import { environmentsOf } from '../access/caller.ts';
import type { Deps } from '../deps.ts';

// A posting is dated before it is committed. Older entries are complete, because no commit takes that long.
const COMPLETE_AFTER_MS = 60_000;
/** Entries per read. The embedded database reads on the main thread, and a longer read would delay payments. */
const PART = 1000;

/**
 * Balances of every account before `at`, without postings dated exactly at `at`. Without `at`, or with one in the future, the
 * current balances with every booking. The sums of whole days are stored, so this reads only the entries of the last day
 * before `at`.
 */
export async function ledgerBalances(
  deps: Pick<Deps, 'store' | 'now' | 'caller'>,
  { environment, at }: { environment?: Environment | undefined; at?: Instant | undefined },
  part = PART,
): Promise<BalancesAt> {
  const now = deps.now();
  const environments: Balances[] = [];
  for (const each of environmentsOf(deps, environment)) {
    const sums =
      at === undefined || at > now
        ? await deps.store.daySums(each)
        : await sumsBefore(deps.store, each, { at, now, part });
    environments.push({ environment: each, accounts: accountsOf(sums) });
  }
  return { at: Math.min(at ?? now, now), environments };
}

function accountsOf(sums: readonly AccountSum[]): Balances['accounts'] {
  return ACCOUNTS.map((account) => {
    const own = sums.filter((sum) => sum.account === account);
    const total = (of: 'debits' | 'credits') => own.reduce((all, sum) => all + sum[of], 0);
    return { account, debits: total('debits'), credits: total('credits') };
  });
}

interface Moment {
  at: Instant;
  now: Instant;
  part: number;
}

async function sumsBefore(
  store: Deps['store'],
  environment: Environment,
  { at, now, part }: Moment,
): Promise<AccountSum[]> {
  const day = Math.floor(at / DAY_MS);
  const begin = day * DAY_MS;
  const sums = await store.daySums(environment, day);
  if (at === begin) return sums;
  const shelves = partitionsOf(environment);
  const until = at - 1;
  const complete = Math.max(begin - 1, Math.min(until, now - COMPLETE_AFTER_MS));
  if (complete >= begin) {
    for (const shelf of shelves) sums.push(...(await sumsOfShelf(store, shelf, { begin, until: complete, part })));
  }
  if (until > complete) sums.push(...(await store.recentSums(shelves, complete, until)));
  return sums;
}

async function sumsOfShelf(
  store: Deps['store'],
  shelf: LedgerPartition,
  { begin, until, part }: { begin: Instant; until: Instant; part: number },
): Promise<AccountSum[]> {
  const sums: AccountSum[] = [];
  let after: EntryPosition | undefined = { created: begin, postingId: '', line: -1 };
  do {
    const { last, ...sum }: AccountSum & { last: EntryPosition | undefined } = await store.partitionSum(shelf, {
      after,
      until,
      limit: part,
    });
    sums.push(sum);
    after = last;
    if (after) await turn();
  } while (after);
  return sums;
}
