import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type PowerLossKind, createSimulatedDisk } from './power-disk.ts';
import { type RecordOptions, type Recording, recordRun } from './power-record.ts';
import type { TraceEvent } from './power-trace.ts';
import { createSeededRandom } from './random.ts';

export interface PowerOptions extends RecordOptions {
  /** Number of moments at which the power is cut, each time with every kind of loss in `LOSSES`. */
  cutPoints: number;
  /** Seed for the random losses. The recorded run of the service differs each time. */
  seed: number;
}

/** An acknowledgement of the service: from event `at` on, its record must survive any power loss. */
interface Acknowledgement {
  at: number;
  session: string;
  /** Idempotency key of a created session; undefined for a payment. */
  key: string | undefined;
}

const LOSSES: PowerLossKind[] = ['synced only', 'some unsynced', 'last torn'];
const DATABASE = 'power.db';
const LOG = `${DATABASE}-wal`;
/** Share of the cuts within checkpoints, at writes to the database file. The other cuts are at responses. */
const CHECKPOINT_SHARE = 0.25;

/**
 * Runs the service on a recorded disk. For many moments of that run, restores the database as a power loss would have left it,
 * and looks for every record that the service had acknowledged before.
 */
export async function runPowerLoss({ cutPoints, seed, ...options }: PowerOptions) {
  const recording = await recordRun(options);
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
    /** Number of cuts in the middle of a checkpoint. */
    inCheckpoints: inCheckpoints.length,
    /** Number of times that the log restarted after a checkpoint. */
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

/** Selects `count` moments at even distances, including the last one. Returns all moments if there are fewer. */
function spread(moments: number[], count: number): number[] {
  if (moments.length <= count) return moments;
  return Array.from({ length: count }, (_, index) => moments[Math.ceil(((index + 1) * moments.length) / count) - 1]!);
}

/** Checks that the recording reproduces the actual files and contains all responses. */
function gapsInRecording({ events, files, answered }: Recording, acknowledged: Acknowledgement[]): string[] {
  // The end of the run may have interrupted a call before or after its execution.
  const settled = events.filter((event) => !('done' in event) || event.done !== Infinity);
  const simulated = [events, settled].map((some) => {
    const disk = createSimulatedDisk();
    for (const event of some) disk.apply(event);
    return disk.after('whole', createSeededRandom(0, 0));
  });
  const problems: string[] = [];
  for (const name of [DATABASE, LOG]) {
    const real = files.get(name);
    if (!real || !simulated.some((ours) => ours.get(name)?.equals(real)))
      problems.push(`the recording does not reproduce ${name}`);
  }
  if (acknowledged.length !== answered)
    problems.push(`${answered} responses arrived, ${acknowledged.length} are in the trace`);
  return problems;
}

const WRITTEN = /(?:evt_)?chk_[0-9a-z]{36}(?:_paid)?/g;

/** Finds responses that were sent before a sync of the log that contains their records. */
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
  const disk = createSimulatedDisk();
  let applied = 0;
  try {
    for (const [index, cut] of cuts.entries()) {
      for (; applied < cut; applied++) disk.apply(events[applied]!);
      const promised = acknowledged.filter(({ at }) => at <= cut);
      for (const [way, loss] of LOSSES.entries()) {
        const files = disk.after(loss, createSeededRandom(seed, index * LOSSES.length + way));
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

/** Queries that find rows only if the database contains a part of a transaction. */
const PARTIAL_TRANSACTIONS = [
  'PRAGMA foreign_key_check',
  'SELECT 1 FROM ledger_entries GROUP BY payment_id, kind HAVING SUM(amount) <> 0',
  'SELECT 1 FROM payments LEFT JOIN invoices ON invoices.payment_id = payments.id WHERE invoices.id IS NULL',
];

/** Opens a database as the service would after a power loss, and compares it with the acknowledged records. */
function brokenPromises(path: string, promised: Acknowledgement[]): string[] {
  try {
    using database = new DatabaseSync(path);
    // The copy needs no syncs, because it is deleted after the check.
    database.exec('PRAGMA synchronous = OFF');
    const [check] = database.prepare('PRAGMA integrity_check').all();
    if (check?.['integrity_check'] !== 'ok') return [`integrity_check: ${JSON.stringify(check)}`];
    const partial = PARTIAL_TRANSACTIONS.find((sql) => database.prepare(sql).all().length > 0);
    if (partial !== undefined) return [`a partial transaction was stored: ${partial}`];
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
