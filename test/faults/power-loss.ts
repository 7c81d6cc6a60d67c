import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type Loss, createDisk } from './power-disk.ts';
import { type Recording, record } from './power-record.ts';
import type { TraceEvent } from './power-trace.ts';
import { createRandom } from './random.ts';

export interface PowerOptions {
  /** The server file: the service, or one with a fault. */
  entry: URL;
  sessions: number;
  /** Number of moments at which the power is cut; at each, unsynced writes are lost in three ways. */
  cutPoints: number;
  /** Seed of the losses. The run itself differs each time. */
  seed: number;
}

export interface PowerReport {
  /** Answers that promised something: sessions created, and payments taken. */
  acknowledged: number;
  cutPoints: number;
  /** Moments among them at which a checkpoint was half done. */
  inCheckpoints: number;
  checkpoints: number;
  /** Number of times that the log restarted after a checkpoint. */
  logResets: number;
  problems: string[];
}

/** An acknowledgement of the service: from event `at` on, its record must survive any loss of power. */
interface Acknowledgement {
  at: number;
  session: string;
  /** The key under which it was created; undefined where it was paid. */
  key: string | undefined;
}

const LOSSES: Loss[] = ['synced only', 'some unsynced', 'last torn'];
const DATABASE = 'power.db';
const LOG = `${DATABASE}-wal`;
/** A share of the moments lies within checkpoints, at writes to the database itself; the others are answers. */
const CHECKPOINT_SHARE = 0.25;

/**
 * Runs the service on a recorded disk; then, for moments of that run, makes the database as a loss of power would have
 * left it, and looks for everything that had been acknowledged by then.
 */
export async function runPowerLoss({ entry, sessions, cutPoints, seed }: PowerOptions): Promise<PowerReport> {
  const recording = await record(entry, sessions);
  const { events } = recording;
  const acknowledged = acknowledgementsIn(events);
  const inCheckpoints = spread(checkpointWrites(events, acknowledged), Math.floor(cutPoints * CHECKPOINT_SHARE));
  const answers = spread(
    acknowledged.map(({ at }) => at),
    cutPoints - inCheckpoints.length,
  );
  const cuts = [...answers, ...inCheckpoints].toSorted((one, other) => one - other);
  const problems = [
    ...gapsInRecording(recording, acknowledged),
    ...answeredBeforeSync(events, acknowledged),
    ...cutPower(events, acknowledged, cuts, seed),
  ];
  const load = events.slice(acknowledged[0]?.at);
  return {
    acknowledged: acknowledged.length,
    cutPoints: cuts.length,
    inCheckpoints: inCheckpoints.length,
    checkpoints: load.filter((event) => event.kind === 'sync' && event.file === DATABASE).length,
    logResets: load.filter((event) => event.kind === 'write' && event.file === LOG && event.offset === 0).length,
    problems,
  };
}

function acknowledgementsIn(events: TraceEvent[]): Acknowledgement[] {
  return events.flatMap((event, at): Acknowledgement[] => {
    if (event.kind !== 'answer') return [];
    const { object, id, clientReferenceId, result } = JSON.parse(event.body) as {
      object?: string;
      id: string;
      clientReferenceId: string;
      result?: { sessionId: string; merchantWebhookQueued: boolean };
    };
    if (object === 'checkout_session') return [{ at, session: id, key: clientReferenceId }];
    return result?.merchantWebhookQueued ? [{ at, session: result.sessionId, key: undefined }] : [];
  });
}

function checkpointWrites(events: TraceEvent[], acknowledged: Acknowledgement[]): number[] {
  const first = acknowledged[0]?.at ?? Infinity;
  return events.flatMap((event, at) => {
    return event.kind === 'write' && event.file === DATABASE && at > first ? [at + 1] : [];
  });
}

/** All of them, or `count` at even distances, the last one included. */
function spread(moments: number[], count: number): number[] {
  if (moments.length <= count) return moments;
  return Array.from({ length: count }, (_, index) => moments[Math.ceil(((index + 1) * moments.length) / count) - 1]!);
}

/** The recording must reproduce the actual files, and contain all responses. */
function gapsInRecording({ events, files, answered }: Recording, acknowledged: Acknowledgement[]): string[] {
  // Calls that the end interrupted may have been executed or not.
  const settled = events.filter((event) => !('done' in event) || event.done !== Infinity);
  const simulated = [events, settled].map((some) => {
    const disk = createDisk();
    for (const event of some) disk.apply(event);
    return disk.after('whole', createRandom(0, 0));
  });
  const problems: string[] = [];
  for (const name of [DATABASE, LOG]) {
    const real = files.get(name);
    if (!real || !simulated.some((ours) => ours.get(name)?.equals(real)))
      problems.push(`the recording gives another ${name} than there is`);
  }
  if (acknowledged.length !== answered)
    problems.push(`${answered} answers came, ${acknowledged.length} are in the trace`);
  return problems;
}

