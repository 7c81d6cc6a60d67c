import type { Instant } from '../domain/records.ts';
import type { Database } from '../store/database.ts';
import type { Row, SqlValue } from '../store/keyset.ts';
import { type ItemOf, defineTable, flag, integer, orNull, text, textOf } from '../store/table-description.ts';
import type { Write } from '../store/write-statement.ts';

const ADDRESSES = defineTable('chain_addresses', {
  /** Fingerprint of the extended public key. */
  wallet: text,
  /** Last step of the derivation path: 0/`addressIndex`. */
  addressIndex: integer,
  paymentId: text,
  provider: text,
  /** With its checksum; null until the second commit of the handoff. */
  address: orNull(text),
  dueUnits: integer,
  created: integer,
  /** Final block at the time of creation: no transfer to the address is older. */
  createdBlock: integer,
  /** End of the time in which every poll looks for transfers to the address. */
  hotUntil: integer,
  /** Time of the next comparison with the balance on the chain; null if the address is no longer watched. */
  checkAt: orNull(integer),
  /** True if the buyer has abandoned the attempt. */
  closed: flag,
  /** Seen and final money at the last report of progress, and the time by which that report expected finality. */
  announcedUnits: integer,
  expectedBy: orNull(integer),
  /** Money that was reported as paid. */
  reportedUnits: integer,
  /** Block of the newest transfer of a report that was made before finality; null if there was none. */
  fastBlock: orNull(integer),
  /** Reported money that a reorganization has undone. */
  reversedUnits: integer,
  reversalRevision: integer,
  /** Report about `reportedUnits` or `reversedUnits` that was decided and may not be applied yet. */
  unsent: orNull(textOf<'paid' | 'reversal'>()),
  settled: flag,
});
export type ChainAddress = ItemOf<typeof ADDRESSES>;

/** Transfer to one of our addresses. The key contains the block, because a reorganization can move a transaction to another block. */
const TRANSFERS = defineTable('chain_transfers', {
  provider: text,
  txHash: text,
  logIndex: integer,
  blockHash: text,
  blockNumber: integer,
  address: text,
  units: integer,
  /** `fast`: confirmed by the quorum before finality. `listed`: final money of a payment of another chain, listed as a discrepancy. */
  state: textOf<'seen' | 'fast' | 'final' | 'listed'>(),
});
export type ChainTransfer = ItemOf<typeof TRANSFERS>;

/** Position of the watcher of one instance. The lease number is the fencing token of every write of the watcher. */
const CURSORS = defineTable('chain_cursors', {
  provider: text,
  chainId: integer,
  /** All transfers to hot addresses up to this block are stored. */
  finalBlock: integer,
  /** All transfers to cold addresses up to this block are stored; `coldAt` is the time of that pass. */
  coldBlock: integer,
  coldAt: integer,
  /** Time of the last complete poll. */
  polledAt: integer,
  failingSince: orNull(integer),
  problem: orNull(text),
  /** Number of consecutive polls in which the nodes contradicted each other. */
  disagreements: integer,
  lease: integer,
  leaseUntil: integer,
});
export type ChainCursor = ItemOf<typeof CURSORS>;

/** An address and its stored transfers, oldest first. */
export interface WatchedAddress {
  row: ChainAddress;
  transfers: readonly ChainTransfer[];
}

/** Changes that one commit of the watcher writes. */
export interface WatchChanges {
  cursor: ChainCursor;
  put?: readonly ChainTransfer[];
  drop?: readonly ChainTransfer[];
  rows?: readonly ChainAddress[];
  /** Addresses that become hot again until `until`. */
  warm?: { addresses: readonly string[]; until: Instant };
}

/** Rows of the watcher of one instance. */
export interface WatchStore {
  cursor(): Promise<ChainCursor | undefined>;
  /** Creates the cursor unless there is one. */
  createCursor(cursor: ChainCursor): Promise<void>;
  /** Replaces the cursor `before` unless another process has claimed it. */
  claim(cursor: ChainCursor, before: ChainCursor): Promise<boolean>;
  /** Addresses that every poll looks at. */
  hot(now: Instant): Promise<readonly string[]>;
  /** Addresses that only the daily pass looks at, in pages: those after the address `after`, created since `since`. */
  cold(now: Instant, since: Instant, after: string): Promise<readonly string[]>;
  /** Hot addresses whose transfers may need a report; those of payments of another chain if they have unlisted transfers. */
  active(now: Instant): Promise<readonly WatchedAddress[]>;
  /** Addresses created since `since` that are no longer hot and whose transfers need a report. */
  unreported(now: Instant, since: Instant): Promise<readonly string[]>;
  /** Own addresses whose comparison with the balance is due. */
  checksDue(now: Instant): Promise<readonly WatchedAddress[]>;
  /** Transfers that are not final. */
  openTransfers(): Promise<readonly ChainTransfer[]>;
  /** Final transfers in a range of blocks, both ends included. */
  finalTransfers(from: number, to: number): Promise<readonly ChainTransfer[]>;
  /** Commits the changes if the lease of `cursor` is still valid; returns false otherwise. */
  save(changes: WatchChanges): Promise<boolean>;
}

