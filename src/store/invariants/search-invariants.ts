import { invariants } from './invariant.ts';

const isIndexed = (source: string) => `record.id <= (SELECT position FROM search_cursors WHERE source = '${source}')`;
const hasTerm = (id: string, cents: string) => `EXISTS (SELECT 1 FROM search_terms
  WHERE environment = record.environment AND field = 'amount' AND id = ${id} AND term = CAST(${cents} AS TEXT))`;
const NOT_ERASED = "customer.status <> 'erased'";

/** Agreement between records and their search terms. Which metadata have terms depends on a setting, so it is not checked. */
export const SEARCH_INVARIANTS = invariants({
  search_term_record: {
    says: 'A search term has its session, with its amount or total.',
    sql: `SELECT DISTINCT entry.id AS id FROM search_terms AS entry
      LEFT JOIN sessions AS session ON session.id = entry.id AND session.environment = entry.environment
      WHERE session.id IS NULL OR (entry.field = 'amount' AND entry.term <> CAST(session.amount AS TEXT) AND NOT EXISTS (
          SELECT 1 FROM payments WHERE session_id = session.id AND CAST(amount + buyer_fee AS TEXT) = entry.term))`,
  },
  search_terms_complete: {
    says: 'A record up to the search cursor has its terms, unless its customer is erased.',
    sql: `SELECT record.id AS id FROM sessions AS record JOIN customers AS customer ON customer.id = record.customer_id
        WHERE ${NOT_ERASED} AND ${isIndexed('sessions')}
          AND NOT ${hasTerm('record.id', 'record.amount')}
      UNION SELECT record.session_id FROM payments AS record JOIN customers AS customer ON customer.id = record.customer_id
        WHERE ${NOT_ERASED} AND ${isIndexed('payments')} AND record.buyer_fee <> 0
          AND NOT ${hasTerm('record.session_id', 'record.amount + record.buyer_fee')}`,
  },
  search_transactions: {
    says: 'The transaction of a payment that the sums count is a search term.',
    sql: `SELECT DISTINCT record.session_id AS id FROM payments AS record JOIN ledger_entries AS entry ON entry.payment_id = record.id
      WHERE record.tx_hash IS NOT NULL AND entry.kind = 'paid'
        AND entry.created < (SELECT until FROM sales_cursors WHERE name = 'quarter_hours')
        AND NOT EXISTS (SELECT 1 FROM search_terms WHERE environment = record.environment AND field = 'transaction'
          AND term = record.tx_hash AND id = record.session_id)`,
  },
  search_terms_erased: {
    says: 'An erased customer has no search terms of amounts and metadata.',
    sql: `SELECT DISTINCT entry.id AS id FROM search_terms AS entry JOIN sessions AS session ON session.id = entry.id
      JOIN customers AS customer ON customer.id = session.customer_id WHERE customer.status = 'erased' AND entry.field <> 'transaction'`,
  },
});
