import { setTimeout as sleep } from 'node:timers/promises';
import {
  type WebhookAttempt,
  type Instance,
  type Receiver,
  type SharedDatabase,
  createSharedDatabase,
  sampleCallback,
  startReceiver,
} from '../instances.ts';
import { CALLBACKS, SESSIONS, sessionBody } from '../requests.ts';
import type { Scenario } from '../scenario.ts';
import { until } from '../../support/until.ts';
import { brokenInvariants } from '../../support/sound.ts';

// Number of deliveries that a new endpoint receives at once.
const SESSIONS_PER_CYCLE = 8;
const SETTLE_MS = 200;

/**
 * Each cycle pauses an instance in the middle of its attempts, waits until a second instance has claimed the deliveries, and
 * resumes the paused instance. In even cycles the merchant answers 200 to the second instance and 500 to the paused one; in
 * odd cycles, 500 to the second and 200 to the paused one.
 */
export const pausedInstance: Scenario = {
  name: 'an instance paused past its lease',
  cycles: 2,
  injected: 'a store that writes the outcome of an overtaken attempt',
  injectedCycles: 1,
  async run({ cycles, injected }) {
    // Statuses of the merchant's responses: `first` to first attempts, which wait for `held`; `second` to all later attempts.
    let merchant = { first: 200, second: 200, held: Promise.resolve() };
    const answer = async ({ number }: WebhookAttempt): Promise<number> => {
      const { first, second, held } = merchant;
      if (number === 1) await held;
      return number === 1 ? first : second;
    };
    await using receiver = await startReceiver(answer);
    await using database = await createSharedDatabase();
    const paused = await database.start(injected ? 'no-fence' : undefined, receiver.variables);
    const problems: string[] = [];
    for (let cycle = 0; cycle < cycles; cycle++) {
      const release = Promise.withResolvers<void>();
      const delivered = cycle % 2 === 0;
      merchant = { first: delivered ? 500 : 200, second: delivered ? 200 : 500, held: release.promise };
      problems.push(...(await overtake(database, receiver, paused, cycle, release.resolve)));
    }
    // The clock of the second instance is ahead, so it counts the sales of a time in which the resumed instance still sells.
    const broken = await brokenInvariants(database.settings);
    problems.push(...broken.filter((line) => !/^invariant (?:sales_sums|search_transactions)/.test(line)));
    return { cycles, load: `${cycles * SESSIONS_PER_CYCLE} attempts overtaken`, problems };
  },
};

/** Lets another instance claim the deliveries of a paused instance. `release` lets the merchant answer first attempts. */
async function overtake(
  database: SharedDatabase,
  receiver: Receiver,
  paused: Instance,
  cycle: number,
  release: () => void,
): Promise<string[]> {
  const { arrived } = receiver;
  const numbers = Array.from({ length: SESSIONS_PER_CYCLE }, (_, number) => number);
  const events = await Promise.all(numbers.map((number) => payOne(paused, `paused-${cycle}-${number}`)));
  await until(() => events.every((id) => arrived.has(id)));
  paused.signal('SIGSTOP');
  try {
    const other = await database.start('later', receiver.variables);
    await until(async () => (await stateOf(database, events)).every(hasEnded));
    await other.kill();
  } finally {
    release();
    // The responses arrive before the instance resumes, as after a real pause.
    await sleep(SETTLE_MS);
  }
  const before = await stateOf(database, events);
  paused.signal('SIGCONT');
  // Any write about these attempts happens before the next event is delivered.
  const sentinel = await payOne(paused, `paused-${cycle}-after`);
  await until(async () => (await stateOf(database, [sentinel])).every(hasEnded));
  await sleep(SETTLE_MS);
  const after = await stateOf(database, events);
  const repeated = events.filter((id) => arrived.get(id) !== 2).map((id) => `${id} was sent ${arrived.get(id)} times`);
  return [...before.flatMap((was, index) => problemsOf(was, after[index]!)), ...repeated];
}

/** Creates a session and reports its payment; returns the id of its event. */
async function payOne(instance: Instance, key: string): Promise<string> {
  const created = await instance.post<{ id: string }>(SESSIONS, sessionBody(key));
  const { status, text } = await instance.post(CALLBACKS, sampleCallback(created.body.id, 'paid'));
  if (status !== 200) throw new Error(`a payment was answered ${status}: ${text}`);
  return `evt_${created.body.id}_paid`;
}

/** A delivery in the database. */
interface State {
  event: string;
  status: string;
  attempts: number;
  due: string;
  /** Finished attempts with their results: `2:200`. */
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

const hasEnded = ({ log }: State) => log !== '';
const describe = ({ status, attempts, log }: State) => `${status} (${attempts} attempts, ${log})`;

/** Problems of a delivery after the paused instance, whose lease another instance has claimed, has continued. */
function problemsOf(before: State, after: State): string[] {
  const problems: string[] = [];
  if (!/^2:(?:200|500)$/.test(before.log) || before.attempts !== 2) {
    problems.push(`${before.event} was not attempted exactly twice: ${before.attempts} attempts, ${before.log}`);
  }
  if (JSON.stringify(after) !== JSON.stringify(before)) {
    problems.push(
      `${before.event} was changed by the overtaken instance: ${describe(before)} became ${describe(after)}`,
    );
  }
  return problems;
}
