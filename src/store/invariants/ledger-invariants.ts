import { ACCOUNTS, type Account, POSTING_KINDS, type PostingKind } from '../../domain/ledger.ts';
import { DAY_MS } from '../ledger-port.ts';
import { invariants, orphans, sqlList } from './invariant.ts';

type Amounts = Partial<Record<Account, string>>;

const OF_REFUNDS: readonly PostingKind[] = ['refund', 'refund_paid', 'refund_failed'];
const NET = '(payment.amount - payment.gateway_fee)';
const TOTAL = '(payment.amount + payment.buyer_fee)';

/** SQL of the amounts that the capture of a payment posts, by account; docs/decisions/ledger.md explains them. */
const CAPTURED: Amounts = {
  provider_clearing: `${TOTAL} - payment.provider_cost`,
  provider_cost: 'payment.provider_cost',
  merchant_payable: `CASE WHEN payment.surplus = 1 THEN 0 ELSE -${NET} END`,
  gateway_revenue: 'CASE WHEN payment.surplus = 1 THEN 0 ELSE -(payment.buyer_fee + payment.gateway_fee) END',
  buyer_refunds_payable: `CASE WHEN payment.surplus = 1 THEN -${TOTAL} ELSE 0 END`,
};
const REFUND_OWED: Amounts = {
  merchant_payable: 'refund.merchant_share',
  gateway_revenue: 'refund.gateway_share',
  buyer_refunds_payable: '-(refund.merchant_share + refund.gateway_share)',
};
const REFUND_PAID: Amounts = {
  buyer_refunds_payable: 'refund.amount',
  provider_clearing: '-(refund.amount - refund.cost_share)',
  provider_cost: '-refund.cost_share',
};

/** SQL of the postings of a kind: one row per posting, with one column per account. */
function postedSql(kind: PostingKind): string {
  const sums = ACCOUNTS.map((name) => `SUM(CASE WHEN account = '${name}' THEN amount ELSE 0 END) AS ${name}`);
  return `(SELECT posting_id, MIN(payment_id) AS payment_id, MIN(refund_id) AS refund_id, ${sums.join(', ')}
    FROM ledger_entries WHERE kind = '${kind}' GROUP BY posting_id) AS posted`;
}

/** SQL condition: the posting's amount in an account differs from `amounts`, which is 0 for each account that it omits. */
function differsSql(amounts: Amounts): string {
  return ACCOUNTS.map((account) => `posted.${account} <> ${amounts[account] ?? '0'}`).join(' OR ');
}

/** SQL of the payments without a posting that `happened` requires, or with a posting although `booked` does not hold. */
function postingSql(kind: PostingKind, happened: string, booked: string): string {
  return `SELECT payment.id AS id FROM payments AS payment
    WHERE ${happened} AND NOT ${bookedSql(`payment.id || ':${kind}'`)}
    UNION SELECT entry.payment_id AS id FROM ledger_entries AS entry
      JOIN payments AS payment ON payment.id = entry.payment_id WHERE entry.kind = '${kind}' AND NOT (${booked})`;
}

function bookedSql(postingId: string): string {
  return `EXISTS (SELECT 1 FROM ledger_entries AS booked WHERE booked.posting_id = ${postingId} AND booked.line = 0)`;
}

/** SQL condition: a payment has a posting for a refund, a reversal or an adjustment. */
const CORRECTED = `EXISTS (SELECT 1 FROM ledger_entries AS other WHERE other.session_id = payment.session_id
  AND other.line = 0 AND other.payment_id = payment.id AND other.kind NOT IN ('paid', 'settled', 'cost', 'payout'))`;

