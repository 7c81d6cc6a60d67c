import { invariants } from './invariant.ts';

const UNITS_PER_CENT = 10_000;
/** Sum of the final transfers to an address, as its own instance has found them. */
const FINAL_SUM = `COALESCE((SELECT SUM(transfer.units) FROM chain_transfers AS transfer
  WHERE transfer.provider = address.provider AND transfer.address = address.address AND transfer.state = 'final'), 0)`;
/** Condition: the stored route of `payment` names the provider in `column`. */
const isOf = (column: string) => `REPLACE(payment.route, '"provider":"' || ${column} || '"', '') <> payment.route`;

/** Addresses, transfers and refunds of payments on a chain. */
export const CHAIN_INVARIANTS = invariants({
  chain_indexes: {
    says: 'The indexes of the addresses of a wallet are 0, 1, 2 and so on below its next index, apart from the skipped ones.',
    sql: `SELECT wallet.wallet AS id FROM chain_wallets AS wallet LEFT JOIN (
        SELECT wallet, COUNT(*) AS given, MIN(address_index) AS first, MAX(address_index) AS last
        FROM chain_addresses GROUP BY wallet) AS addresses ON addresses.wallet = wallet.wallet
      WHERE wallet.next_index - wallet.skipped <> COALESCE(addresses.given, 0) OR wallet.skipped < 0
        OR COALESCE(addresses.first, 0) < 0 OR COALESCE(addresses.last, -1) >= wallet.next_index`,
  },
  chain_address: {
    says: 'An address belongs to a payment with its provider and its total; a payment with a reference at such a provider has that address.',
    sql: `SELECT address.payment_id AS id FROM chain_addresses AS address
        LEFT JOIN payments AS payment ON payment.id = address.payment_id
      WHERE payment.id IS NULL OR NOT ${isOf('address.provider')}
        OR address.due_units <> (payment.amount + payment.buyer_fee) * ${UNITS_PER_CENT}
        OR COALESCE(payment.provider_reference, address.address, '') <> COALESCE(address.address, '')
      UNION SELECT payment.id AS id FROM chain_cursors AS cursor JOIN payments AS payment ON ${isOf('cursor.provider')}
        LEFT JOIN chain_addresses AS address ON address.payment_id = payment.id
      WHERE payment.provider_reference IS NOT NULL AND address.payment_id IS NULL`,
  },
  chain_reported: {
    says: 'The money that was reported for an address, less the reversed part, is at most its final money, or its due amount if a report preceded finality.',
    sql: `SELECT address.payment_id AS id FROM chain_addresses AS address
      WHERE address.reversed_units < 0 OR address.reversed_units > address.reported_units
        OR (address.reported_units - address.reversed_units > ${FINAL_SUM}
          AND (address.fast_block IS NULL OR address.reported_units > address.due_units))`,
  },
  chain_transfer: {
    says: 'A stored transfer has a positive amount and goes to a known address; a transfer is final in one block.',
    sql: `SELECT transfer.provider || ' ' || transfer.tx_hash || ' ' || transfer.log_index AS id
        FROM chain_transfers AS transfer LEFT JOIN chain_addresses AS address ON address.address = transfer.address
      WHERE address.address IS NULL OR transfer.units <= 0
      UNION SELECT provider || ' ' || tx_hash || ' ' || log_index AS id FROM chain_transfers
        WHERE state IN ('final', 'listed') GROUP BY provider, tx_hash, log_index HAVING COUNT(*) > 1`,
  },
  chain_paid: {
    // The report about money is stored before it is applied.
    says: 'For a paid payment with an address, at least its due amount was reported, or its wrong amount was accepted.',
    sql: `SELECT payment.id AS id FROM chain_addresses AS address JOIN payments AS payment ON payment.id = address.payment_id
      WHERE payment.status = 'paid' AND address.reported_units < address.due_units AND NOT EXISTS (
          SELECT 1 FROM discrepancies AS discrepancy WHERE discrepancy.payment_id = payment.id
            AND discrepancy.kind = 'amount_mismatch' AND discrepancy.resolution = 'accepted')`,
  },
  chain_payout: {
    says: 'A refund of a payment with an address succeeded if and only if a transaction proves it, with its provider and its amount.',
    sql: `SELECT payout.refund_id AS id FROM chain_payouts AS payout LEFT JOIN refunds AS refund ON refund.id = payout.refund_id
        LEFT JOIN chain_addresses AS address ON address.payment_id = refund.payment_id
      WHERE refund.id IS NULL OR refund.status <> 'succeeded' OR payout.units <> refund.amount * ${UNITS_PER_CENT}
        OR COALESCE(refund.provider_reference, '') <> payout.tx_hash OR COALESCE(address.provider, '') <> payout.provider
      UNION SELECT refund.id AS id FROM refunds AS refund
        JOIN chain_addresses AS address ON address.payment_id = refund.payment_id
        LEFT JOIN chain_payouts AS payout ON payout.refund_id = refund.id
      WHERE refund.status = 'succeeded' AND payout.refund_id IS NULL`,
  },
});
