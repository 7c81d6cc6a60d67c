import type { RoutingBacktest, RoutingDecision, RoutingDryRun, RoutingRules } from '../../../sdk/src/index.ts';
import { type Paint, jsonOf } from '../command-context.ts';
import { table } from '../table.ts';
import { type Cell, percentWithoutUnit, percent, plain, rate, secondsOf, statusCell } from '../cells.ts';

const HEADINGS = ['#', 'ROUTE', 'SCORE', 'HEALTH', 'SUCCESS', 'COST', 'DRAWN', 'NOTES'];

/** Text of a stored or dry-run decision: its time, subject, reason, applied rules and candidates. */
export function tellDecision(decision: RoutingDecision | RoutingDryRun, paint: Paint): string {
  const rules = decision.rules.map(({ id, effect }) => `  rule ${plain(id)}: ${plain(effect)}\n`).join('');
  const reason = `${paint('bold', `${plain(decision.mode)}:`)} ${plain(decision.reason)}\n`;
  const rows = decision.candidates
    .toSorted((a, b) => (a.rank ?? Infinity) - (b.rank ?? Infinity))
    .map((one): Cell[] => [
      one.rank === null ? '-' : String(one.rank),
      one.route,
      one.score.toFixed(1),
      statusCell(one.health),
      `${percent(one.expectedSuccess)} (${percentWithoutUnit(one.low)} to ${percentWithoutUnit(one.high)})`,
      rate(one.cost),
      one.index === null ? '' : one.index.toFixed(4),
      one.excluded ?? [...one.offsets.map(offsetInWords), ...lossInWords(one.lostRate)].join(', '),
    ]);
  return `${headOf(decision, paint)}${reason}${rules}${table(HEADINGS, rows, paint)}`;
}

/** The share of paid money that a route loses; nothing if it loses none. */
export function lossInWords(lostRate: number): string[] {
  return lostRate > 0 ? [`${percent(lostRate)} of paid money lost`] : [];
}

/** An offset such as `metadata DE: fails 1.8 times as often`. */
function offsetInWords({ context, value, ratio }: RoutingDecision['candidates'][number]['offsets'][number]): string {
  return `${context} ${value}: fails ${ratio} times as often`;
}

function headOf(decision: RoutingDecision | RoutingDryRun, paint: Paint): string {
  if (decision.object === 'routing_dry_run') {
    const { rejected, warnings } = decision;
    const refusal = rejected === null ? '' : `${paint('red', 'refused by a rule:')} ${plain(rejected)}\n`;
    return refusal + tellWarnings(warnings, paint);
  }
  const about = decision.paymentId === null ? 'offer' : `attempt ${decision.paymentId}`;
  return plain(`${decision.created}  ${about}  (${decision.id})`) + '\n';
}

export function tellRules({ version, source, ruleSet, warnings }: RoutingRules, paint: Paint): string {
  return `${plain(`Version ${version} (${source})`)}\n${tellWarnings(warnings, paint)}${jsonOf(ruleSet)}\n`;
}

export function tellWarnings(warnings: RoutingRules['warnings'], paint: Paint): string {
  return warnings
    .map(({ path, message }) => `${paint('yellow', 'warning:')} ${plain(`${path} ${message}`)}\n`)
    .join('');
}

export function tellBacktest({ decisions, different, was, wouldBe, changes }: RoutingBacktest, paint: Paint): string {
  const line = (name: string, totals: RoutingBacktest['was']): Cell[] => [
    name,
    percent(totals.expectedSuccess),
    rate(totals.cost),
  ];
  const rows = [line('actual', was), line('backtest', wouldBe)];
  // Not a table: a row with both routes and both ids would not fit a terminal.
  const list = changes.map((change) => {
    const routes = plain(`${change.was ?? 'none'} -> ${change.wouldBe ?? 'none'}`);
    return `\n${plain(`${secondsOf(change.created)}  ${change.sessionId}`)}\n  ${routes}\n  ${plain(change.reason)}\n`;
  });
  const totals = table(['', 'EXPECTED SUCCESS', 'COST'], rows, paint);
  return `${plain(`${different} of ${decisions}`)} decisions differ.\n\n${totals}${list.join('')}`;
}
