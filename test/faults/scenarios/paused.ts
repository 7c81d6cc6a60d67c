import { setTimeout as sleep } from 'node:timers/promises';
import { SERVICE } from '../../process/program.ts';
import {
  type Attempt,
  type Instance,
  type Receiver,
  type SharedDatabase,
  createSharedDatabase,
  sampleCallback,
  startReceiver,
} from '../pair.ts';
import { CALLBACKS, SESSIONS, sessionBody } from '../requests.ts';
import { type FaultReport, type Scenario } from '../scenario.ts';
import { until } from '../../support/until.ts';
import { brokenInvariants } from '../../support/sound.ts';

const FAULTY_SERVER = new URL('../servers/faulty-no-fence.ts', import.meta.url);
// Its database time is two minutes later: all leases are over.
const LATER = new URL('../servers/later.ts', import.meta.url);
// As many as an endpoint that has just been met is sent at once.
const SESSIONS_PER_CYCLE = 8;
const SETTLE_MS = 200;

export const scenario: Scenario = {
  name: 'an instance paused past its lease',
  cycles: 2,
  injected: 'a store that writes the outcome of an attempt that was overtaken',
  injectedCycles: 1,
  run,
};

/** Responses of the merchant: to the first attempt of an event after `held`, to all others at once. */
interface Merchant {
  first: number;
  second: number;
  held: Promise<void>;
}

/**
 * Each cycle pauses an instance in the middle of its attempts, lets another take them over, and lets the first go on:
 * by turns the second has delivered and the first is told 500, or the second was told 500 and the first is told 200.
 */
async function run({ cycles, injected }: { cycles: number; injected: boolean }): Promise<FaultReport> {
  const merchant: Merchant = { first: 200, second: 200, held: Promise.resolve() };
  const answer = async ({ number }: Attempt): Promise<number> => {
    const { first, second, held } = merchant;
    if (number > 1) return second;
    await held;
    return first;
  };
  await using receiver = await startReceiver(answer);
  await using database = await createSharedDatabase();
  const paused = await database.start(injected ? FAULTY_SERVER : SERVICE, receiver.variables);
  const problems: string[] = [];
  for (let cycle = 0; cycle < cycles; cycle++) {
    const release = Promise.withResolvers<void>();
    const delivered = cycle % 2 === 0;
    Object.assign(merchant, { first: delivered ? 500 : 200, second: delivered ? 200 : 500, held: release.promise });
    try {
      await overtake({ database, receiver, paused, cycle, release: release.resolve }, problems);
    } finally {
      release.resolve();
    }
  }
  problems.push(...(await brokenInvariants(database.settings)));
  return { cycles, load: `${cycles * SESSIONS_PER_CYCLE} attempts overtaken`, problems };
}

interface Cycle {
  database: SharedDatabase;
  receiver: Receiver;
  paused: Instance;
  cycle: number;
  /** Lets the merchant answer the first attempts. */
  release(): void;
}

async function overtake({ database, receiver, paused, cycle, release }: Cycle, problems: string[]): Promise<void> {
  const { arrived } = receiver;
  const numbers = Array.from({ length: SESSIONS_PER_CYCLE }, (_, number) => number);
  const events = await Promise.all(numbers.map((number) => payOne(paused, `paused-${cycle}-${number}`)));
  await until(() => events.every((id) => arrived.has(id)));
  paused.program.signal('SIGSTOP');
  try {
    const other = await database.start(LATER, receiver.variables);
    await until(async () => (await stateOf(database, events)).every(hasEnded));
    await other.end('SIGKILL');
  } finally {
    release();
    // The answers lie there when it goes on, as they would after a pause.
    await sleep(SETTLE_MS);
  }
  const before = await stateOf(database, events);
  paused.program.signal('SIGCONT');
  // Any write about these attempts happens before the next event is delivered.
  const sentinel = await payOne(paused, `paused-${cycle}-after`);
  await until(async () => (await stateOf(database, [sentinel])).every(hasEnded));
  await sleep(SETTLE_MS);
  const after = await stateOf(database, events);
  for (const [index, was] of before.entries()) problems.push(...problemsOf(was, after[index]!));
  for (const id of events) if (arrived.get(id) !== 2) problems.push(`${id} was sent ${arrived.get(id)} times`);
}

/** Creates a session and has it paid; answers the id of its event. */
async function payOne(instance: Instance, key: string): Promise<string> {
  const created = await instance.post<{ id: string }>(SESSIONS, sessionBody(key));
  const { status, text } = await instance.post(CALLBACKS, sampleCallback(created.body.id, 'paid'));
  if (status !== 200) throw new Error(`a payment was answered ${status}: ${text}`);
  return `evt_${created.body.id}_paid`;
}

/** A delivery as the database has it. */
interface State {
  event: string;
  status: string;
  attempts: number;
  due: string;
  /** Attempts that have ended, and how: `2:200`. */
  log: string;
}

async function stateOf({ query }: SharedDatabase, events: string[]): Promise<State[]> {
  const rows = await query(
    `SELECT event_id AS event, status, attempts::int, due_at || ' ' || schedule_start AS due,
      (SELECT COALESCE(STRING_AGG(number || ':' || COALESCE(status_code::text, failure), ', ' ORDER BY number), '')
        FROM delivery_attempts WHERE delivery_id = delivery.id) AS log
    FROM deliveries AS delivery WHERE event_id = ANY($1) ORDER BY event_id`,
    [events],
  );
  return rows as unknown as State[];
}

function hasEnded({ log }: State): boolean {
  return log !== '';
}

/** Problems of a delivery after the overtaken instance has continued. */
function problemsOf(before: State, after: State): string[] {
  const problems: string[] = [];
  if (!/^2:(?:200|500)$/.test(before.log) || before.attempts !== 2) {
    problems.push(`${before.event} was not taken over once: ${before.attempts} attempts, ${before.log}`);
  }
  if (JSON.stringify(after) !== JSON.stringify(before)) {
    problems.push(`${before.event} was changed by the one overtaken: ${describe(before)} became ${describe(after)}`);
  }
  return problems;
}

function describe({ status, attempts, log }: State): string {
  return `${status} (${attempts} attempts, ${log})`;
}
