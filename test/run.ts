import { spawn } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { DATABASES, type DatabaseKind, databaseNamed, openTestStore, settingsOf } from './support/database.ts';
import { type Postgres, startPostgres } from './support/postgres.ts';
import { installTools } from './support/tools.ts';

/**
 * `npm test [-- PATH...]` runs all test files, or the named ones. `npm run test:unit` runs only files that need no other
 * process, no database server and no browser, with fewer random values and without campaigns. TEST_DATABASE=sqlite or TEST_DATABASE=postgres narrows a run to one database.
 *
 * The first line of a test file declares its surroundings, for example `// @run on=sqlite,postgres needs=process`:
 * - `on`: the databases that the file runs on, once on each. Default: `sqlite`.
 * - `needs=process` or `needs=browser`: the file starts other processes, or Chromium. Without either, it
 *   cannot start a process.
 */
const DECLARATION = /^\/\/ @run(?: on=([\w,]+))?(?: needs=([\w,]+))?$/;
const NEEDS = ['process', 'browser'] as const;

interface TestFile {
  path: string;
  databases: DatabaseKind[];
  startsProcesses: boolean;
}

/** Test files that can share a process. A free test process of the group runs the next path in `waiting`. */
interface Group {
  database: DatabaseKind;
  waiting: string[];
  startsProcesses: boolean;
}

const TEST_TIMEOUT_MS = 5 * 60_000;
/** Time limit for a file whose tests have ended but left a resource open. */
const FILE_TIMEOUT_MS = 10 * 60_000;
/** Free space in memory for the databases of test files that start no process. */
const LEAST_MEMORY_BYTES = 1 << 29;
const MEMORY = '/dev/shm';
const TEST_PROCESS = fileURLToPath(new URL('support/test-process.ts', import.meta.url));
const NO_PROCESSES = `--import=${new URL('support/no-processes.ts', import.meta.url).href}`;

const { values, positionals } = parseArgs({ options: { unit: { type: 'boolean' } }, allowPositionals: true });
const isUnitRun = values.unit === true;
// There are two workers more than processors, because tests wait for the disk, for processes and for time.
const workers = availableParallelism() + 2;
const onlyDatabase =
  process.env['TEST_DATABASE'] === undefined ? undefined : databaseNamed(process.env['TEST_DATABASE']);
const patterns = positionals.length > 0 ? positionals : ['test/**/*.test.ts'];
const files = globSync(patterns, { exclude: ['**/node_modules/**'] }).map(readTestFile);
// The groups whose files start processes are first, because a long file at the end would leave the other workers without work.
const groups = DATABASES.flatMap((database) => groupsOn(database)).toSorted(
  (a, b) => Number(b.startsProcesses) - Number(a.startsProcesses),
);

if (!isUnitRun) await installTools();
await using postgres = isUnitRun ? undefined : await startPostgres();
const memory = folderInMemory();
const environment = {
  ...process.env,
  ...(isUnitRun && { TEST_UNIT: 'true' }),
  // The next run reuses the compiled modules in this folder.
  NODE_COMPILE_CACHE: fileURLToPath(new URL('../node_modules/.cache/compiled', import.meta.url)),
  ...(postgres && { TEST_POSTGRES: postgres.adminUrl, TEST_TEMPLATE: await templateIn(postgres) }),
};

let tests = 0;
const failed: string[] = [];
await Promise.all(
  Array.from({ length: workers }, async () => {
    for (const group of groups) {
      // If a test process exits early, another process runs the remaining files.
      while (group.waiting.length > 0) await runFiles(group);
    }
  }),
);
if (memory !== undefined) rmSync(memory, { recursive: true, force: true });
const seconds = Math.round(performance.now() / 1000);
process.stdout.write(`\n${tests} tests of ${files.length} files in ${seconds} s\n`);
if (tests === 0) process.stdout.write('There were no tests\n');
for (const line of failed) process.stdout.write(`${line}\n`);
process.exitCode = tests === 0 || failed.length > 0 ? 1 : 0;

