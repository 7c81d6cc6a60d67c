/**
 * Tables of the adapter `evm-usdc`. Amounts (`*_units`) are in millionths of a USDC. `provider` is the instance that watches the
 * chain of a row.
 */
export const chainSchema = `
CREATE TABLE chain_wallets (
  wallet TEXT PRIMARY KEY,
  next_index BIGINT NOT NULL,
  skipped BIGINT NOT NULL
);

CREATE TABLE chain_addresses (
  wallet TEXT NOT NULL REFERENCES chain_wallets (wallet),
  address_index BIGINT NOT NULL,
  payment_id TEXT NOT NULL UNIQUE,
  provider TEXT NOT NULL,
  address TEXT,
  due_units BIGINT NOT NULL,
  created BIGINT NOT NULL,
  created_block BIGINT NOT NULL,
  hot_until BIGINT NOT NULL,
  check_at BIGINT,
  closed BIGINT NOT NULL,
  announced_units BIGINT NOT NULL,
  expected_by BIGINT,
  reported_units BIGINT NOT NULL,
  fast_block BIGINT,
  reversed_units BIGINT NOT NULL,
  reversal_revision BIGINT NOT NULL,
  unsent TEXT,
  settled BIGINT NOT NULL,
  PRIMARY KEY (wallet, address_index)
);
CREATE UNIQUE INDEX chain_addresses_address ON chain_addresses (address);
CREATE UNIQUE INDEX chain_addresses_lower ON chain_addresses (LOWER(address));
CREATE INDEX chain_addresses_hot ON chain_addresses (wallet, hot_until);
CREATE INDEX chain_addresses_created ON chain_addresses (wallet, created);

CREATE TABLE chain_transfers (
  provider TEXT NOT NULL,
  tx_hash TEXT NOT NULL,
  log_index BIGINT NOT NULL,
  block_hash TEXT NOT NULL,
  block_number BIGINT NOT NULL,
  address TEXT NOT NULL,
  units BIGINT NOT NULL,
  state TEXT NOT NULL,
  PRIMARY KEY (provider, tx_hash, log_index, block_hash)
);
CREATE INDEX chain_transfers_address ON chain_transfers (address);
CREATE INDEX chain_transfers_block ON chain_transfers (provider, block_number);
CREATE INDEX chain_transfers_open ON chain_transfers (provider) WHERE state IN ('seen', 'fast');

CREATE TABLE chain_cursors (
  provider TEXT PRIMARY KEY,
  chain_id BIGINT NOT NULL,
  final_block BIGINT NOT NULL,
  cold_block BIGINT NOT NULL,
  cold_at BIGINT NOT NULL,
  polled_at BIGINT NOT NULL,
  failing_since BIGINT,
  problem TEXT,
  disagreements BIGINT NOT NULL,
  lease BIGINT NOT NULL,
  lease_until BIGINT NOT NULL
);

CREATE TABLE chain_payouts (
  refund_id TEXT PRIMARY KEY,
  provider TEXT NOT NULL,
  tx_hash TEXT NOT NULL,
  log_index BIGINT NOT NULL,
  units BIGINT NOT NULL,
  created BIGINT NOT NULL
);
CREATE UNIQUE INDEX chain_payouts_transfer ON chain_payouts (provider, tx_hash);
`;
