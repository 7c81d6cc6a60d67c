import type { Environment } from '../../domain/route.ts';

/** Length of the shortest period with sums. Every time zone in use begins its days at such a period. */
export const QUARTER_HOUR_MS = 15 * 60_000;

export const AMOUNTS = ['count', 'amount', 'buyer_fee', 'gateway_fee', 'cost'] as const;
const NO_FEES = '0 AS buyer_fee, 0 AS gateway_fee, 0 AS cost';

// Each constant selects the rows of one source as contributions to the sums. Rows whose `kind` is null contribute nothing: with a
// condition instead, a batch could scan an unlimited number of rows.

export const CREATED = `SELECT id, environment, created AS time, '' AS route, 'created' AS kind, 1 AS count, amount, ${NO_FEES}
  FROM sessions`;
export const STARTED = `SELECT id, environment, created AS time, route_id AS route, 'started' AS kind, 1 AS count, amount, ${NO_FEES}
  FROM sales_payments`;
export const EXPIRED = `SELECT environment, expired_at AS time, '' AS route, 'expired' AS kind, 1 AS count, amount, ${NO_FEES}
  FROM sessions`;
export const FAILED = `SELECT outcome.environment, outcome.created AS time, outcome.route_id AS route,
    'failed/' || outcome.failure AS kind, CASE outcome.stage WHEN 'late' THEN -1 ELSE 1 END AS count,
    CASE outcome.stage WHEN 'late' THEN -payment.amount ELSE payment.amount END AS amount, ${NO_FEES}
  FROM route_outcomes AS outcome JOIN payments AS payment ON payment.id = outcome.payment_id`;

/**
 * Ledger entries that stand for one posting each. A capture has its line 0 in one of two accounts, because an account whose amount
 * is 0 has no line. A deducted refund debits the buyer's account once, and its failure credits the account again. An adjustment credits
 * or debits the merchant for an accepted wrong amount; the amount of an accepted surplus is counted at its capture. A reversal has one
 * entry in the account of the money's owner.
 */
const BOOKED = Object.entries({
  provider_clearing: ['paid'],
  provider_cost: ['paid', 'cost'],
  buyer_refunds_payable: ['refund_paid', 'refund_failed', 'reversal'],
  merchant_payable: ['settled', 'adjustment', 'reversal'],
}).flatMap(([account, kinds]) => kinds.map((kind) => `account = '${account}' AND ledger_entries.kind = '${kind}'`));
const BOOKINGS = `SELECT entry.environment, entry.created AS time, payment.route_id AS route,
    CASE WHEN entry.kind = 'cost' THEN 'paid' WHEN entry.kind = 'settled' THEN 'settled'
      WHEN entry.kind = 'reversal' THEN 'reversed'
      WHEN entry.kind = 'paid' THEN CASE WHEN entry.line = 0 THEN 'paid' END
      WHEN entry.kind = 'adjustment' THEN CASE WHEN payment.surplus = 0 THEN 'paid' END
      WHEN refund.reason = 'mismatch' OR (entry.kind = 'refund_failed' AND entry.amount > 0) THEN NULL
      ELSE 'refunded' END AS kind,
    CASE WHEN entry.kind IN ('cost', 'adjustment', 'reversal') THEN 0 WHEN entry.kind = 'refund_failed' THEN -1 ELSE 1 END AS count,
    CASE entry.kind WHEN 'cost' THEN 0 WHEN 'paid' THEN payment.amount + payment.surplus * payment.buyer_fee
      WHEN 'adjustment' THEN -entry.amount ELSE entry.amount END AS amount,
    CASE entry.kind WHEN 'paid' THEN (1 - payment.surplus) * payment.buyer_fee ELSE 0 END AS buyer_fee,
    CASE entry.kind WHEN 'paid' THEN (1 - payment.surplus) * payment.gateway_fee WHEN 'refund_paid' THEN refund.gateway_share
      WHEN 'refund_failed' THEN -refund.gateway_share ELSE 0 END AS gateway_fee,
    CASE entry.kind WHEN 'paid' THEN payment.provider_cost WHEN 'cost' THEN entry.amount WHEN 'refund_paid' THEN refund.cost_share
      WHEN 'refund_failed' THEN -refund.cost_share ELSE 0 END AS cost
  FROM ledger_entries AS entry JOIN sales_payments AS payment ON payment.id = entry.payment_id
  LEFT JOIN refunds AS refund ON refund.id = entry.refund_id`;
const PLACES = 'SELECT posting_id, line, created FROM ledger_entries';

/** All bookings. */
export const BOOKED_ROWS = `${BOOKINGS} JOIN (${PLACES} WHERE ${BOOKED.map((range) => `(${range})`).join(' OR ')}) AS named
  ON named.posting_id = entry.posting_id AND named.line = entry.line`;

const rangesOf = (environments: readonly Environment[]) =>
  environments.flatMap((environment) =>
    BOOKED.map(
      (range) => `${PLACES} WHERE environment = '${environment}' AND ${range} AND created >= ?1 AND created < ?2`,
    ),
  );

/** One row if there are bookings from `?1` and before `?2`. */
export const anyBooked = (environments: readonly Environment[]) =>
  `SELECT 1 AS found WHERE ${rangesOf(environments)
    .map((range) => `EXISTS (${range})`)
    .join(' OR ')}`;

/** At most `?3` bookings from `?1` and before `?2`, oldest first: a merge of one index range per environment, account and kind. */
export function oldestBooked(environments: readonly Environment[]): string {
  const parts = rangesOf(environments).map((range) => `SELECT * FROM (${range} ORDER BY created LIMIT ?3) AS part`);
  return `${BOOKINGS} JOIN (${parts.join(' UNION ALL ')} ORDER BY created LIMIT ?3) AS named
    ON named.posting_id = entry.posting_id AND named.line = entry.line ORDER BY time`;
}

/** The routes of the environment `?1` that have outcomes from `?2` and before `?3`: two searches of the index per route. */
export const OUTCOME_ROUTES = `WITH RECURSIVE routes (route_id) AS (
    SELECT MIN(route_id) FROM route_outcomes WHERE environment = ?1
    UNION ALL SELECT (SELECT MIN(route_id) FROM route_outcomes AS next
      WHERE next.environment = ?1 AND next.route_id > routes.route_id) FROM routes WHERE route_id IS NOT NULL)
  SELECT CAST(?1 AS TEXT) AS environment, route_id FROM routes WHERE EXISTS (SELECT 1 FROM route_outcomes AS own
    WHERE own.environment = ?1 AND own.route_id = routes.route_id AND own.created >= ?2 AND own.created < ?3)`;
