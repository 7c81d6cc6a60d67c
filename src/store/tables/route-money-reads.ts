import { firstIdAt } from '../../domain/id.ts';
import type { Environment } from '../../domain/route.ts';
import type { MoneyDay } from '../../routing/route-money.ts';
import type { Select } from '../keyset.ts';
import { describeTable, integer, text } from '../table-description.ts';

const DAY_MS = 24 * 3_600_000;
// The payments that are read of each quarter of a day, which bounds the work of a reading. Routes can be in use at some hours only.
const [QUARTERS, PAYMENTS_OF_QUARTER] = [4, 100];

const DAYS = describeTable<MoneyDay>('payments', {
  routeId: text,
  day: integer,
  paid: integer,
  settled: integer,
  unsettled: integer,
  reversed: integer,
  costed: integer,
  costedAmount: integer,
  cost: integer,
});

const sum = (value: string, name: string) => `CAST(SUM(${value}) AS BIGINT) AS ${name}`;
const countOf = (condition: string, name: string) => sum(`CASE WHEN ${condition} THEN 1 ELSE 0 END`, name);

const QUARTER_PAYMENTS = Array.from({ length: QUARTERS }, (_, quarter) => {
  const range = `environment = ?1 AND status = 'paid' AND id >= ?${quarter + 3} AND id < ?${quarter + 4}`;
  return `SELECT * FROM (SELECT route_id, amount, ledger_status, settled, surplus, reversed, actual_cost
    FROM sales_payments WHERE ${range} ORDER BY id LIMIT ${PAYMENTS_OF_QUARTER}) AS part`;
});
/** Sums the first paid payments of each quarter of a day. Parameters: environment, day, ids at the limits of the quarters. */
const SELECT_DAY = `SELECT route_id, CAST(?2 AS BIGINT) AS day, COUNT(*) AS paid, ${sum('settled', 'settled')},
  ${countOf("ledger_status = 'pending' AND reversed = 0", 'unsettled')}, ${countOf('reversed > 0', 'reversed')},
  COUNT(actual_cost) AS costed, ${sum('CASE WHEN actual_cost IS NULL THEN 0 ELSE amount END', 'costed_amount')},
  ${sum('COALESCE(actual_cost, 0)', 'cost')}
  FROM (${QUARTER_PAYMENTS.join(' UNION ALL ')}) AS part WHERE surplus = 0 GROUP BY route_id`;

export function createRouteMoneyReads(select: Select) {
  return {
    /** Paid payments that were created on `day` (days since 1970), by route. */
    async routeMoneyOfDay(environment: Environment, day: number) {
      const limits = Array.from({ length: QUARTERS + 1 }, (_, index) =>
        firstIdAt('pay', (day + index / QUARTERS) * DAY_MS),
      );
      return (await select(SELECT_DAY, environment, day, ...limits)).map(DAYS.fromRow);
    },
  };
}
