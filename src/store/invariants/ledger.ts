import type { Account, PostingKind } from '../../domain/ledger.ts';
import { type Invariant, quoted } from './invariant.ts';

type Amounts = Record<Account, string>;

const KINDS: readonly PostingKind[] = ['paid', 'settled', 'refunded'];
const NET = '(payment.amount - payment.gateway_fee)';
const TOTAL = '(payment.amount + payment.buyer_fee)';

/** What a payment's posting of money that came says of each account, in SQL; see docs/decisions/ledger.md. */
const CAPTURED: Amounts = {
  provider_clearing: `${TOTAL} - payment.provider_cost`,
  provider_cost: 'payment.provider_cost',
  merchant_payable: `CASE WHEN payment.surplus = 1 THEN 0 ELSE -${NET} END`,
  gateway_revenue: 'CASE WHEN payment.surplus = 1 THEN 0 ELSE -(payment.buyer_fee + payment.gateway_fee) END',
  buyer_refunds_payable: `CASE WHEN payment.surplus = 1 THEN -${TOTAL} ELSE 0 END`,
};
const SETTLED: Amounts = {
  provider_clearing: `-${NET}`,
  provider_cost: '0',
  merchant_payable: NET,
  gateway_revenue: '0',
  buyer_refunds_payable: '0',
};
const REFUNDED = Object.fromEntries(
  Object.entries(CAPTURED).map(([account, amount]) => [account, `-(${amount})`]),
) as Amounts;
const ACCOUNTS = Object.keys(CAPTURED);

/** Payments whose posting of that kind, where there is one, is not of these amounts. */
function amountsSql(kind: PostingKind, amounts: Amounts): string {
  const sums = ACCOUNTS.map((name) => `SUM(CASE WHEN account = '${name}' THEN amount ELSE 0 END) AS ${name}`);
  const faults = Object.entries(amounts).map(([account, amount]) => `posted.${account} <> ${amount}`);
  return `SELECT payment.id AS id FROM (
      SELECT payment_id, ${sums.join(', ')} FROM ledger_entries WHERE kind = '${kind}' GROUP BY payment_id) AS posted
    JOIN payments AS payment ON payment.id = posted.payment_id
    WHERE ${faults.join(' OR ')} ORDER BY id LIMIT ?1`;
}

/** Payments that say that something has happened and lack its posting, or have the posting and do not say so. */
function postingSql(kind: PostingKind, happened: string, booked: string): string {
  return `SELECT payment.id AS id FROM payments AS payment
    WHERE ${happened} AND NOT EXISTS (
      SELECT 1 FROM ledger_entries AS entry WHERE entry.payment_id = payment.id AND entry.kind = '${kind}')
    UNION SELECT entry.payment_id AS id FROM ledger_entries AS entry
      JOIN payments AS payment ON payment.id = entry.payment_id WHERE entry.kind = '${kind}' AND NOT (${booked})
    ORDER BY id LIMIT ?1`;
}

/** The books: they balance, and say of every payment what the payment says of itself. */
export const LEDGER_INVARIANTS: readonly Invariant[] = [
  {
    name: 'ledger_balance',
    says: 'All ledger entries of an environment sum to 0.',
    sql: 'SELECT environment AS id FROM ledger_entries GROUP BY environment HAVING SUM(amount) <> 0 ORDER BY id LIMIT ?1',
  },
  {
    name: 'posting_balance',
    says: 'A posting has two lines or more, and they sum to 0.',
    sql: `SELECT DISTINCT payment_id AS id FROM ledger_entries
      GROUP BY payment_id, kind HAVING COUNT(*) < 2 OR SUM(amount) <> 0 ORDER BY id LIMIT ?1`,
  },
  {
    name: 'ledger_lines',
    says: 'A ledger entry moves some amount in one of the accounts there are, for one of the reasons there are.',
    sql: `SELECT DISTINCT payment_id AS id FROM ledger_entries
      WHERE amount = 0 OR line < 0 OR account NOT IN (${quoted(ACCOUNTS)}) OR kind NOT IN (${quoted(KINDS)})
      ORDER BY id LIMIT ?1`,
  },
  {
    name: 'ledger_payment',
    says: 'A ledger entry has a payment, of the same environment.',
    sql: `SELECT DISTINCT entry.payment_id AS id FROM ledger_entries AS entry
      LEFT JOIN payments AS payment ON payment.id = entry.payment_id
      WHERE payment.id IS NULL OR payment.environment <> entry.environment ORDER BY id LIMIT ?1`,
  },
  {
    name: 'capture_posting',
    says: 'A payment is booked as paid exactly when it is, surplus ones too.',
    sql: postingSql('paid', "payment.status = 'paid'", "payment.status = 'paid'"),
  },
  {
    name: 'settlement_posting',
    says: 'A payment is booked as settled exactly when it is, or was before it was refunded.',
    // A net of nothing has no lines to book.
    sql: postingSql(
      'settled',
      `payment.ledger_status = 'settled' AND ${NET} <> 0`,
      "payment.ledger_status IN ('settled', 'refunded') AND payment.surplus = 0",
    ),
  },
  {
    name: 'refund_posting',
    says: 'A payment is booked as refunded exactly when it is.',
    sql: postingSql('refunded', "payment.ledger_status = 'refunded'", "payment.ledger_status = 'refunded'"),
  },
  {
    name: 'capture_first',
    says: 'Nothing is settled or refunded in the books that was not captured in them.',
    sql: `SELECT DISTINCT entry.payment_id AS id FROM ledger_entries AS entry
      WHERE entry.kind <> 'paid' AND NOT EXISTS (
        SELECT 1 FROM ledger_entries AS capture
        WHERE capture.payment_id = entry.payment_id AND capture.kind = 'paid')
      ORDER BY id LIMIT ?1`,
  },
  {
    name: 'capture_amounts',
    says: 'A captured payment is booked with its own total, cost, net and fees; a surplus one as owed to the buyer.',
    sql: amountsSql('paid', CAPTURED),
  },
  {
    name: 'settlement_amounts',
    says: 'A settled payment is booked with its own net.',
    sql: amountsSql('settled', SETTLED),
  },
  {
    name: 'refund_amounts',
    says: 'A refunded payment is booked as its capture reversed.',
    sql: amountsSql('refunded', REFUNDED),
  },
];
