import { attributedName, unattributedName } from '../baselines/attribution.ts';
import { ORACLE, STATIC_PRIORITY } from '../baselines/fixed.ts';
import type { ScenarioName } from '../world/scenarios.ts';
import { type RouterFigures, gapCaptured, type ScenarioResult } from './measure.ts';
import { type EconomicsResult, TILLWAY, type BenchmarkResults } from './plan.ts';
import { type MeanWithError, meanWithError, sum } from './statistics.ts';
import { valueVerdict } from './targets.ts';

export function formatPercent(fraction: number, decimals = 2): string {
  return (fraction * 100).toFixed(decimals);
}

export function formatWithError({ mean, error }: MeanWithError): string {
  return `${formatPercent(mean)} ± ${formatPercent(error)}`;
}

/** A Markdown table; the first row is the header. */
export function markdownTable([header, ...rows]: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const rule = header!.map((_, column) => (column === 0 ? '---' : '---:'));
  return [line(header!), line(rule), ...rows.map(line)].join('\n');
}

export function sortedByRegret(contenders: readonly RouterFigures[]): RouterFigures[] {
  return contenders.toSorted((one, other) => meanWithError(one.regret).mean - meanWithError(other.regret).mean);
}

/** Scenarios in which the rates of every payment are those at the start. */
const CONSTANT: ReadonlySet<string> = new Set<ScenarioName>(['STATIC', 'ISSUERS', 'UNSETTLED']);

/** True for contenders that are not ranked, because they know the true rates: the oracle, and the static priority if rates are constant. */
export function knowsTrueRates(scenario: string, name: string): boolean {
  return name === ORACLE.name || (CONSTANT.has(scenario) && name === STATIC_PRIORITY.name);
}

function nameCell(name: string): string {
  return name.startsWith(TILLWAY.name) ? `**${name}**` : name;
}

/** Markdown table of all contenders of a scenario, sorted by regret. */
export function scenarioTable(measured: ScenarioResult): string {
  const rows = sortedByRegret(measured.contenders).map((figures) => [
    nameCell(figures.name),
    formatPercent(meanWithError(figures.successRate).mean),
    formatWithError(meanWithError(figures.regret)),
    formatPercent(gapCaptured(measured, figures), 1),
    formatPercent(meanWithError(figures.cost).mean * 100, 0),
    meanWithError(figures.microseconds).mean.toFixed(1),
  ]);
  return markdownTable([
    ['Router', 'Success rate, %', 'Regret, pp', 'Gap captured, %', 'Cost, bps', 'Microseconds a payment'],
    ...rows,
  ]);
}

interface Column {
  title: string;
  scenario: string;
  /** The figures of a router in this column. */
  of: (name: string) => RouterFigures | undefined;
}

function columnsOf({ scenarios }: BenchmarkResults): Column[] {
  return scenarios.flatMap(({ scenario, contenders }): Column[] => {
    const named = (name: string) => contenders.find((each) => each.name === name);
    if (scenario !== ('PAYATTR' satisfies ScenarioName)) return [{ title: scenario, scenario, of: named }];
    return [
      { title: 'PAYATTR, all failures count', scenario, of: (name) => named(unattributedName(name)) ?? named(name) },
      { title: 'PAYATTR, attributed', scenario, of: (name) => named(attributedName(name)) ?? named(name) },
    ];
  });
}

/** Markdown table of the mean regret of every router in every scenario; the lowest regret of a ranked router is bold. */
export function summaryTable(results: BenchmarkResults): string {
  const columns = columnsOf(results);
  const names = sortedByRegret(results.scenarios[0]!.contenders).map(({ name }) => name);
  const regretOf = (column: Column, name: string): number => {
    const figures = column.of(name);
    return figures ? meanWithError(figures.regret).mean : Infinity;
  };
  const least = columns.map((column) =>
    Math.min(...names.filter((name) => !knowsTrueRates(column.scenario, name)).map((name) => regretOf(column, name))),
  );
  const rows = names.map((name) => [
    nameCell(name),
    ...columns.map((column, place) => {
      const regret = regretOf(column, name);
      if (regret === Infinity) return '–';
      return regret === least[place] ? `**${formatPercent(regret)}**` : formatPercent(regret);
    }),
  ]);
  return markdownTable([['Regret, pp', ...columns.map(({ title }) => title)], ...rows]);
}

export function economicsTable(measured: EconomicsResult): string {
  const byValue = measured.contenders.toSorted((one, other) => sum(other.value) - sum(one.value));
  const rows = byValue.map((figures) => [
    nameCell(figures.name),
    formatPercent(meanWithError(figures.successRate).mean),
    formatPercent(meanWithError(figures.cost).mean * 100, 0),
    formatPercent(meanWithError(figures.value).mean * 100, 0),
    formatPercent(valueVerdict(measured, figures).measured, 1),
  ]);
  return markdownTable([
    ['Router', 'Success rate, %', 'Cost, bps', 'Value, bps of the amount', 'Value captured, %'],
    ...rows,
  ]);
}

export function failoverTable({ failover }: BenchmarkResults): string {
  const rows = failover.without.contenders.map((figures, place) => {
    const after = failover.with.contenders[place]!;
    return [
      nameCell(figures.name),
      ...[figures, after].map(({ successRate }) => formatPercent(meanWithError(successRate).mean)),
    ];
  });
  return markdownTable([['PAY, success rate, %', 'One attempt', 'Second attempt after a refused handoff'], ...rows]);
}
