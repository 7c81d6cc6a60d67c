import { invariants } from './invariant.ts';

const isIndexed = (source: string) => `record.id <= (SELECT position FROM search_cursors WHERE source = '${source}')`;
const hasTerm = (field: string, id: string, term: string) =>
  `EXISTS (SELECT 1 FROM search_terms WHERE environment = record.environment AND field = '${field}' AND id = ${id}${term})`;
const NOT_ERASED = "customer.status <> 'erased'";

/** Agreement between records and their search terms. Which metadata have terms depends on a setting, so it is not checked. */
export const SEARCH_INVARIANTS = invariants({
  search_term_record: {
    says: 'A search term has its record: a session of its amount or total, or a customer.',
    sql: `SELECT DISTINCT entry.id AS id FROM search_terms AS entry
      LEFT JOIN sessions AS session ON session.id = entry.id AND session.environment = entry.environment
      LEFT JOIN customers AS customer ON customer.id = entry.id AND customer.environment = entry.environment
      WHERE (entry.field = 'domain' AND customer.id IS NULL) OR (entry.field <> 'domain' AND session.id IS NULL)
        OR (entry.field = 'amount' AND entry.term <> CAST(session.amount AS TEXT) AND NOT EXISTS (
          SELECT 1 FROM payments WHERE session_id = session.id AND CAST(amount + buyer_fee AS TEXT) = entry.term))`,
  },
  search_terms_complete: {
    says: 'A record up to the search cursor has its terms, unless its customer is erased.',
    sql: `SELECT record.id AS id FROM sessions AS record JOIN customers AS customer ON customer.id = record.customer_id
        WHERE ${NOT_ERASED} AND ${isIndexed('sessions')}
          AND NOT ${hasTerm('amount', 'record.id', ' AND term = CAST(record.amount AS TEXT)')}
      UNION SELECT record.session_id FROM payments AS record JOIN customers AS customer ON customer.id = record.customer_id
        WHERE ${NOT_ERASED} AND ${isIndexed('payments')} AND record.buyer_fee <> 0
          AND NOT ${hasTerm('amount', 'record.session_id', ' AND term = CAST(record.amount + record.buyer_fee AS TEXT)')}
      UNION SELECT record.id FROM customers AS record WHERE record.status <> 'erased' AND ${isIndexed('customers')}
        AND NOT ${hasTerm('domain', 'record.id', '')}`,
  },
  search_terms_erased: {
    says: 'An erased customer has no search terms.',
    sql: `SELECT DISTINCT entry.id AS id FROM search_terms AS entry LEFT JOIN sessions AS session ON session.id = entry.id
      JOIN customers AS customer ON customer.id = COALESCE(session.customer_id, entry.id) WHERE customer.status = 'erased'`,
  },
});
