import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type Postgres, startPostgres } from '../test/support/postgres.ts';
import { startBenchService } from './support/shop.ts';

const PAYMENTS = Number(process.env['BENCH_PAYMENTS'] ?? 2000);
/** Payments before the measurement, so that the measured payments reuse space that vacuum has freed, as in an older database. */
const WARM_UP = PAYMENTS / 2;
const BATCHES = 4;
const CONCURRENCY = 16;
const STATISTICS_MS = 1500;

/** Number of rows and bytes of one table, and bytes of its indexes. */
interface Table {
  name: string;
  rows: number;
  bytes: number;
  indexBytes: number;
}

interface Measured {
  tables: Table[];
  /** Counters and sizes of the whole database, by their name in the report. */
  sums: Record<string, number>;
}

/**
 * Measures how many bytes one paid payment adds to the database and to its write-ahead log: session, page, start, callback, two
 * events and their deliveries to one endpoint. The request for the session has all fields, and nearly every buyer is new.
 */
export async function benchmarkFootprint(): Promise<void> {
  await measurePostgres();
  await measureSqlite();
}

async function measurePostgres(): Promise<void> {
  // Vacuum runs only on demand, and no checkpoint runs: checkpoints add an amount to the log that depends on their interval.
  const settings = { autovacuum: 'off', checkpoint_timeout: '1h', max_wal_size: '10GB' };
  await using postgres = await startPostgres({ settings });
  const database = await postgres.createDatabase();
  const vacuum = async () => void (await postgres.query(database, 'VACUUM'));
  await payMany(postgres.url(database), WARM_UP, vacuum);
  const before = await readPostgres(postgres, database);
  await payMany(postgres.url(database), PAYMENTS, vacuum);
  report('PostgreSQL', before, await readPostgres(postgres, database));
}

async function readPostgres(postgres: Postgres, database: string): Promise<Measured> {
  // The service's connections report their statistics to PostgreSQL when they close, so the last statistics arrive late.
  await new Promise((resolve) => setTimeout(resolve, STATISTICS_MS));
  const names = await postgres.query(
    database,
    "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1",
  );
  const tables: Table[] = [];
  for (const { tablename } of names) {
    const name = String(tablename);
    const [row] = await postgres.query(
      database,
      `SELECT COUNT(*) AS rows, pg_table_size('${name}') AS bytes, pg_indexes_size('${name}') AS indexes FROM ${name}`,
    );
    tables.push({
      name,
      rows: Number(row!['rows']),
      bytes: Number(row!['bytes']),
      indexBytes: Number(row!['indexes']),
    });
  }
  const [sums] = await postgres.query(
    database,
    `SELECT pg_current_wal_insert_lsn() - '0/0' AS log,
      (SELECT SUM(fsyncs) FROM pg_stat_io WHERE object = 'wal' AND backend_type = 'client backend') AS syncs,
      (SELECT wal_fpi FROM pg_stat_wal) AS images`,
  );
  return {
    tables,
    sums: {
      'bytes of write-ahead log': Number(sums!['log']),
      'full-page images in the log': Number(sums!['images']),
      'syncs of the log': Number(sums!['syncs']),
    },
  };
}

async function measureSqlite(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'tillway-bench-'));
  const path = join(folder, 'bench.db');
  try {
    await payMany(`sqlite:${path}`, WARM_UP);
    const before = readSqlite(path);
    const written = await payMany(`sqlite:${path}`, PAYMENTS);
    const after = readSqlite(path);
    before.sums['bytes written to the log and the file'] = 0;
    after.sums['bytes written to the log and the file'] = written;
    report('SQLite', before, after);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Reads the sizes of a closed database, whose log has been merged into the file. */
function readSqlite(path: string): Measured {
  const database = new DatabaseSync(path, { readOnly: true });
  const all = (sql: string) => database.prepare(sql).all() as Record<string, number | string>[];
  const tables = all("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").map(({ name }): Table => {
    const [row] = all(
      `SELECT (SELECT COUNT(*) FROM "${name}") AS rows, SUM(pgsize * (schema.type = 'table')) AS bytes,
         SUM(pgsize * (schema.type = 'index')) AS indexes
       FROM dbstat JOIN sqlite_schema AS schema ON schema.name = dbstat.name WHERE schema.tbl_name = '${name}'`,
    );
    const [rows, bytes, indexBytes] = [row!['rows'], row!['bytes'], row!['indexes']].map(Number) as [
      number,
      number,
      number,
    ];
    return { name: String(name), rows, bytes, indexBytes };
  });
  database.close();
  return { tables, sums: { 'bytes of the file': statSync(path).size } };
}

/** Makes `count` payments. Returns the bytes written by other threads of this process, that is by the SQLite writer. */
async function payMany(url: string, count: number, betweenBatches?: () => Promise<void>): Promise<number> {
  await using shop = await startBenchService(url);
  for (let batch = 0; batch < BATCHES; batch++) {
    let left = count / BATCHES;
    const pays = async () => {
      while (left-- > 0) await shop.pay();
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, pays));
    // Delivers the events that a concurrent dispatcher run skipped, because another run had claimed them.
    await shop.deliver();
    await betweenBatches?.();
  }
  return bytesWrittenElsewhere();
}

function bytesWrittenElsewhere(): number {
  return readdirSync('/proc/self/task')
    .filter((task) => task !== String(process.pid))
    .map((task) => Number(/wchar: (\d+)/.exec(readFileSync(`/proc/self/task/${task}/io`, 'utf8'))?.[1] ?? 0))
    .reduce((sum, bytes) => sum + bytes, 0);
}

function report(title: string, before: Measured, after: Measured): void {
  const line = (name: string, ...values: string[]) =>
    process.stdout.write(`  ${name.padEnd(50)}${values.map((value) => value.padStart(14)).join('')}\n`);
  process.stdout.write(`\n${title}, for each of ${PAYMENTS} paid payments, ${CONCURRENCY} at once\n`);
  line('table', 'rows', 'bytes', 'index bytes');
  const total: Table = { name: 'total', rows: 0, bytes: 0, indexBytes: 0 };
  const rounded = ({ name, rows, bytes, indexBytes }: Table) =>
    line(name, rows.toFixed(2), bytes.toFixed(0), indexBytes.toFixed(0));
  for (const { name, ...now } of after.tables) {
    const then = before.tables.find((table) => table.name === name);
    const grown = (value: 'rows' | 'bytes' | 'indexBytes') => (now[value] - (then?.[value] ?? 0)) / PAYMENTS;
    const table: Table = { name, rows: grown('rows'), bytes: grown('bytes'), indexBytes: grown('indexBytes') };
    if (table.rows + table.bytes + table.indexBytes === 0) continue;
    for (const value of ['rows', 'bytes', 'indexBytes'] as const) total[value] += table[value];
    rounded(table);
  }
  rounded(total);
  for (const [name, sum] of Object.entries(after.sums)) {
    const each = (sum - (before.sums[name] ?? 0)) / PAYMENTS;
    line(name, each.toFixed(each < 100 ? 2 : 0));
  }
}

if (import.meta.main) await benchmarkFootprint();
