import { setImmediate as turn } from 'node:timers/promises';
import { ACCOUNTS, type AccountSum, type Balances, type BalancesAt } from '../../domain/ledger.ts';
import type { Instant } from '../../domain/records.ts';
import type { Environment } from '../../domain/route.ts';
import { DAY_MS } from '../../store/ledger-port.ts';
import { environmentsOf } from '../access/caller.ts';
import type { Deps } from '../deps.ts';

/** Time range of one read. The embedded database reads on the main thread, and a longer read would delay payments. */
const SLICE_MS = 5 * 60_000;

/**
 * Balances of every account before `at`, without postings dated exactly at `at`. Without `at`, or with a future time, the current
 * balances with every posting. The sums of whole days are stored, so this reads only the entries of the last day
 * before `at`.
 */
export async function ledgerBalances(
  deps: Pick<Deps, 'store' | 'now' | 'caller'>,
  { environment, at }: { environment?: Environment | undefined; at?: Instant | undefined },
  sliceMs = SLICE_MS,
): Promise<BalancesAt> {
  const now = deps.now();
  const environments: Balances[] = [];
  for (const each of environmentsOf(deps, environment)) {
    const isCurrent = at === undefined || at > now;
    const sums = await (isCurrent ? deps.store.daySums(each) : sumsBefore(deps.store, each, at, sliceMs));
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

/** Sums of the entries before `at`. All entries of a posting have the same time, so every slice has whole postings. */
async function sumsBefore(
  store: Deps['store'],
  environment: Environment,
  at: Instant,
  sliceMs: number,
): Promise<AccountSum[]> {
  const day = Math.floor(at / DAY_MS);
  const sums = await store.daySums(environment, day);
  for (let after = day * DAY_MS - 1; after < at - 1; after += sliceMs) {
    sums.push(...(await store.entrySums(environment, after, Math.min(after + sliceMs, at - 1))));
    await turn();
  }
  return sums;
}
