import { AMOUNTS, BOOKED_ROWS, CREATED, EXPIRED, FAILED, QUARTER_HOUR_MS, STARTED } from '../tables/sales-rows.ts';
import { invariants } from './invariant.ts';

const counted = (column: string) => `(SELECT ${column} FROM sales_cursors WHERE name = 'quarter_hours')`;
const ROWS = [
  `${CREATED} WHERE id < 'chk_' || ${counted('detail')}`,
  `${STARTED} WHERE id < 'pay_' || ${counted('detail')}`,
  `${EXPIRED} WHERE expired_at < ${counted('until')}`,
  `${FAILED} WHERE outcome.created < ${counted('until')}`,
  `${BOOKED_ROWS} WHERE entry.created < ${counted('until')}`,
];
const COLUMNS = ['environment', 'time', 'route', 'kind', ...AMOUNTS].join(', ');
const NEGATED = AMOUNTS.map((name) => `-${name} AS ${name}`).join(', ');
const DIFFERS = AMOUNTS.map((name) => `SUM(${name}) <> 0`).join(' OR ');

/** The sums of sales agree with the rows that they count. */
export const SALES_INVARIANTS = invariants({
  sales_sums: {
    says: 'The sums of each quarter-hour equal the sessions, payments, failures and ledger postings up to the cursor.',
    sql: `SELECT environment || ' ' || period || ' ' || route || ' ' || kind AS id FROM (
        SELECT time - time % ${QUARTER_HOUR_MS} AS period, counted.* FROM (
          ${ROWS.map((rows, index) => `SELECT ${COLUMNS} FROM (${rows}) AS rows_${index}`).join(' UNION ALL ')}) AS counted
        UNION ALL SELECT time AS period, environment, time, route, kind, ${NEGATED} FROM sales_quarter_hours) AS compared
      WHERE kind IS NOT NULL GROUP BY environment, period, route, kind HAVING ${DIFFERS}`,
  },
  sales_days: {
    says: 'The sums of each built day equal the sums of its quarter-hours.',
    sql: `SELECT DISTINCT environment || ' ' || day AS id FROM (
        SELECT COALESCE((SELECT MAX(built.time) FROM sales_days AS built
          WHERE built.environment = quarter.environment AND built.time <= quarter.time), 0) AS day, quarter.*
        FROM sales_quarter_hours AS quarter WHERE quarter.time < (SELECT until FROM sales_cursors WHERE name = 'days')
        UNION ALL SELECT time AS day, environment, time, route, kind, ${NEGATED} FROM sales_days) AS compared
      GROUP BY environment, day, route, kind HAVING ${DIFFERS}`,
  },
});
