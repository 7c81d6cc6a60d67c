import { GatewayError } from '../../domain/gateway-error.ts';
import { LOOK_AHEAD, type WalletStore } from '../../providers/evm-wallet-store.ts';
import type { AddressBook } from '../../providers/provider.ts';

/** Largest number of indexes that one call skips. A skipped index cannot be used again. */
const MAX_SKIP = 10_000;

/** An address of a wallet on one chain. */
export interface WalletAddress {
  /** Path below the account: 0/`index`. */
  path: string;
  address: string;
  /** Balance in millionths of a USDC. */
  units: number;
  /** The payment that has the address; null if the database knows none. */
  paymentId: string | null;
}

export interface WalletAddresses {
  nextIndex: number;
  skipped: number;
  /** Length of the longest run of addresses without money, the last ones included. */
  longestUnused: number;
  /** The addresses that were given out, and the skipped and next ones that have a balance. */
  addresses: WalletAddress[];
}

/** The addresses of a wallet that payments use, with their balances on the chain. Rejects if no node answers. */
export async function listAddresses(book: AddressBook, store: WalletStore): Promise<WalletAddresses> {
  const [{ nextIndex, skipped }, given] = [await store.counter(), await store.given()];
  const rows = new Map(given.map((row) => [row.addressIndex, row]));
  const derived = Array.from({ length: nextIndex + LOOK_AHEAD }, (_, index) => {
    const { address = null, paymentId = null, isUsed = false } = rows.get(index) ?? {};
    return { index, address: address ?? book.address(index), paymentId, isUsed };
  });
  const found = await withBalances(book, derived);
  const used = new Set(found.filter(({ isUsed, units }) => isUsed || units > 0).map(({ index }) => index));
  const listed = found.filter(({ index, units }) => rows.has(index) || units > 0);
  const addresses = listed.map(({ index, address, units, paymentId }) => ({
    path: `0/${index}`,
    address,
    units,
    paymentId,
  }));
  return { nextIndex, skipped, longestUnused: longestRun(nextIndex, used), addresses };
}

/** Raises the counter of a wallet after a backup was restored. Throws GatewayError `invalid_state` for an index below the next one; `invalid_input` if too many would be skipped. */
export async function skipAddresses(store: WalletStore, index: number): Promise<void> {
  const { nextIndex } = await store.counter();
  if (index > nextIndex + MAX_SKIP) {
    throw new GatewayError('invalid_input', `At most ${MAX_SKIP} addresses can be skipped at once.`, {
      suggestion: `The next index is ${nextIndex}, and a skipped index cannot be used again.`,
    });
  }
  if (await store.skipTo(index)) return;
  throw new GatewayError('invalid_state', `The next index is ${(await store.counter()).nextIndex} already.`, {
    suggestion: 'The counter is never lowered: an address must belong to one payment.',
  });
}

/** The first `count` addresses of a wallet that have a balance. Rejects if no node answers. */
export async function scanAddresses(book: AddressBook, count: number): Promise<WalletAddress[]> {
  const derived = Array.from({ length: count }, (_, index) => ({ path: `0/${index}`, address: book.address(index) }));
  const found = await withBalances(book, derived);
  return found.filter(({ units }) => units > 0).map((one) => ({ ...one, paymentId: null }));
}

async function withBalances<Item extends { address: string }>(book: AddressBook, items: readonly Item[]) {
  const balances = await book.balances(items.map(({ address }) => address));
  return items.map((item, index) => ({ ...item, units: balances[index]! }));
}

/** Length of the longest run of indexes below `end` that are not used. */
function longestRun(end: number, used: ReadonlySet<number>): number {
  let [run, longest] = [0, 0];
  for (let index = 0; index < end; index++) {
    run = used.has(index) ? 0 : run + 1;
    longest = Math.max(longest, run);
  }
  return longest;
}
