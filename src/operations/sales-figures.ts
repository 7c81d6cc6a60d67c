import type { Cents } from '../domain/money.ts';
import type { SalesSum } from '../store/tables/sales-table.ts';
import type { ShareInterval } from '../domain/statistics.ts';

/** Attempts with an outcome. */
export interface Outcomes {
  paid: number;
  failed: number;
}

/** Fewest days from which a usual range is made. */
const LEAST_DAYS = 7;

/** Sums of the sales of a kind, or of the sales that `counted` accepts. Amounts are in cents; `total` includes the fees of the buyers. */
export function totalOf(sales: readonly SalesSum[], counted: string | ((sale: SalesSum) => boolean)) {
  const isCounted = typeof counted === 'string' ? ({ kind }: SalesSum) => kind === counted : counted;
  const sums = { count: 0, amount: 0, total: 0 };
  for (const sale of sales) {
    if (!isCounted(sale)) continue;
    sums.count += sale.count;
    sums.amount += sale.amount;
    sums.total += sale.amount + sale.buyerFee;
  }
  return sums;
}

/** The merchant's share of the paid amounts, less the merchant's share of the refunds and the reversed money. */
export function netOf(sales: readonly SalesSum[]): Cents {
  const signs: Record<string, number> = { paid: 1, refunded: -1, reversed: -1 };
  return sales.reduce((net, { kind, amount, gatewayFee }) => net + (signs[kind] ?? 0) * (amount - gatewayFee), 0);
}

/** True for a failure that counts in the success rate. Failures by buyers do not, as in routing. */
function isFailure({ kind }: SalesSum): boolean {
  return kind.startsWith('failed/') && !kind.startsWith('failed/buyer/');
}

/** Paid and failed attempts. A correction can make the sum of a step negative; it then counts as 0. */
export function outcomesOf(sales: readonly SalesSum[]): Outcomes {
  const counts = { paid: 0, failed: 0 };
  for (const sale of sales) {
    if (sale.kind === 'paid') counts.paid += sale.count;
    else if (isFailure(sale)) counts.failed += sale.count;
  }
  return { paid: Math.max(0, counts.paid), failed: Math.max(0, counts.failed) };
}

/** Share of paid attempts; null without attempts. */
export function shareOfPaid({ paid, failed }: Outcomes): number | null {
  return paid + failed === 0 ? null : paid / (paid + failed);
}

/** Range in which the share of most days was: from the 10th to the 90th percentile; null if fewer than 7 days had attempts. */
export function usualRange(days: readonly Outcomes[]): ShareInterval | null {
  const shares = days.map(shareOfPaid).filter((share) => share !== null);
  if (shares.length < LEAST_DAYS) return null;
  const sorted = shares.toSorted((a, b) => a - b);
  const at = (part: number) => sorted[Math.round(part * (sorted.length - 1))]!;
  return { low: at(0.1), high: at(0.9) };
}

/** Sales by route, the route whose failures lost the largest amount first. */
export function salesByRoute(sales: readonly SalesSum[]) {
  // Sessions have no route.
  const groups = Map.groupBy(
    sales.filter(({ route }) => route !== ''),
    ({ route }) => route,
  );
  const routes = [...groups].map(([route, own]) => {
    const lost = totalOf(own, isFailure).amount;
    return { route, started: totalOf(own, 'started').count, outcomes: outcomesOf(own), lost };
  });
  return routes.toSorted((a, b) => b.lost - a.lost || b.started - a.started || (a.route < b.route ? -1 : 1));
}

/** Failures by source and code, the most frequent reason first. */
export function salesByReason(sales: readonly SalesSum[]) {
  const failed = Map.groupBy(
    sales.filter(({ kind }) => kind.startsWith('failed/')),
    ({ kind }) => kind,
  );
  const reasons = [...failed].map(([kind, own]) => {
    const [, source = '', code = ''] = kind.split('/');
    return { source, code, ...totalOf(own, kind) };
  });
  return reasons.filter(({ count }) => count > 0).toSorted((a, b) => b.count - a.count || (a.code < b.code ? -1 : 1));
}
