import { setImmediate as turn } from 'node:timers/promises';
import { ACCOUNTS, type Balances, type BalancesAt, type EntryPlace } from '../../domain/ledger.ts';
import type { Instant } from '../../domain/records.ts';
import type { Environment } from '../../domain/route.ts';
import { type AccountSum, type LedgerShelf, shelvesOf } from '../../store/ledger.ts';
import { environmentsOf } from '../access/caller.ts';
import type { Deps } from '../deps.ts';

// A posting is dated before it is committed: what is older than any commit can take is complete, shelf by shelf.
const COMPLETE_AFTER_MS = 60_000;
/** So many entries are summed at a time: reading must not hold up whoever pays meanwhile. */
const PART = 20_000;

/**
 * What every account held when that moment began, so that what was booked from then on comes on top; now, with all that is
 * booked, where it is left out or has not come yet.
 */
export async function ledgerBalances(
  deps: Pick<Deps, 'store' | 'now' | 'caller'>,
  { environment, at }: { environment?: Environment | undefined; at?: Instant | undefined },
  part = PART,
): Promise<BalancesAt> {
  const now = deps.now();
  const until = at === undefined || at > now ? now : at - 1;
  const environments: Balances[] = [];
  for (const each of environmentsOf(deps, environment))
    environments.push(await balancesOf(deps, each, until, now, part));
  return { at: Math.min(at ?? now, now), environments };
}

async function balancesOf(
  { store }: Pick<Deps, 'store'>,
  environment: Environment,
  until: Instant,
  now: Instant,
  part: number,
): Promise<Balances> {
  const complete = Math.min(until, now - COMPLETE_AFTER_MS);
  const sums: AccountSum[] = [];
  const shelves = shelvesOf(environment);
  for (const shelf of shelves) sums.push(...(await sumsOfShelf(store, shelf, complete, part)));
  if (until > complete) sums.push(...(await store.recentSums(shelves, complete, until)));
  const accounts = ACCOUNTS.map((account) => {
    const own = sums.filter((sum) => sum.account === account);
    const total = (of: 'debits' | 'credits') => own.reduce((all, sum) => all + sum[of], 0);
    return { account, debits: total('debits'), credits: total('credits') };
  });
  return { environment, accounts };
}

async function sumsOfShelf(
  store: Deps['store'],
  shelf: LedgerShelf,
  until: Instant,
  limit: number,
): Promise<AccountSum[]> {
  const sums: AccountSum[] = [];
  let after: EntryPlace | undefined;
  do {
    const { last, ...sum } = await store.shelfSum(shelf, { after, until, limit });
    sums.push(sum);
    after = last;
    // The embedded database answers in this very thread.
    if (after) await turn();
  } while (after);
  return sums;
}
