import { Console } from 'node:console';
import { parseArgs } from 'node:util';
import { NO_LOAD_PROBLEM } from './load.ts';
import { CAMPAIGNS } from './campaigns.ts';
import type { FaultReport, Scenario } from './scenario.ts';
import { SCENARIOS } from './scenarios.ts';

/**
 * `npm run test:faults -- --cycles N [name...]`: runs all scenarios or the named ones, each without and then with its injected
 * fault. Exits with 1 if a run found a problem or missed an injected fault.
 */

/** Scenarios with at least this many cycles in `npm test` have short cycles, so `--cycles` multiplies their number. */
const SHORT_CYCLES = 10;

/** A row of the table of results. */
interface Outcome {
  cycles?: number;
  load: string;
  problems?: number;
  seconds?: number;
  'injected fault caught'?: boolean;
}

const { values, positionals } = parseArgs({
  options: { cycles: { type: 'string', default: '10' }, help: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const requested = Number(values.cycles);
const all = { ...SCENARIOS, ...CAMPAIGNS };
const unknown = positionals.filter((name) => !Object.hasOwn(all, name));
if (values.help || !Number.isInteger(requested) || requested < 1 || unknown.length > 0) {
  process.stderr.write(`Usage: npm run test:faults -- [--cycles N] [name...]\n`);
  process.stderr.write(
    'Runs N cycles of each scenario, or N times the cycles of npm test if they are short.\nNames:\n',
  );
  for (const [name, scenario] of Object.entries(all)) process.stderr.write(`  ${name}: ${scenario.name}\n`);
  process.exit(2);
}

const outcomes: Record<string, Outcome> = {};
for (const [name, scenario] of Object.entries(all)) {
  if (positionals.length === 0 || positionals.includes(name)) outcomes[name] = await runLong(name, scenario);
}
new Console(process.stdout).table(outcomes);
const hasRun = Object.values(outcomes).filter(({ problems }) => problems !== undefined);
process.exitCode = hasRun.some((row) => row.problems !== 0 || !row['injected fault caught']) ? 1 : 0;

async function runLong(name: string, scenario: Scenario): Promise<Outcome> {
  const { injected, injectedCycles } = scenario;
  const reason = await scenario.unavailable?.();
  if (reason !== undefined) return { load: `not run: ${reason}` };
  const cycles = scenario.cycles >= SHORT_CYCLES ? requested * scenario.cycles : requested;
  process.stdout.write(`${name}: ${cycles} cycles\n`);
  const began = performance.now();
  const report = await reportOf(scenario, { cycles, injected: false });
  const seconds = Math.round((performance.now() - began) / 1000);
  for (const problem of report.problems) process.stdout.write(`  ${problem}\n`);
  process.stdout.write(`${name}, with ${injected}\n`);
  const { problems } = await reportOf(scenario, { cycles: injectedCycles, injected: true });
  const caught = problems.find((problem) => problem !== NO_LOAD_PROBLEM);
  process.stdout.write(`  ${caught ?? 'the injected fault was not detected'}\n`);
  const results = { cycles: report.cycles, load: report.load, problems: report.problems.length, seconds };
  return { ...results, 'injected fault caught': caught !== undefined };
}

/** Runs a scenario; an exception counts as a problem, so that the other scenarios still run. */
async function reportOf(scenario: Scenario, options: Parameters<Scenario['run']>[0]): Promise<FaultReport> {
  try {
    return await scenario.run(options);
  } catch (error) {
    // With an injected fault, an exception does not count as a detection of the fault.
    const problems = options.injected ? [] : [String(error)];
    process.stderr.write(`${scenario.name} failed: ${(error as Error).stack}\n`);
    return { cycles: options.cycles, load: '', problems };
  }
}
