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

/** Statement that sums the first paid payments of each quarter of a day. Parameters: environment, first day, ids at the limits of the quarters. */
function statementFor(days: number): string {
  const parts = Array.from({ length: days * QUARTERS }, (_, index) => {
    const range = `environment = ?1 AND status = 'paid' AND id >= ?${index + 3} AND id < ?${index + 4}`;
    return `SELECT * FROM (SELECT ?2 + ${Math.floor(index / QUARTERS)} AS day, route_id, amount, ledger_status, settled, surplus, reversed, actual_cost
      FROM sales_payments WHERE ${range} ORDER BY id LIMIT ${PAYMENTS_OF_QUARTER}) AS part`;
  });
  return `SELECT day, route_id, COUNT(*) AS paid, ${sum('settled', 'settled')},
    ${countOf("ledger_status = 'pending' AND reversed = 0", 'unsettled')}, ${countOf('reversed > 0', 'reversed')},
    COUNT(actual_cost) AS costed, ${sum('CASE WHEN actual_cost IS NULL THEN 0 ELSE amount END', 'costed_amount')},
    ${sum('COALESCE(actual_cost, 0)', 'cost')}
    FROM (${parts.join(' UNION ALL ')}) AS part WHERE surplus = 0 GROUP BY route_id, day`;
}

export function createRouteMoneyReads(longSelect: Select) {
  return {
    /** Paid payments by route and day of creation, of the `days` days up to the day `today` (days since 1970). */
    async routeMoneyDays(environment: Environment, today: number, days: number) {
      const first = today - days + 1;
      const limits = Array.from({ length: days * QUARTERS + 1 }, (_, index) =>
        firstIdAt('pay', (first + index / QUARTERS) * DAY_MS),
      );
      const rows = await longSelect(statementFor(days), environment, first, ...limits);
      return rows.map(DAYS.fromRow);
    },
  };
}
