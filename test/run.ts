import { spawn } from 'node:child_process';
import { globSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DATABASES, type DatabaseKind, databaseNamed, openTestStore, settingsOf } from './support/database.ts';
import { type Postgres, startPostgres } from './support/postgres.ts';
import { installTools } from './support/tools.ts';

/**
 * `npm test`: everything on SQLite, then what a database has a part in once more on PostgreSQL.
 * TEST_DATABASE=sqlite or TEST_DATABASE=postgres narrows a run to one of them, and paths as arguments to those tests.
 */
const EVERYTHING = 'test/**/*.test.ts';
/** Several instances share a PostgreSQL; they run on SQLite by name only. */
const FOR_INSTANCES = /\/instances\//;
const WITH_A_DATABASE = 'test/{store,api,webhooks,simulator,checkout,instances,process,examples}/**/*.test.ts';
/** Beside a database, or with one that is asked nothing which other tests do not ask: these are run once. */
const WITHOUT_ONE =
  /\/(?:agent-(?:command-lines|discovery|repair)|attribution|json-bodies|backup|failover|instruments|logs|openapi|refusals|routing-(?:decisions|health|rules)|money-text|return-url|docs|address|deliver|retry|sign|endpoints-seal)\.test\.ts$/;

/** A test that takes longer does not end, and neither does a run: both are failures, and no reason to wait. */
const TEST_TIMEOUT_MS = 5 * 60_000;
const RUN_TIMEOUT_MS = 20 * 60_000;

await installTools();
const wanted = process.env['TEST_DATABASE'];
const paths = process.argv.slice(2);
await using postgres = await startPostgres();
const template = await templateIn(postgres);
// Some hundred processes read the same sources: stripped of types once.
const compiled = mkdtempSync(join(tmpdir(), 'tillway-compiled-'));
let failed = false;
for (const kind of wanted === undefined ? DATABASES : [databaseNamed(wanted)]) {
  process.stdout.write(`\nTests on ${kind}\n`);
  failed = (await runTests(kind, paths.length > 0 ? paths : testsOn(kind))) !== 0 || failed;
}
// A process that is just ending may write there still.
rmSync(compiled, { recursive: true, force: true, maxRetries: 10 });
process.exitCode = failed ? 1 : 0;

function testsOn(kind: DatabaseKind): string[] {
  if (kind === 'sqlite') return found(EVERYTHING).filter((path) => !FOR_INSTANCES.test(path));
  return wanted === undefined ? found(WITH_A_DATABASE).filter((path) => !WITHOUT_ONE.test(path)) : found(EVERYTHING);
}

function found(pattern: string): string[] {
  return globSync(pattern, { exclude: ['**/node_modules/**'] });
}

/** A database with the schema, which the others are copied from. */
async function templateIn({ createDatabase, url }: Postgres): Promise<string> {
  const name = await createDatabase();
  const store = await openTestStore(settingsOf(url(name)));
  await store.close();
  return name;
}

function runTests(kind: DatabaseKind, files: readonly string[]): Promise<number | null> {
  // One more than the cores that there are at the least: some wait for time, or for a database.
  const options = ['--test', '--test-concurrency=3', `--test-timeout=${TEST_TIMEOUT_MS}`];
  const child = spawn(process.execPath, [...options, ...files], {
    stdio: 'inherit',
    env: {
      ...process.env,
      TEST_DATABASE: kind,
      TEST_POSTGRES: postgres.adminUrl,
      TEST_TEMPLATE: template,
      NODE_COMPILE_CACHE: compiled,
    },
  });
  // It then names the files that have not ended, and answers as for any failure.
  const patience = setTimeout(() => child.kill('SIGTERM'), RUN_TIMEOUT_MS);
  return new Promise<number | null>((resolve, reject) => child.once('exit', resolve).once('error', reject)).finally(
    () => clearTimeout(patience),
  );
}
