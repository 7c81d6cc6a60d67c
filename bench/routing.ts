import { mkdirSync, writeFileSync } from 'node:fs';
import { format, resolveConfig } from 'prettier';
import { DECISION_ENGINE } from './routing/baselines/all.ts';
import { choiceCosts, memoryOverHistory } from './routing/report/choice-cost.ts';
import { figuresOf, measure, seedsFrom } from './routing/report/measure.ts';
import { measureAll, TILLWAY, type BenchmarkResults } from './routing/report/plan.ts';
import { renderBenchmarkPage } from './routing/report/readme.ts';
import { regretPlot } from './routing/report/regret-plot.ts';
import { runPlot } from './routing/report/run-plot.ts';
import { meanWithError } from './routing/report/statistics.ts';
import { summaryTable } from './routing/report/tables.ts';
import { drawWorld } from './routing/world/environment.ts';
import { SCENARIOS } from './routing/world/scenarios.ts';

const FOLDER = new URL('../docs/routing-benchmark/', import.meta.url);
const PLOTTED_SEED = 401;
const QUICK_SEEDS = seedsFrom(401, 403);

/** Runs every router in every scenario and writes docs/routing-benchmark. Takes more than an hour on one core. */
export async function benchmarkRouting(): Promise<void> {
  const startedMs = performance.now();
  const minutesSinceStart = (): number => (performance.now() - startedMs) / 60_000;
  const results = measureAll((step) => {
    process.stdout.write(`routing: ${step} (${minutesSinceStart().toFixed(1)} min)\n`);
  });
  const costs = { choiceCosts: choiceCosts(), memory: memoryOverHistory() };
  mkdirSync(FOLDER, { recursive: true });
  await write('regret.svg', regretPlot(results));
  await write('pay-run.svg', runPlot(TILLWAY, drawWorld(SCENARIOS.PAY, PLOTTED_SEED)));
  await write('results.json', jsonOf(results));
  await write('README.md', renderBenchmarkPage({ results, ...costs }));
  process.stdout.write(`\n${summaryTable(results)}\n`);
}

/** Compares Tillway's regret with that of decision-engine in a few worlds of the scenario PAY; a part of `npm run bench`. */
export function benchmarkRoutingQuick(): Promise<void> {
  const measured = measure(SCENARIOS.PAY, QUICK_SEEDS, [TILLWAY, DECISION_ENGINE]);
  const [ours, theirs] = [TILLWAY, DECISION_ENGINE].map(
    ({ name }) => meanWithError(figuresOf(measured, name).regret).mean,
  ) as [number, number];
  process.stdout.write(`\nRouting, PAY, seeds ${QUICK_SEEDS.join(', ')}: pseudo-regret\n`);
  process.stdout.write(
    `  ${TILLWAY.name.padEnd(32)} ratio ${(ours / theirs).toFixed(2)}  ${(ours * 100).toFixed(2)} pp\n`,
  );
  process.stdout.write(`  ${DECISION_ENGINE.name.padEnd(32)} ratio 1.00  ${(theirs * 100).toFixed(2)} pp\n`);
  return Promise.resolve();
}

async function write(name: string, content: string): Promise<void> {
  const file = new URL(name, FOLDER);
  if (name.endsWith('.svg')) return writeFileSync(file, content);
  const options = await resolveConfig(file);
  writeFileSync(file, await format(content, { ...options, filepath: file.pathname }));
}

/** The results that are the same on every machine, with six decimals: without times and without undefined values (NaN). */
function jsonOf(results: BenchmarkResults): string {
  return JSON.stringify(results, (key, value: unknown) => {
    if (key === 'microseconds' || (Array.isArray(value) && value.every(Number.isNaN))) return undefined;
    return typeof value === 'number' ? Math.round(value * 1e6) / 1e6 : value;
  });
}

if (import.meta.main) await benchmarkRouting();
