import { parseArgs } from 'node:util';
import { NO_LOAD } from './load.ts';
import { CAMPAIGNS } from './campaigns.ts';
import type { FaultReport, Scenario } from './scenario.ts';
import { SCENARIOS } from './scenarios.ts';

/**
 * `npm run test:faults -- --cycles N [name...]`: all faults, or those named, for as long as one wants; then each with its
 * injected fault. Ends with 1 where a promise was broken, or a injected fault went unnoticed.
 */

/** A short run of so many cycles has tiny ones: a long run is so many times as long. */
const TINY = 10;
interface Outcome {
  name: string;
  cycles: string;
  load: string;
  problems: string;
  seconds: string;
  caught: string;
  failed: boolean;
}

const { values, positionals } = parseArgs({
  options: { cycles: { type: 'string', default: '10' }, help: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const wanted = Number(values.cycles);
const all = { ...SCENARIOS, ...CAMPAIGNS };
const unknown = positionals.filter((name) => !Object.hasOwn(all, name));
if (values.help || !Number.isInteger(wanted) || wanted < 1 || unknown.length > 0) {
  process.stderr.write(`Usage: npm run test:faults -- [--cycles N] [name...]\n`);
  process.stderr.write(`N cycles of each; of those whose cycles are short, N times as many as in npm test.\nNames:\n`);
  for (const [name, scenario] of Object.entries(all)) process.stderr.write(`  ${name}: ${scenario.name}\n`);
  process.exit(2);
}

const outcomes: Outcome[] = [];
for (const [name, scenario] of Object.entries(all)) {
  if (positionals.length === 0 || positionals.includes(name)) outcomes.push(await runLong(name, scenario));
}
process.stdout.write(`\n${tableOf(outcomes)}\n`);
process.exitCode = outcomes.some(({ failed }) => failed) ? 1 : 0;

async function runLong(name: string, scenario: Scenario): Promise<Outcome> {
  const { injected, injectedCycles } = scenario;
  const nothing = { name, cycles: '', problems: '', seconds: '', caught: '', failed: false };
  const reason = await scenario.unavailable?.();
  if (reason !== undefined) return { ...nothing, load: `not run: ${reason}` };
  const cycles = scenario.cycles >= TINY ? wanted * scenario.cycles : wanted;
  process.stdout.write(`${name}: ${cycles} cycles\n`);
  const began = performance.now();
  const report = await reported(scenario, { cycles, injected: false });
  const seconds = (performance.now() - began) / 1000;
  for (const problem of report.problems) process.stdout.write(`  ${problem}\n`);
  process.stdout.write(`${name}, with ${injected}\n`);
  const { problems } = await reported(scenario, { cycles: injectedCycles, injected: true });
  const caught = problems.filter((problem) => problem !== NO_LOAD);
  process.stdout.write(`  ${caught[0] ?? 'nothing was noticed'}\n`);
  return {
    name,
    cycles: String(report.cycles),
    load: report.load,
    problems: String(report.problems.length),
    seconds: seconds.toFixed(0),
    caught: caught.length > 0 ? 'yes' : 'NO',
    failed: report.problems.length > 0 || caught.length === 0,
  };
}

/** A run that fails of itself is a problem, and not the end of the others. */
async function reported(scenario: Scenario, options: Parameters<Scenario['run']>[0]): Promise<FaultReport> {
  try {
    return await scenario.run(options);
  } catch (error) {
    // With its injected fault it must be caught, and not fail.
    const problems = options.injected ? [] : [String(error)];
    process.stderr.write(`${scenario.name} failed: ${(error as Error).stack}\n`);
    return { cycles: options.cycles, load: '', problems };
  }
}

function tableOf(rows: Outcome[]): string {
  const header = ['fault', 'cycles', 'load', 'problems', 'seconds', 'injected fault caught'];
  const cells = rows.map((row) => [row.name, row.cycles, row.load, row.problems, row.seconds, row.caught]);
  const widths = header.map((title, column) => Math.max(title.length, ...cells.map((row) => row[column]!.length)));
  const line = (row: string[]) => `| ${row.map((cell, column) => cell.padEnd(widths[column]!)).join(' | ')} |`;
  return [line(header), line(widths.map((width) => '-'.repeat(width))), ...cells.map(line)].join('\n');
}
