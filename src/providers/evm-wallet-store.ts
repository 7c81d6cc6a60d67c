import type { Database } from '../store/database.ts';
import { CREATE_WALLET } from './evm-store.ts';

/** Addresses after the counter whose balances are read too. Money on them shows that the database is older than the chain. */
export const LOOK_AHEAD = 20;

/** An address that was given out. */
interface GivenAddress {
  addressIndex: number;
  /** Null until the second commit of the handoff. */
  address: string | null;
  paymentId: string;
  /** True if a transfer to the address is stored. */
  isUsed: boolean;
}

/** Rows of one wallet, for its operator. */
export interface WalletStore {
  /** The next index, and the number of indexes that were skipped. */
  counter(): Promise<{ nextIndex: number; skipped: number }>;
  /** All addresses that were given out, in the order of their indexes. */
  given(): Promise<GivenAddress[]>;
  /** Raises the counter to `index`; returns false if it is higher already. */
  skipTo(index: number): Promise<boolean>;
}

const SELECT_COUNTER = 'SELECT next_index, skipped FROM chain_wallets WHERE wallet = ?1';
const SELECT_GIVEN = `SELECT address_index, address, payment_id, (
    SELECT COUNT(*) FROM chain_transfers WHERE chain_transfers.address = chain_addresses.address) AS transfers
  FROM chain_addresses WHERE wallet = ?1 ORDER BY address_index`;
const SKIP = `UPDATE chain_wallets SET skipped = skipped + ?2 - next_index, next_index = ?2
  WHERE wallet = ?1 AND next_index <= ?2`;

export function createWalletStore({ select, write }: Database, wallet: string): WalletStore {
  return {
    async counter() {
      const [found] = await select(SELECT_COUNTER, wallet);
      return { nextIndex: (found?.['next_index'] ?? 0) as number, skipped: (found?.['skipped'] ?? 0) as number };
    },
    given: async () =>
      (await select(SELECT_GIVEN, wallet)).map((row) => ({
        addressIndex: row['address_index'] as number,
        address: row['address'] as string | null,
        paymentId: row['payment_id'] as string,
        isUsed: (row['transfers'] as number) > 0,
      })),
    async skipTo(index) {
      const skip = { sql: SKIP, params: [wallet, index], guard: 'overtaken' as const };
      return write([{ sql: CREATE_WALLET, params: [wallet] }, skip], wallet);
    },
  };
}