const PAGE = 500;
const insertCursor = CURSORS.insert({ onConflict: 'ON CONFLICT DO NOTHING' });
const saveCursor = CURSORS.update({
  key: ['provider', 'lease'],
  set: ['finalBlock', 'coldBlock', 'coldAt', 'polledAt', 'failingSince', 'problem', 'disagreements', 'leaseUntil'],
  guard: 'overtaken',
});
const CLAIM = 'UPDATE chain_cursors SET lease = ?2, lease_until = ?3 WHERE provider = ?1 AND lease = ?4';
const putTransfer = TRANSFERS.insert({
  onConflict: 'ON CONFLICT (provider, tx_hash, log_index, block_hash) DO UPDATE SET state = excluded.state',
});
const DROP_TRANSFER = `DELETE FROM chain_transfers
  WHERE provider = ?1 AND tx_hash = ?2 AND log_index = ?3 AND block_hash = ?4 AND state IN ('seen', 'fast')`;
const saveAddress = ADDRESSES.update({
  key: ['paymentId'],
  set: [
    'hotUntil',
    'checkAt',
    'announcedUnits',
    'expectedBy',
    'reportedUnits',
    'fastBlock',
    'reversedUnits',
    'reversalRevision',
    'unsent',
    'settled',
  ],
});

const SELECT_CURSOR = 'SELECT * FROM chain_cursors WHERE provider = ?1';
const SELECT_HOT =
  'SELECT address FROM chain_addresses WHERE wallet = ?1 AND hot_until > ?2 AND address IS NOT NULL ORDER BY address';
const SELECT_COLD = `SELECT address FROM chain_addresses
  WHERE wallet = ?1 AND hot_until <= ?2 AND created > ?3 AND address > ?4 ORDER BY address LIMIT ${PAGE}`;
// The sums are of the transfers that the instance ?2 has found.
const needsReport = (id: string, which: string, least: string) => `SELECT address.${id} FROM chain_addresses AS address
  LEFT JOIN chain_transfers AS transfer ON transfer.address = address.address AND transfer.provider = ?2
  WHERE address.wallet = ?1 AND ${which}
  GROUP BY address.wallet, address.address_index
  HAVING CASE WHEN address.provider = ?2
    THEN SUM(CASE WHEN transfer.state = 'final' THEN transfer.units ELSE 0 END) <> address.reported_units - address.reversed_units
      OR address.unsent IS NOT NULL OR (address.reported_units >= ${least} AND address.settled = 0)
      OR COUNT(CASE WHEN transfer.state IN ('seen', 'fast') THEN 1 END) > 0
    ELSE COUNT(CASE WHEN transfer.state = 'final' THEN 1 END) > 0 END`;
const ACTIVE = needsReport('payment_id', 'hot_until > ?3', '1');
const UNREPORTED = needsReport('address', 'hot_until <= ?3 AND created > ?4', 'due_units');
const CHECKS_DUE = `SELECT payment_id FROM chain_addresses
  WHERE wallet = ?1 AND provider = ?2 AND check_at <= ?3 AND address IS NOT NULL ORDER BY check_at LIMIT ${PAGE}`;
const SELECT_OPEN = "SELECT * FROM chain_transfers WHERE provider = ?1 AND state IN ('seen', 'fast')";
const SELECT_FINAL = `SELECT * FROM chain_transfers
  WHERE provider = ?1 AND block_number BETWEEN ?2 AND ?3 AND state IN ('final', 'listed')`;
const WARM = 'UPDATE chain_addresses SET hot_until = ?2 WHERE address = ?1 AND hot_until < ?2';