/** The ledger balances, and agrees with every payment and refund. */
export const LEDGER_INVARIANTS = invariants({
  ledger_balance: {
    says: 'All ledger entries of an environment sum to 0.',
    sql: 'SELECT environment AS id FROM ledger_entries GROUP BY environment HAVING SUM(amount) <> 0',
  },
  ledger_sums: {
    says: 'The running sums per account and day since 1970 equal the sums of the ledger entries.',
    sql: `SELECT DISTINCT environment || ' ' || account || ' ' || day AS id FROM (
        SELECT environment, account, created / ${DAY_MS} AS day, CASE WHEN amount > 0 THEN amount ELSE 0 END AS debits,
          CASE WHEN amount < 0 THEN -amount ELSE 0 END AS credits FROM ledger_entries
        UNION ALL SELECT environment, account, day, -debits, -credits FROM ledger_sums) AS booked
      GROUP BY environment, account, day HAVING SUM(debits) <> 0 OR SUM(credits) <> 0`,
  },
  ledger_guard: {
    says: 'A trigger of the database rejects changes and deletions of ledger entries.',
    sql: "SELECT 'ledger_entries' AS id WHERE (SELECT COUNT(*) FROM ledger_guards) < 3",
  },
  posting_balance: {
    says: 'A posting has at least two entries, which have the same payment, kind, environment and time, and sum to 0.',
    sql: `SELECT posting_id AS id FROM ledger_entries GROUP BY posting_id
      HAVING COUNT(*) < 2 OR SUM(amount) <> 0 OR MIN(line) <> 0 OR MIN(payment_id) <> MAX(payment_id)
        OR MIN(kind) <> MAX(kind) OR MIN(environment) <> MAX(environment) OR MIN(created) <> MAX(created)`,
  },
  posting_name: {
    says: 'The id of a posting names the booked payment, refund, discrepancy or reversal, so that nothing is booked twice.',
    sql: `SELECT DISTINCT posting_id AS id FROM ledger_entries
      WHERE (refund_id IS NOT NULL) <> (kind IN (${sqlList(OF_REFUNDS)}))
        OR (kind NOT IN ('adjustment', 'payout', 'reversal') AND posting_id <> COALESCE(refund_id, payment_id) || ':' || kind)
        OR (kind = 'payout' AND posting_id NOT LIKE payment_id || ':payout:%')
        OR (kind = 'reversal' AND NOT EXISTS (SELECT 1 FROM reversals AS reversal
          WHERE posting_id LIKE reversal.id || ':%' AND reversal.payment_id = ledger_entries.payment_id))
        OR (kind = 'adjustment' AND SUBSTR(posting_id, 1, 4) <> 'dis_'
          AND posting_id <> payment_id || ':adjustment' AND NOT EXISTS (SELECT 1 FROM refunds AS refund
            WHERE posting_id = refund.id || ':adjustment' AND refund.payment_id = ledger_entries.payment_id))`,
  },
  ledger_lines: {
    says: 'A ledger entry has an amount other than 0, a known account and a known kind.',
    sql: `SELECT DISTINCT posting_id AS id FROM ledger_entries
      WHERE amount = 0 OR line < 0 OR account NOT IN (${sqlList(ACCOUNTS)}) OR kind NOT IN (${sqlList(POSTING_KINDS)})`,
  },
  ledger_payment: {
    says: 'A ledger entry has a payment with the same session and environment.',
    sql: orphans('ledger_entries', 'payment_id', 'payments', ['environment', 'session_id'], { id: 'posting_id' }),
  },
  capture_posting: {
    says: 'A payment has a capture posting if and only if it is paid; this includes surplus payments.',
    sql: postingSql('paid', "payment.status = 'paid'", "payment.status = 'paid'"),
  },
  settlement_posting: {
    says: 'A payment has a settlement posting if and only if it is settled.',
    // A settlement with a net of 0 has no posting.
    sql: postingSql('settled', `payment.settled = 1 AND ${NET} <> 0 AND NOT ${CORRECTED}`, 'payment.settled = 1'),
  },
  refund_posting: {
    says: 'A refund has the postings of its state: requested, deducted or failed; every refund posting has a refund.',
    sql: `SELECT refund.id AS id FROM refunds AS refund
      WHERE (refund.merchant_share + refund.gateway_share > 0 AND NOT ${bookedSql("refund.id || ':refund'")})
        OR (refund.deducted = 1) <> ${bookedSql("refund.id || ':refund_paid'")}
        OR (refund.status = 'succeeded' AND refund.deducted = 0)
        OR (refund.status = 'failed' AND refund.deducted = 1 AND NOT ${bookedSql("refund.id || ':refund_failed'")})
        OR (refund.status <> 'failed' AND ${bookedSql("refund.id || ':refund_failed'")})
      UNION SELECT entry.refund_id AS id FROM ledger_entries AS entry
        LEFT JOIN refunds AS refund ON refund.id = entry.refund_id
        WHERE entry.refund_id IS NOT NULL AND COALESCE(refund.payment_id, '') <> entry.payment_id`,
  },
  capture_first: {
    says: 'A payment with any ledger entry has a capture posting or an adjustment posting.',
    // An adjustment books money that the provider received and that was never booked as a payment.
    sql: `SELECT DISTINCT entry.payment_id AS id FROM ledger_entries AS entry
      WHERE entry.kind <> 'paid' AND entry.kind <> 'adjustment'
        AND NOT ${bookedSql("entry.payment_id || ':paid'")}
        AND NOT EXISTS (SELECT 1 FROM ledger_entries AS other WHERE other.session_id = entry.session_id
          AND other.line = 0 AND other.payment_id = entry.payment_id AND other.kind = 'adjustment')`,
  },
  capture_amounts: {
    says: 'A capture posts the total, cost, net and fees of its payment; the capture of a surplus payment posts the total as owed to the buyer.',
    sql: `SELECT payment.id AS id FROM ${postedSql('paid')} JOIN payments AS payment ON payment.id = posted.payment_id
      WHERE ${differsSql(CAPTURED)}`,
  },
  settlement_amounts: {
    says: 'A settlement posting pays the merchant the net of the payment, or another amount after a refund, reversal or adjustment.',
    sql: `SELECT payment.id AS id FROM ${postedSql('settled')} JOIN payments AS payment ON payment.id = posted.payment_id
      WHERE ${differsSql({
        merchant_payable: '-(posted.provider_clearing + posted.operator_cash)',
        provider_clearing: '-(posted.merchant_payable + posted.operator_cash)',
        operator_cash: '-(posted.merchant_payable + posted.provider_clearing)',
      })}
        OR (posted.provider_clearing <> 0 AND posted.operator_cash <> 0)
        OR posted.merchant_payable < 0 OR posted.merchant_payable > ${TOTAL} - payment.shortfall
        OR (posted.merchant_payable <> ${NET} AND NOT ${CORRECTED})`,
  },
  settlement_record: {
    says: 'A settlement record belongs to a settled payment and has the posted amount.',
    sql: `SELECT settlement.payment_id AS id FROM settlements AS settlement
      LEFT JOIN payments AS payment ON payment.id = settlement.payment_id
      LEFT JOIN ledger_entries AS entry ON entry.posting_id = settlement.payment_id || ':settled'
        AND entry.account = 'merchant_payable'
      WHERE COALESCE(payment.settled, 0) <> 1 OR payment.session_id <> settlement.session_id
        OR payment.environment <> settlement.environment OR settlement.amount <> COALESCE(entry.amount, 0)`,
  },
  refund_amounts: {
    says: 'The postings of a refund have the amount and the shares of the refund.',
    sql: `SELECT refund.id AS id FROM ${postedSql('refund')} JOIN refunds AS refund ON refund.id = posted.refund_id
        WHERE ${differsSql(REFUND_OWED)}
      UNION SELECT refund.id AS id FROM ${postedSql('refund_paid')} JOIN refunds AS refund ON refund.id = posted.refund_id
        WHERE ${differsSql(REFUND_PAID)}`,
  },
  actual_cost: {
    says: "A payment has a cost posting if and only if the provider's actual charge differs from the estimate; the posting books the difference.",
    sql: `SELECT payment.id AS id FROM payments AS payment
      WHERE COALESCE(payment.actual_cost, payment.provider_cost) <> payment.provider_cost
        AND NOT ${bookedSql("payment.id || ':cost'")}
      UNION SELECT payment.id AS id FROM ${postedSql('cost')} JOIN payments AS payment ON payment.id = posted.payment_id
        WHERE ${differsSql({
          provider_cost: 'COALESCE(payment.actual_cost, payment.provider_cost) - payment.provider_cost',
          provider_clearing: 'payment.provider_cost - COALESCE(payment.actual_cost, payment.provider_cost)',
        })}`,
  },
  payout_amounts: {
    says: "A payout posting only moves money between the provider and the operator's bank account.",
    sql: `SELECT posted.payment_id AS id FROM ${postedSql('payout')}
      WHERE ${differsSql({ operator_cash: '-posted.provider_clearing', provider_clearing: '-posted.operator_cash' })}`,
  },
  reversal_amounts: {
    says: 'The reversal postings of a payment equal the amounts and charges of its reversals; its reversed total equals the amounts.',
    sql: `SELECT payment.id AS id FROM payments AS payment
      LEFT JOIN (SELECT payment_id, SUM(taken) AS taken, SUM(fee) AS fee FROM reversals GROUP BY payment_id) AS made
        ON made.payment_id = payment.id
      LEFT JOIN (SELECT payment_id,
          SUM(CASE WHEN account IN ('merchant_payable', 'buyer_refunds_payable') THEN amount ELSE 0 END) AS taken,
          SUM(CASE WHEN account = 'provider_cost' THEN amount ELSE 0 END) AS fee
        FROM ledger_entries WHERE kind = 'reversal' GROUP BY payment_id) AS booked ON booked.payment_id = payment.id
      WHERE payment.reversed <> COALESCE(made.taken, 0) OR COALESCE(booked.taken, 0) <> COALESCE(made.taken, 0)
        OR COALESCE(booked.fee, 0) <> COALESCE(made.fee, 0)`,
  },
  reversal_payment: {
    says: 'A reversal has a paid payment with the same session and environment, and a discrepancy.',
    sql: `${orphans('reversals', 'payment_id', 'payments', ['session_id', 'environment'], { or: "parent.status <> 'paid'" })}
      UNION SELECT reversal.id AS id FROM reversals AS reversal WHERE NOT EXISTS (SELECT 1 FROM discrepancies
        WHERE discrepancies.kind = 'reversal' AND discrepancies.subject = reversal.id
          AND discrepancies.session_id = reversal.session_id)`,
  },
  refund_reversal: {
    says: 'The postings of a failed refund sum to 0 in every account.',
    sql: `SELECT DISTINCT refund.id AS id FROM (
        SELECT refund_id FROM ledger_entries WHERE refund_id IS NOT NULL
          GROUP BY refund_id, account HAVING SUM(amount) <> 0) AS left_over
      JOIN refunds AS refund ON refund.id = left_over.refund_id WHERE refund.status = 'failed'`,
  },
});