const WRITTEN = /(?:evt_)?chk_[0-9a-z]{36}(?:_paid)?/g;

/** No answer before the log that has what it says was synced, after that was written: seen without any rebuilding. */
function answeredBeforeSync(events: TraceEvent[], acknowledged: Acknowledgement[]): string[] {
  const writtenBy = new Map<string, number>();
  const syncs: { start: number; end: number }[] = [];
  for (const [at, event] of events.entries()) {
    if (!('file' in event) || event.file !== LOG) continue;
    if (event.kind === 'sync') syncs.push({ start: event.start, end: at });
    if (event.kind !== 'write') continue;
    for (const [id] of event.data.toString('latin1').matchAll(WRITTEN)) {
      if (!writtenBy.has(id)) writtenBy.set(id, event.done);
    }
  }
  const early = acknowledged.filter(({ at, session, key }) => {
    const written = writtenBy.get(key === undefined ? `evt_${session}_paid` : session) ?? Infinity;
    return !syncs.some(({ start, end }) => start >= written && end < at);
  });
  return early.length === 0 ? [] : [`${early.length} of ${acknowledged.length} answers were sent before a sync`];
}

function cutPower(events: TraceEvent[], acknowledged: Acknowledgement[], cuts: number[], seed: number): string[] {
  const problems: string[] = [];
  const folder = mkdtempSync(join(tmpdir(), 'tillway-power-'));
  const disk = createDisk();
  let applied = 0;
  try {
    for (const [index, cut] of cuts.entries()) {
      for (; applied < cut; applied++) disk.apply(events[applied]!);
      const promised = acknowledged.filter(({ at }) => at <= cut);
      for (const [way, loss] of LOSSES.entries()) {
        const files = disk.after(loss, createRandom(seed, index * LOSSES.length + way));
        const copy = mkdtempSync(join(folder, 'cut-'));
        for (const [name, bytes] of files) writeFileSync(join(copy, name), bytes);
        const found = brokenPromises(join(copy, DATABASE), promised);
        const where = `seed ${seed}, cut ${index + 1} of ${cuts.length} (${loss})`;
        problems.push(...found.map((problem) => `${where}: ${problem}`));
        rmSync(copy, { recursive: true });
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return problems;
}

/** Queries for traces of half a transaction: each must find nothing. */
const HALVES = [
  'PRAGMA foreign_key_check',
  'SELECT 1 FROM ledger_entries GROUP BY payment_id, kind HAVING SUM(amount) <> 0',
  'SELECT 1 FROM payments LEFT JOIN invoices ON invoices.payment_id = payments.id WHERE invoices.id IS NULL',
];

/** Opens a database as the service would after the power is back, and compares it with what was promised. */
function brokenPromises(path: string, promised: Acknowledgement[]): string[] {
  try {
    using database = new DatabaseSync(path);
    // Only here: nobody needs the copy tomorrow.
    database.exec('PRAGMA synchronous = OFF');
    const [check] = database.prepare('PRAGMA integrity_check').all();
    if (check?.['integrity_check'] !== 'ok') return [`integrity_check: ${JSON.stringify(check)}`];
    const half = HALVES.find((sql) => database.prepare(sql).all().length > 0);
    if (half !== undefined) return [`half a transaction is there: ${half}`];
    const sessionOf = database.prepare('SELECT status, idempotency_key AS key FROM sessions WHERE id = ?');
    const isEvent = database.prepare('SELECT 1 FROM events WHERE id = ?');
    const broken = promised.filter(({ session, key }) => {
      const row = sessionOf.get(session);
      if (key !== undefined) return row?.['key'] !== key;
      return row?.['status'] !== 'paid' || !isEvent.get(`evt_${session}_paid`);
    });
    if (broken.length === 0) return [];
    const [{ session, key }] = broken as [Acknowledgement];
    const first = `${session} ${key === undefined ? 'paid' : 'created'}`;
    return [`${broken.length} of ${promised.length} acknowledged are lost, the first: ${first}`];
  } catch (error) {
    return [`the database cannot be read: ${(error as Error).message}`];
  }
}