function readTestFile(path: string): TestFile {
  const [line = ''] = readFileSync(path, 'utf8').split('\n', 1);
  const [declared, on = 'sqlite', needed = ''] = DECLARATION.exec(line) ?? [];
  if (!declared && line.includes('@run'))
    throw new Error(`${path}: the first line is not a valid declaration: ${line}`);
  const needs = needed.split(',').filter((need) => need !== '');
  const unknown = needs.find((need) => !NEEDS.some((known) => known === need));
  if (unknown) throw new Error(`${path}: needs=${unknown} is not one of ${NEEDS.join(', ')}`);
  return { path, databases: on.split(',').map(databaseNamed), startsProcesses: needs.length > 0 };
}

/** The groups of one database. */
function groupsOn(database: DatabaseKind): Group[] {
  if (onlyDatabase && onlyDatabase !== database) return [];
  if (isUnitRun && database !== 'sqlite') return [];
  // Named files run on a named database even if they do not declare it.
  const isForced = onlyDatabase !== undefined && positionals.length > 0;
  const all = files.filter(({ databases }) => isForced || databases.includes(database));
  return (isUnitRun ? [false] : [true, false]).map((startsProcesses): Group => {
    const some = all.filter((file) => file.startsProcesses === startsProcesses);
    return { database, waiting: some.map(({ path }) => path), startsProcesses };
  });
}

/** A folder in memory, where SQLite does not wait for a disk; undefined if the system has none, or little space in it. */
function folderInMemory(): string | undefined {
  if (!existsSync(MEMORY)) return undefined;
  const { bavail, bsize } = statfsSync(MEMORY);
  return bavail * bsize < LEAST_MEMORY_BYTES ? undefined : mkdtempSync(join(MEMORY, 'tillway-tests-'));
}

/** Creates a database with the schema, which the tests copy. */
async function templateIn({ createDatabase, url }: Postgres): Promise<string> {
  const name = await createDatabase();
  const store = await openTestStore(settingsOf(url(name)));
  await store.close();
  return name;
}

/** Runs files of the group in one process until none is left. Prints the time of each file, and the output of failed ones. */
async function runFiles({ database, waiting, startsProcesses }: Group): Promise<void> {
  const options = [
    '--max-semi-space-size=64',
    `--test-timeout=${TEST_TIMEOUT_MS}`,
    '--test-reporter=spec',
    TEST_PROCESS,
  ];
  const child = spawn(process.execPath, startsProcesses ? options : [NO_PROCESSES, ...options], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: {
      ...environment,
      TEST_DATABASE: database,
      ...(!startsProcesses && memory !== undefined && { TMPDIR: memory }),
    },
  });
  const timeout = setTimeout(() => child.kill('SIGKILL'), FILE_TIMEOUT_MS);
  const paths: string[] = [];
  const output = { stdout: '', stderr: '' };
  let sentAt = 0;
  const sendNext = (): void => {
    const path = waiting.shift();
    if (path !== undefined) paths.push(path);
    sentAt = path === undefined ? Infinity : output.stdout.length;
    timeout.refresh();
    child.send(path ?? '');
  };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]!.setEncoding('utf8').on('data', (text) => (output[name] += text));
  }
  child.stdout!.on('data', () => {
    const hasEnded = ['✔', '✖'].some((sign) => output.stdout.includes(`${sign} ${paths.at(-1)} (`, sentAt));
    if (hasEnded && child.connected) sendNext();
  });
  sendNext();
  const code = await new Promise((resolve, reject) => child.once('close', resolve).once('error', reject));
  clearTimeout(timeout);
  // The printed lines omit the tests of files that passed.
  const lines = output.stdout.replace(/^▶ (\S+)\n(?: .*\n)*(?=✔ \1 )/gm, '').split('\n');
  tests += Number(/^ℹ tests (\d+)$/m.exec(output.stdout)?.[1] ?? 0);
  const bad = new Set(lines.filter((line) => line.startsWith('✖ test/')));
  // Node counts a suite without tests as passed.
  const empty = paths.filter((path) => !output.stdout.includes(`▶ ${path}\n`));
  for (const path of empty) bad.add(`✖ ${path} has no tests, or did not start`);
  if (code !== 0 && bad.size === 0) bad.add(`✖ exit code ${String(code)} of ${paths.join(' ')}`);
  failed.push(...Array.from(bad, (line) => `${database} ${line}`));
  const shown = bad.size === 0 ? lines.filter((line) => /^✔ |^ *﹣ /.test(line)) : [...lines, output.stderr];
  process.stdout.write(`${shown.map((line) => `${database} ${line}`.trimEnd()).join('\n')}\n`);
}
