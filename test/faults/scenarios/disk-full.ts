import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SERVICE } from '../../process/program.ts';
import { openTestStore, settingsOf } from '../../support/database.ts';
import { type Postgres, startPostgres } from '../../support/postgres.ts';
import { type Instance, type Receiver, type Verified, sampleCallback, startInstance, startReceiver } from '../pair.ts';
import { type Problems, createProblems } from '../problems.ts';
import { CALLBACKS, SESSIONS, sessionBody } from '../requests.ts';
import { type FaultReport, type Scenario } from '../scenario.ts';
import { type SmallDisk, mountSmallDisk, whyNoDisk } from '../small-disk.ts';
import { brokenInvariants } from '../../support/sound.ts';

const PLANTED_SERVER = new URL('../servers/planted-early-answer.ts', import.meta.url);
// Room for a log of SQLite that is as long as it gets; and for an empty cluster, twice over.
const SQLITE_MEGABYTES = 128;
const POSTGRES_MEGABYTES = 256;
const LEFT_BYTES = 1 << 20;
const CLIENTS = 8;
// So many writes are refused before the disk is emptied again.
const REFUSALS = 40;
const FULL_PATIENCE_MS = 60_000;
/** A disk that is full must show by then, at least once. */
const SHOW_MS = 5000;
const RECOVERY_MS = 60_000;

export const scenario: Scenario = {
  name: 'disk full and free again',
  cycles: 2,
  planted: 'a store that answers before it has committed',
  plantedCycles: 1,
  unavailable: whyNoDisk,
  run,
};

/** A database on a disk that gets full. */
interface Place {
  disk: SmallDisk;
  url: string;
  postgres?: Postgres;
}

/** What happened, and what was acknowledged. */
interface Journal {
  problems: Problems;
  /** Every key that was sent, and the session that was answered, where one was. */
  keys: Map<string, string | undefined>;
  /** Sessions whose payment was acknowledged. */
  paid: Set<string>;
  refused: number;
  crashes: number;
  restarts: number;
}

/** Of three cycles one fills the disk under SQLite, one under the tables of PostgreSQL, one under its log as well. */
async function run({ cycles, planted }: { cycles: number; planted: boolean }): Promise<FaultReport> {
  const journals: Journal[] = [];
  const entry = planted ? PLANTED_SERVER : SERVICE;
  const onSqlite = Math.ceil(cycles / 3);
  {
    await using disk = mountSmallDisk(SQLITE_MEGABYTES);
    journals.push(await survive({ disk, url: `sqlite:${join(disk.folder, 'full.db')}` }, onSqlite, entry));
  }
  if (cycles > onSqlite) {
    await using disk = mountSmallDisk(POSTGRES_MEGABYTES);
    await using postgres = await startPostgres({ folder: join(disk.folder, 'postgres') });
    const url = postgres.url(await postgres.createDatabase());
    journals.push(await survive({ disk, url, postgres }, cycles - onSqlite, entry));
  }
  const sum = (count: (journal: Journal) => number) => journals.reduce((total, journal) => total + count(journal), 0);
  const acknowledged = sum(({ keys }) => [...keys.values()].filter((id) => id !== undefined).length);
  const load =
    `${acknowledged} sessions, ${sum(({ paid }) => paid.size)} of them paid, ${sum(({ refused }) => refused)} writes ` +
    `refused with 503; PostgreSQL crashed ${sum(({ crashes }) => crashes)} times for want of room for its log, and ` +
    `${sum(({ restarts }) => restarts)} times an operator had to start it again`;
  return { cycles, load, problems: journals.flatMap(({ problems }) => problems.list()) };
}

/** Fills the disk and empties it, `cycles` times, under one process of the service; then compares. */
async function survive(place: Place, cycles: number, entry: URL): Promise<Journal> {
  const journal: Journal = {
    problems: createProblems(),
    keys: new Map(),
    paid: new Set(),
    refused: 0,
    crashes: 0,
    restarts: 0,
  };
  await using receiver = await startReceiver(() => 200);
  const variables = { DATABASE_URL: place.url, ...receiver.variables };
  {
    await using instance = await startInstance(entry, variables);
    for (let cycle = 0; cycle < cycles; cycle++) {
      const fault = await fillUp(place, instance, cycle, journal).catch((error: unknown) => error);
      if (await hasEnded(instance)) {
        journal.problems.add('the process ended');
        break;
      }
      if (fault !== undefined) throw fault;
    }
    await expectDelivered(receiver, journal);
  }
  // What is there must be there for a process that has seen nothing of it, too.
  await using instance = await startInstance(entry, variables);
  await compare(place, instance, journal);
  return journal;
}

async function hasEnded({ process }: Instance): Promise<boolean> {
  // A connection that breaks is noticed before the death that broke it.
  await sleep(100);
  return process.exitCode !== null || process.signalCode !== null;
}

async function fillUp(place: Place, instance: Instance, cycle: number, journal: Journal): Promise<void> {
  const { disk, postgres } = place;
  const logToo = postgres !== undefined && cycle % 2 === 1;
  const before = journal.refused;
  const load = { stopping: false };
  disk.fill(LEFT_BYTES);
  const name = `disk-full-${cycle}`;
  const clients = Array.from({ length: CLIENTS }, (_, client) => drive(instance, `${name}-${client}`, load, journal));
  try {
    const deadline = performance.now() + FULL_PATIENCE_MS;
    let shown = deadline;
    while (journal.refused < before + REFUSALS && performance.now() < (journal.refused > before ? deadline : shown)) {
      if (journal.refused === before && disk.free() < 4096) shown = Math.min(shown, performance.now() + SHOW_MS);
      await sleep(5);
    }
    if (journal.refused < before + REFUSALS)
      journal.problems.add(
        `${name}: the disk was full and ${journal.refused - before} writes were refused, not ${REFUSALS}`,
      );
    if (logToo && (await crash(postgres))) journal.crashes++;
    await expectAlive(instance, !logToo, journal);
    disk.empty();
    if (postgres && (await startIfDown(postgres))) journal.restarts++;
    await expectWrites(instance, name, journal);
  } finally {
    load.stopping = true;
    disk.empty();
    await Promise.all(clients);
  }
}