/** Store of the watcher of the instance `provider`, whose addresses belong to `wallet`. */
export function createWatchStore({ select, write }: Database, provider: string, wallet: string): WatchStore {
  async function watched(ids: string, now: Instant): Promise<WatchedAddress[]> {
    const rows = await select(`SELECT * FROM chain_addresses WHERE payment_id IN (${ids})`, wallet, provider, now);
    if (rows.length === 0) return [];
    const sql = `SELECT * FROM chain_transfers WHERE provider = ?2 AND address IN (
      SELECT address FROM chain_addresses WHERE payment_id IN (${ids})) ORDER BY block_number, log_index`;
    const found = await select(sql, wallet, provider, now);
    const transfers = Map.groupBy(found.map(TRANSFERS.fromRow), ({ address }) => address);
    return rows.map((row) => {
      const address = ADDRESSES.fromRow(row);
      return { row: address, transfers: transfers.get(address.address!) ?? [] };
    });
  }
  const addressOf = (row: Row) => row['address'] as string;
  const transfers = async (sql: string, ...params: SqlValue[]) => (await select(sql, ...params)).map(TRANSFERS.fromRow);
  return {
    cursor: () => cursorOf(select, provider),
    async createCursor(cursor) {
      await write([insertCursor(cursor)], provider);
    },
    claim: ({ lease, leaseUntil }, before) =>
      write([{ sql: CLAIM, params: [provider, lease, leaseUntil, before.lease], guard: 'overtaken' }], provider),
    hot: async (now) => (await select(SELECT_HOT, wallet, now)).map(addressOf),
    cold: async (now, since, after) => (await select(SELECT_COLD, wallet, now, since, after)).map(addressOf),
    active: (now) => watched(ACTIVE, now),
    unreported: async (...times) => (await select(UNREPORTED, wallet, provider, ...times)).map(addressOf),
    checksDue: (now) => watched(CHECKS_DUE, now),
    openTransfers: () => transfers(SELECT_OPEN, provider),
    finalTransfers: (from, to) => transfers(SELECT_FINAL, provider, from, to),
    save({ cursor, put = [], drop = [], rows = [], warm }) {
      const key = ({ txHash, logIndex, blockHash }: ChainTransfer) => [provider, txHash, logIndex, blockHash];
      const writes: Write[] = [
        saveCursor(cursor),
        ...drop.map((transfer) => ({ sql: DROP_TRANSFER, params: key(transfer) })),
        ...put.map((transfer) => putTransfer(transfer)),
        ...rows.map((row) => saveAddress(row)),
        ...(warm?.addresses ?? []).map((address) => ({ sql: WARM, params: [address, warm!.until] })),
      ];
      return write(writes, provider);
    },
  };
}

/** Rows of payments and refunds of one instance. */
export interface AddressStore {
  cursor(): Promise<ChainCursor | undefined>;
  ofPayment(paymentId: string): Promise<WatchedAddress | undefined>;
  /** Takes the next index of the wallet for a payment, unless the payment has an address. */
  takeIndex(row: Omit<ChainAddress, 'addressIndex' | 'address'>): Promise<void>;
  name(paymentId: string, address: string): Promise<void>;
  close(paymentId: string): Promise<void>;
  /** True for an address of any payment; `address` has small letters. */
  isOwn(address: string): Promise<boolean>;
}

export const CREATE_WALLET =
  'INSERT INTO chain_wallets (wallet, next_index, skipped) VALUES (?1, 0, 0) ON CONFLICT DO NOTHING';
// Locks the row of the wallet until the commit, so that no two payments get the same index.
const NEXT_INDEX = 'UPDATE chain_wallets SET next_index = next_index + 1 WHERE wallet = ?1';
const insertAddress = ADDRESSES.insert({
  onConflict: 'ON CONFLICT (payment_id) DO NOTHING',
  guard: 'overtaken',
  written: (place) => ({
    address_index: `(SELECT next_index - 1 + ${place('address_index')} FROM chain_wallets WHERE wallet = ${place('wallet')})`,
  }),
});
const NAME_ADDRESS = 'UPDATE chain_addresses SET address = ?2 WHERE payment_id = ?1 AND address IS NULL';
const CLOSE_ADDRESS = 'UPDATE chain_addresses SET closed = 1 WHERE payment_id = ?1';
const SELECT_ADDRESS = 'SELECT * FROM chain_addresses WHERE payment_id = ?1';
const SELECT_TRANSFERS =
  'SELECT * FROM chain_transfers WHERE address = ?1 AND provider = ?2 ORDER BY block_number, log_index';
const SELECT_OWN = 'SELECT 1 FROM chain_addresses WHERE LOWER(address) = ?1';

export function createAddressStore({ select, write }: Database, provider: string, wallet: string): AddressStore {
  return {
    cursor: () => cursorOf(select, provider),
    async ofPayment(paymentId) {
      const [found] = await select(SELECT_ADDRESS, paymentId);
      if (!found) return undefined;
      const row = ADDRESSES.fromRow(found);
      return { row, transfers: (await select(SELECT_TRANSFERS, row.address, provider)).map(TRANSFERS.fromRow) };
    },
    async takeIndex(row) {
      const counted = { sql: NEXT_INDEX, params: [wallet] };
      const inserted = insertAddress({ ...row, addressIndex: 0, address: null });
      await write([{ sql: CREATE_WALLET, params: [wallet] }, counted, inserted], wallet);
    },
    async name(paymentId, address) {
      await write([{ sql: NAME_ADDRESS, params: [paymentId, address] }], paymentId);
    },
    async close(paymentId) {
      await write([{ sql: CLOSE_ADDRESS, params: [paymentId] }], paymentId);
    },
    isOwn: async (address) => (await select(SELECT_OWN, address)).length > 0,
  };
}

async function cursorOf(select: Database['select'], provider: string): Promise<ChainCursor | undefined> {
  const [found] = await select(SELECT_CURSOR, provider);
  return found && CURSORS.fromRow(found);
}
