import { spawn } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { DATABASES, type DatabaseKind, databaseNamed, openTestStore, settingsOf } from './support/database.ts';
import { type Postgres, startPostgres } from './support/postgres.ts';
import { installTools } from './support/tools.ts';

/**
 * `npm test [-- PATH...]` runs all test files, or the named ones. `npm run test:unit` runs only those that need no other
 * process, no database server and no browser. TEST_DATABASE=sqlite or TEST_DATABASE=postgres narrows a run to one database.
 *
 * The first line of a test file declares its surroundings, for example `// @run on=sqlite,postgres needs=process`:
 * - `on`: the databases that the file runs on, once on each. Default: `sqlite`.
 * - `needs=process` or `needs=browser`: the file starts other processes, or Chromium. Without either, it
 *   cannot start a process.
 * - `needs=isolation`: the file needs a test process of its own. All others share one with some twenty files.
 */
const DECLARATION = /^\/\/ @run(?: on=([\w,]+))?(?: needs=([\w,]+))?$/;
const NEEDS = ['process', 'browser', 'isolation'] as const;

interface TestFile {
  path: string;
  databases: DatabaseKind[];
  needs: (typeof NEEDS)[number][];
}

interface Batch {
  database: DatabaseKind;
  paths: string[];
  mayStartProcesses: boolean;
}

const TEST_TIMEOUT_MS = 5 * 60_000;
/** Limits a batch whose tests have ended, but leave something open. */
const BATCH_TIMEOUT_MS = 10 * 60_000;
const BATCHES_PER_WORKER = 4;
const BATCH = new URL('support/batch.ts', import.meta.url);
const NO_PROCESSES = `--import=${new URL('support/no-processes.ts', import.meta.url).href}`;

const { values, positionals } = parseArgs({ options: { unit: { type: 'boolean' } }, allowPositionals: true });
const isUnitRun = values.unit === true;
// The other tests wait for processes and for time: one worker more than processors.
const workers = isUnitRun ? availableParallelism() : availableParallelism() + 1;
const wanted = process.env['TEST_DATABASE'] === undefined ? undefined : databaseNamed(process.env['TEST_DATABASE']);
const patterns = positionals.length > 0 ? positionals : ['test/**/*.test.ts'];
const files = globSync(patterns, { exclude: ['**/node_modules/**'] }).map(readTestFile);
const batches = DATABASES.flatMap((database) => batchesOn(database));

if (!isUnitRun) await installTools();
await using postgres = isUnitRun ? undefined : await startPostgres();
// Type stripping is cached across the test processes.
const compiled = mkdtempSync(join(tmpdir(), 'tillway-compiled-'));
const environment = {
  ...process.env,
  NODE_COMPILE_CACHE: compiled,
  ...(postgres && { TEST_POSTGRES: postgres.adminUrl, TEST_TEMPLATE: await templateIn(postgres) }),
};

let tests = 0;
const failed: string[] = [];
const queue = batches.values();
await Promise.all(
  Array.from({ length: workers }, async () => {
    for (const batch of queue) {
      const result = await runBatch(batch);
      tests += result.tests;
      failed.push(...result.failed);
    }
  }),
);
// A process that is exiting can still write there.
rmSync(compiled, { recursive: true, force: true, maxRetries: 10 });
const seconds = Math.round(performance.now() / 1000);
process.stdout.write(`\n${tests} tests of ${files.length} files in ${seconds} s\n`);
if (tests === 0) process.stdout.write('There were no tests\n');
for (const line of failed) process.stdout.write(`${line}\n`);
process.exitCode = tests === 0 || failed.length > 0 ? 1 : 0;

function readTestFile(path: string): TestFile {
  const [line = ''] = readFileSync(path, 'utf8').split('\n', 1);
  const [declared, on = 'sqlite', needed = ''] = DECLARATION.exec(line) ?? [];
  if (!declared && line.includes('@run')) throw new Error(`${path}: the first line is no valid declaration: ${line}`);
  const needs = needed.split(',').filter((need) => need !== '');
  const unknown = needs.find((need) => !NEEDS.some((known) => known === need));
  if (unknown) throw new Error(`${path}: needs=${unknown} is not one of ${NEEDS.join(', ')}`);
  return { path, databases: on.split(',').map(databaseNamed), needs: needs as TestFile['needs'] };
}

/** The batches of one database, the slow ones first. */
function batchesOn(database: DatabaseKind): Batch[] {
  if (wanted && wanted !== database) return [];
  // Named files run on a named database even if they do not declare it.
  const isForced = wanted !== undefined && positionals.length > 0;
  const all = files.filter(({ databases }) => isForced || databases.includes(database));
  const [plain, demanding] = [
    all.filter(({ needs }) => needs.length === 0),
    all.filter(({ needs }) => needs.length > 0),
  ];
  if (isUnitRun) return database === 'sqlite' ? split(plain, database) : [];
  const isolated = demanding.filter(({ needs }) => needs.includes('isolation'));
  const shared = demanding.filter(({ needs }) => !needs.includes('isolation'));
  return [
    ...isolated.flatMap((file) => split([file], database)),
    ...split(shared, database),
    ...split(plain, database),
  ];
}

/** Deals the files out to several batches, so that each gets some of every folder. */
function split(some: readonly TestFile[], database: DatabaseKind): Batch[] {
  const count = Math.min(some.length, workers * BATCHES_PER_WORKER);
  return Array.from({ length: count }, (_, index) => {
    const own = some.filter((_file, at) => at % count === index);
    const mayStartProcesses = own.some(({ needs }) => needs.includes('process') || needs.includes('browser'));
    return { database, paths: own.map(({ path }) => path), mayStartProcesses };
  });
}

/** Creates a database with the schema, which the tests copy. */
async function templateIn({ createDatabase, url }: Postgres): Promise<string> {
  const name = await createDatabase();
  const store = await openTestStore(settingsOf(url(name)));
  await store.close();
  return name;
}

/** Runs some files in one process. Prints everything if a test fails, else the time of each file and the skipped tests. */
async function runBatch({ database, paths, mayStartProcesses }: Batch): Promise<{ failed: string[]; tests: number }> {
  const options = [`--test-timeout=${TEST_TIMEOUT_MS}`, '--test-reporter=spec', fileURLToPath(BATCH)];
  const child = spawn(process.execPath, [...(mayStartProcesses ? [] : [NO_PROCESSES]), ...options, ...paths], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...environment, TEST_DATABASE: database },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));
  const timeout = setTimeout(() => child.kill('SIGKILL'), BATCH_TIMEOUT_MS);
  const code = await new Promise((resolve, reject) => child.once('close', resolve).once('error', reject));
  clearTimeout(timeout);
  const lines = output.split('\n');
  const failed = lines.filter((line) => line.startsWith('✖ test/'));
  // Node counts a suite without tests as passed.
  for (const path of paths) if (!lines.includes(`▶ ${path}`)) failed.push(`✖ ${path} has no tests, or did not start`);
  if (code !== 0 && failed.length === 0) failed.push(`✖ exit code ${String(code)} of ${paths.join(' ')}`);
  const shown = failed.length === 0 ? lines.filter((line) => /^✔ |^ *﹣ /.test(line)) : lines;
  process.stdout.write(`${shown.map((line) => `${database} ${line}`.trimEnd()).join('\n')}\n`);
  const tests = Number(/^ℹ tests (\d+)$/m.exec(output)?.[1] ?? 0);
  return { failed: failed.map((line) => `${database} ${line}`), tests };
}
