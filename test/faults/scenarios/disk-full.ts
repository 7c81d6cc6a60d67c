import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Postgres, startPostgres } from '../../support/postgres.ts';
import { until } from '../../support/until.ts';
import { type Instance, type InstanceRig, startRig } from '../instances.ts';
import { type ClientLoad, concludeRun, startLoad, untilBusy } from '../load.ts';
import { SESSIONS, ask } from '../requests.ts';
import type { FaultReport, Scenario } from '../scenario.ts';
import { type SmallDisk, mountSmallDisk, whyNoDisk } from '../small-disk.ts';

// Room for the longest log of SQLite, and for two empty PostgreSQL clusters.
const SQLITE_MEGABYTES = 128;
const POSTGRES_MEGABYTES = 512;
const LEFT_BYTES = 1 << 20;
const CLIENTS = 8;
/** Number of rejected writes before the disk is emptied again. */
const REJECTIONS = 40;
const FULL_TIMEOUT_MS = 60_000;
/** Time after which a full disk must have caused at least one rejection. */
const SILENCE_MS = 5000;

/** A database on a disk that becomes full. */
interface Place {
  disk: SmallDisk;
  url: string;
  postgres?: Postgres;
}

/** One of three cycles fills the disk of SQLite, and two the disk of PostgreSQL; the second of these crashes PostgreSQL. */
export const diskFull: Scenario = {
  name: 'a disk that becomes full and free again',
  cycles: 2,
  injected: 'a store that answers before it commits',
  injectedCycles: 1,
  unavailable: whyNoDisk,
  async run({ cycles, injected }) {
    const reports: FaultReport[] = [];
    const onSqlite = Math.ceil(cycles / 3);
    {
      await using disk = mountSmallDisk(SQLITE_MEGABYTES);
      reports.push(await survive({ disk, url: `sqlite:${join(disk.folder, 'full.db')}` }, onSqlite, injected));
    }
    if (cycles > onSqlite) {
      await using disk = mountSmallDisk(POSTGRES_MEGABYTES);
      await using postgres = await startPostgres({ folder: join(disk.folder, 'postgres') });
      const url = postgres.url(await postgres.createDatabase());
      reports.push(await survive({ disk, url, postgres }, cycles - onSqlite, injected));
    }
    const load = reports.map((report) => report.load).join('; ');
    return { cycles, load, problems: reports.flatMap(({ problems }) => problems) };
  },
};

/** Fills and empties the disk `cycles` times while the service runs. */
async function survive(place: Place, cycles: number, injected: boolean): Promise<FaultReport> {
  const { disk, url, postgres } = place;
  await using rig = await startRig(url, [url], injected ? 'early-answer' : undefined);
  const load = startLoad(rig, CLIENTS);
  let crashes = 0;
  try {
    for (let cycle = 0; cycle < cycles && load.problems.list().length === 0; cycle++) {
      await untilBusy(rig, load);
      disk.fill(LEFT_BYTES);
      await untilRejected(place, rig, load);
      const isCrashing = postgres !== undefined && cycle % 2 === 1;
      if (isCrashing && (await crash(postgres))) crashes++;
      await expectAlive(rig.instances[0]!, load, !isCrashing);
      disk.empty();
      if (postgres) await startIfDown(postgres);
      await untilBusy(rig, load);
    }
  } finally {
    disk.empty();
  }
  const report = await concludeRun(rig, load, cycles);
  return postgres ? { ...report, load: `${report.load}, PostgreSQL crashed ${crashes} times` } : report;
}

/** Waits until enough writes were rejected. A full disk that rejects nothing is a problem after a few seconds. */
async function untilRejected({ disk }: Place, { instances }: InstanceRig, load: ClientLoad): Promise<void> {
  const before = load.answers(instances[0]!).unavailable;
  const rejected = () => load.answers(instances[0]!).unavailable - before;
  let fullSince = Infinity;
  const isDecided = () => {
    if (disk.free() < 4096) fullSince = Math.min(fullSince, performance.now());
    const isSilent = rejected() === 0 && performance.now() - fullSince > SILENCE_MS;
    return load.problems.list().length > 0 || rejected() >= REJECTIONS || isSilent;
  };
  await until(isDecided, undefined, FULL_TIMEOUT_MS).catch(() => undefined);
  if (rejected() < REJECTIONS) load.problems.add(`the disk was full, and only ${rejected()} writes were rejected`);
}

/** Makes PostgreSQL start the next file of its log without room for it; returns true if PostgreSQL crashed. */
async function crash(postgres: Postgres): Promise<boolean> {
  const crashes = () => postgres.log().split('PANIC:').length;
  const before = crashes();
  for (let attempt = 0; attempt < 5 && crashes() === before; attempt++) {
    await postgres.query('postgres', 'SELECT pg_switch_wal()').catch(() => undefined);
    await sleep(50);
  }
  return crashes() > before;
}

/** Checks that the process responds, and that its reads succeed if `mustRead`. */
async function expectAlive({ url }: Instance, { journal, problems }: ClientLoad, mustRead: boolean): Promise<void> {
  const id = [...journal.keys.values()].find((known) => known !== undefined);
  for (const path of ['/healthz', `${SESSIONS}/${id}`, `${SESSIONS}?limit=3`, '/readyz']) {
    const { status, body } = await ask(url + path);
    const mayBeAway = path === '/readyz' || (path !== '/healthz' && !mustRead);
    if (status !== 200 && !(mayBeAway && status === 503)) {
      problems.add(`${path} is ${status} with a full disk: ${JSON.stringify(body)}`);
    }
  }
}

/** Starts PostgreSQL again if it found no room for its recovery and exited. */
async function startIfDown(postgres: Postgres): Promise<void> {
  for (let attempt = 0; attempt < 50; attempt++) {
    if (postgres.log().trimEnd().endsWith('database system is shut down')) break;
    if (await postgres.query('postgres', 'SELECT 1').catch(() => undefined)) return;
    await sleep(100);
  }
  await postgres.restart('immediate');
}
