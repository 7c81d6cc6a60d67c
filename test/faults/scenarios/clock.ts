import { setTimeout as sleep } from 'node:timers/promises';
import { SERVICE } from '../../process/program.ts';
import { until } from '../../support/until.ts';
import {
  type Attempt,
  type Instance,
  type Verified,
  createSharedDatabase,
  sampleCallback,
  startReceiver,
} from '../pair.ts';
import { type Problems, createProblems } from '../problems.ts';
import { CALLBACKS, SESSIONS, sessionBody } from '../requests.ts';
import { type FaultReport, type Scenario } from '../scenario.ts';
import { brokenInvariants } from '../../support/sound.ts';

const OFFSETS_MS = [10 * 60_000, -10 * 60_000];
const FAULTY_SERVER = new URL('../servers/faulty-local-time.ts', import.meta.url);
const PRELOAD = new URL('../servers/faulty-wrong-clock.ts', import.meta.url);

// Longer than an instance waits before it looks for what others have left.
const HOLD_MS = 1200;
const AT_ONCE = 40;
const DELIVERY_PATIENCE_MS = 60_000;
const TTL_SECONDS = 3;
const TTL_MS = TTL_SECONDS * 1000;
// So long an expiry may take to be noticed: two looks of a worker, on a very busy machine. The clocks are out by far more.
const EXPIRY_PATIENCE_MS = 20_000;
// Times are told in whole seconds, and the database's time was asked over a network.
const CLOSE_MS = 1000;

export const scenario: Scenario = {
  name: 'clocks ten minutes ahead and ten minutes behind',
  cycles: 24,
  injected: 'instances that go by the time of their machine',
  injectedCycles: 8,
  run,
};

interface Session {
  id: string;
  status: string;
  created: string;
}

/** Correct time of the payment report behind each event, by event id. */
type Asked = Map<string, number>;

interface Idle {
  id: string;
  /** Right time: between these two it was created. */
  asked: number;
  answered: number;
}

/**
 * Each cycle is one session created at one instance, paid at the other, and its event delivered by either; and one more
 * session, which is left alone.
 */
async function run({ cycles, injected }: { cycles: number; injected: boolean }): Promise<FaultReport> {
  const problems = createProblems();
  const asked: Asked = new Map();
  await using receiver = await startReceiver((attempt) => take(attempt, asked, problems));
  await using database = await createSharedDatabase();
  const [ahead, behind] = (await Promise.all(
    OFFSETS_MS.map((offset) =>
      database.start(injected ? FAULTY_SERVER : SERVICE, {
        ...receiver.variables,
        SESSION_TTL: String(TTL_SECONDS),
        NODE_OPTIONS: `--import=${PRELOAD.href}`,
        CLOCK_OFFSET_MS: String(offset),
      }),
    ),
  )) as [Instance, Instance];
  let delivered = 0;
  for (let from = 0; from < cycles; from += AT_ONCE) {
    const numbers = Array.from({ length: Math.min(AT_ONCE, cycles - from) }, (_, index) => from + index);
    const pairs = numbers.map((number): [Instance, Instance] => (number % 2 === 0 ? [ahead, behind] : [behind, ahead]));
    const idle = await Promise.all(
      pairs.map(([first], index) => create(first, `clock-idle-${from + index}`, problems)),
    );
    const paid = await Promise.all(
      pairs.map((pair, index) => pay(pair, `clock-paid-${from + index}`, asked, problems)),
    );
    await Promise.all(pairs.map(([, second], index) => expectExpiry(second, idle[index]!, problems)));
    delivered += await countDelivered(paid, receiver.arrived, problems);
  }
  // A delivery that another instance claimed too early arrives twice.
  await sleep(HOLD_MS);
  for (const [eventId, count] of receiver.arrived) if (count > 1) problems.add(`${eventId} was sent ${count} times`);
  problems.add(...(await brokenInvariants(database.settings)));
  return {
    cycles,
    load: `${delivered} events delivered, ${cycles} sessions expired in time`,
    problems: problems.list(),
  };
}

/** The merchant takes its time, and looks at the time of the signature. */
async function take({ eventId, signedAt }: Attempt, asked: Asked, problems: Problems): Promise<number> {
  const signed = signedAt * 1000;
  // Between the request that led to it and now, and in whole seconds.
  const inTime = signed >= (asked.get(eventId) ?? NaN) - CLOSE_MS - 1000 && signed <= Date.now() + CLOSE_MS;
  if (!inTime) problems.add(`${eventId} was signed ${Math.round((signed - Date.now()) / 1000)} s off`);
  await sleep(HOLD_MS);
  return 200;
}

async function create(instance: Instance, key: string, problems: Problems): Promise<Idle> {
  const asked = Date.now();
  const { status, body, text } = await instance.post<Session>(SESSIONS, sessionBody(key));
  const answered = Date.now();
  if (status !== 200) throw new Error(`a session was answered ${status}: ${text}`);
  const created = Date.parse(body.created);
  if (created < asked - CLOSE_MS || created > answered + CLOSE_MS) {
    problems.add(`${body.id} was created at ${body.created}, and not at ${new Date(asked).toISOString()}`);
  }
  return { id: body.id, asked, answered };
}

/** Answers the id of the event. */
async function pay(
  [first, second]: [Instance, Instance],
  key: string,
  asked: Asked,
  problems: Problems,
): Promise<string> {
  const { id } = await create(first, key, problems);
  const eventId = `evt_${id}_paid`;
  asked.set(eventId, Date.now());
  const { status, text } = await second.post<Verified>(CALLBACKS, sampleCallback(id, 'paid'));
  if (status !== 200) problems.add(`${id}: its payment was answered ${status}: ${text}`);
  return eventId;
}

/** A session that is left alone waits for its buyer as long as it was told to, and not much longer. */
async function expectExpiry(instance: Instance, { id, asked, answered }: Idle, problems: Problems): Promise<void> {
  for (;;) {
    const { body } = await instance.get<Session>(`${SESSIONS}/${id}`);
    const seen = Date.now();
    if (body.status === 'expired') {
      // The time of the database is known to within half a round trip.
      if (seen < asked + TTL_MS - CLOSE_MS) problems.add(`${id} expired after ${seen - asked} ms`);
      return;
    }
    if (seen > answered + TTL_MS + EXPIRY_PATIENCE_MS) {
      problems.add(`${id} is ${body.status} after ${seen - answered} ms`);
      return;
    }
    await sleep(100);
  }
}

async function countDelivered(
  events: string[],
  arrived: ReadonlyMap<string, number>,
  problems: Problems,
): Promise<number> {
  await until(() => events.every((id) => arrived.has(id)), undefined, DELIVERY_PATIENCE_MS).catch(() => undefined);
  for (const id of events) if (!arrived.has(id)) problems.add(`${id} was never sent`);
  return events.filter((id) => arrived.has(id)).length;
}