/** Creates sessions and has them paid, one after the other. */
async function drive(instance: Instance, name: string, load: { stopping: boolean }, journal: Journal): Promise<void> {
  for (let count = 0; !load.stopping; count++) {
    const key = `${name}-${count}`;
    journal.keys.set(key, undefined);
    try {
      const { id } = (await write<{ id: string }>(instance, SESSIONS, sessionBody(key), journal)) ?? {};
      if (id === undefined) continue;
      journal.keys.set(key, id);
      const taken = await write<Verified>(instance, CALLBACKS, sampleCallback(id, 'paid'), journal);
      if (taken?.result.merchantWebhookQueued) journal.paid.add(id);
    } catch (error) {
      journal.problems.add(`${key}: no answer: ${(error as Error).message}`);
      return;
    }
  }
}

/** The answer, undefined where it is that the database cannot be written to now. */
async function write<Body>(
  instance: Instance,
  path: string,
  body: unknown,
  journal: Journal,
): Promise<Body | undefined> {
  const answer = await instance.post<Body & { error?: { code: string } }>(path, body);
  if (answer.status === 200) return answer.body;
  journal.refused++;
  const proper =
    answer.status === 503 && answer.body.error?.code === 'unavailable' && Number(answer.headers['retry-after']) > 0;
  if (!proper) journal.problems.add(`${path} was answered ${answer.status}: ${answer.text}`);
  // As a client does that is told to come back later.
  await sleep(10);
  return undefined;
}

/**
 * Lets PostgreSQL begin the next file of its log, for which there is no room, so that all it can do is to crash. Answers
 * whether it did.
 */
async function crash(postgres: Postgres): Promise<boolean> {
  const crashes = () => postgres.log().split('PANIC:').length;
  const before = crashes();
  for (let attempt = 0; attempt < 5 && crashes() === before; attempt++) {
    await postgres.query('postgres', 'SELECT pg_switch_wal()').catch(() => undefined);
    await sleep(50);
  }
  return crashes() > before;
}

/** Checks that the process runs and reads while its database runs, and that it is ready unless the last write was refused. */
async function expectAlive(instance: Instance, mustRead: boolean, { keys, problems }: Journal): Promise<void> {
  const id = [...keys.values()].find((known) => known !== undefined);
  const health = await instance.get('/healthz');
  if (health.status !== 200) problems.add(`/healthz is ${health.status} with a full disk`);
  for (const path of [`${SESSIONS}/${id}`, `${SESSIONS}?limit=3`, '/readyz']) {
    const { status, text } = await instance.get(path);
    const mayBeAway = !mustRead || path === '/readyz';
    if (status !== 200 && !(mayBeAway && status === 503))
      problems.add(`${path} is ${status} with a full disk: ${text}`);
  }
}

/** Answers whether it had to be started: one that finds no room while it recovers from a crash ends for good. */
async function startIfDown(postgres: Postgres): Promise<boolean> {
  for (let attempt = 0; attempt < 50; attempt++) {
    if (postgres.log().trimEnd().endsWith('database system is shut down')) break;
    const up = await postgres.query('postgres', 'SELECT 1').then(
      () => true,
      () => false,
    );
    if (up) return false;
    await sleep(100);
  }
  await postgres.restart('immediate');
  return true;
}

async function expectWrites(instance: Instance, name: string, journal: Journal): Promise<void> {
  const key = `${name}-after`;
  const deadline = performance.now() + RECOVERY_MS;
  while (performance.now() < deadline) {
    const session = await write<{ id: string }>(instance, SESSIONS, sessionBody(key), journal);
    if (session) return void journal.keys.set(key, session.id);
  }
  journal.problems.add(`${name}: no write was taken when the disk was free again`);
}

async function expectDelivered({ arrived }: Receiver, { paid, problems }: Journal): Promise<void> {
  // What is lost is not waited for.
  const deadline = performance.now() + (problems.list().length > 0 ? 0 : RECOVERY_MS);
  const missing = () => [...paid].filter((id) => !arrived.has(`evt_${id}_paid`));
  while (missing().length > 0 && performance.now() < deadline) await sleep(50);
  for (const id of missing()) problems.add(`${id} was queued and never delivered`);
}

async function compare({ url }: Place, instance: Instance, { keys, paid, problems }: Journal): Promise<void> {
  const settings = settingsOf(url);
  const store = await openTestStore(settings);
  try {
    for (const [key, id] of keys) {
      if (id === undefined) continue;
      const kept = await store.sessionByIdempotencyKey('sandbox', key);
      if (kept?.id !== id) problems.add(`${id} was acknowledged and is lost`);
      else if (paid.has(id) && kept.status !== 'paid') problems.add(`${id} was paid and is ${kept.status}`);
    }
  } finally {
    await store.close();
  }
  // A caller who was refused asks again, with the same key.
  const [refused] = [...keys].findLast(([, id]) => id === undefined) ?? [];
  const again = refused === undefined ? undefined : await instance.post(SESSIONS, sessionBody(refused));
  if (again && again.status !== 200) problems.add(`a refused session was answered ${again.status}: ${again.text}`);
  problems.add(...(await brokenInvariants(settings)));
}
