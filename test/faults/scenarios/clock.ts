import { setTimeout as sleep } from 'node:timers/promises';
import { brokenInvariants } from '../../support/sound.ts';
import { until } from '../../support/until.ts';
import { type Instance, createSharedDatabase, sampleCallback, startReceiver } from '../instances.ts';
import { CALLBACKS, SESSIONS, inLanes, sessionBody } from '../requests.ts';
import { type RunProblems, type Scenario, createProblems } from '../scenario.ts';

const OFFSETS_MS = [10 * 60_000, -10 * 60_000];
const PRELOAD = new URL('../wrong-clock.ts', import.meta.url);

// Longer than the interval at which an instance looks for the work of other instances.
const HOLD_MS = 1200;
const LANES = 40;
const DELIVERY_PATIENCE_MS = 60_000;
const TTL_SECONDS = 3;
const TTL_MS = TTL_SECONDS * 1000;
// Duration of two polls of a worker on a very busy machine, far less than the ten minutes by which the clocks are wrong.
const EXPIRY_PATIENCE_MS = 20_000;
// Times in responses are whole seconds, and a query for the time of the database takes a round trip.
const TOLERANCE_MS = 1000;

interface Session {
  id: string;
  status: string;
  created: string;
}

/** A session and the correct times before and after its creation. */
interface Created {
  id: string;
  from: number;
  to: number;
}

/**
 * In each cycle, one instance creates a session, the other receives the payment report, and either instance delivers the
 * event. A second session stays unpaid and must expire in time.
 */
export const wrongClocks: Scenario = {
  name: 'clocks ten minutes ahead and ten minutes behind',
  cycles: 24,
  injected: 'instances that use the time of their machine',
  injectedCycles: 8,
  async run({ cycles, injected }) {
    const problems = createProblems();
    /** Correct time of the payment report that caused an event, by event id. */
    const reportTimes = new Map<string, number>();
    await using receiver = await startReceiver(async ({ eventId, signedAt }) => {
      const signed = signedAt * 1000;
      // The signature has whole seconds.
      const earliest = (reportTimes.get(eventId) ?? NaN) - TOLERANCE_MS - 1000;
      const inTime = signed >= earliest && signed <= Date.now() + TOLERANCE_MS;
      if (!inTime) problems.add(`${eventId} was signed ${Math.round((signed - Date.now()) / 1000)} s off`);
      await sleep(HOLD_MS);
      return 200;
    });
    await using database = await createSharedDatabase();
    const instances = await Promise.all(
      OFFSETS_MS.map((offset) =>
        database.start(injected ? 'local-time' : undefined, {
          ...receiver.variables,
          SESSION_TTL: String(TTL_SECONDS),
          NODE_OPTIONS: `--import=${PRELOAD.href}`,
          CLOCK_OFFSET_MS: String(offset),
        }),
      ),
    );
    await inLanes(LANES, Array.from({ length: cycles }).keys(), async (cycle) => {
      const [first, second] = (cycle % 2 === 0 ? instances : instances.toReversed()) as [Instance, Instance];
      const unpaid = await create(first, `clock-unpaid-${cycle}`, problems);
      const { id } = await create(first, `clock-paid-${cycle}`, problems);
      const eventId = `evt_${id}_paid`;
      reportTimes.set(eventId, Date.now());
      const { status, text } = await second.post(CALLBACKS, sampleCallback(id, 'paid'));
      if (status !== 200) problems.add(`${id}: its payment was answered ${status}: ${text}`);
      await expectExpiry(second, unpaid, problems);
      await until(() => receiver.arrived.has(eventId), undefined, DELIVERY_PATIENCE_MS).catch(() =>
        problems.add(`${eventId} was never sent`),
      );
    });
    // A delivery that another instance claimed too early arrives twice.
    await sleep(HOLD_MS);
    for (const [eventId, count] of receiver.arrived) if (count > 1) problems.add(`${eventId} was sent ${count} times`);
    problems.add(...(await brokenInvariants(database.settings)));
    const load = `${receiver.arrived.size} events delivered, ${cycles} sessions expired in time`;
    return { cycles, load, problems: problems.list() };
  },
};

async function create(instance: Instance, key: string, problems: RunProblems): Promise<Created> {
  const from = Date.now();
  const { status, body, text } = await instance.post<Session>(SESSIONS, sessionBody(key));
  const to = Date.now();
  if (status !== 200) throw new Error(`a session was answered ${status}: ${text}`);
  const created = Date.parse(body.created);
  if (created < from - TOLERANCE_MS || created > to + TOLERANCE_MS) {
    problems.add(`${body.id} was created at ${body.created}, and not at ${new Date(from).toISOString()}`);
  }
  return { id: body.id, from, to };
}

/** Checks that an unpaid session expires after its time to live, neither earlier nor much later. */
async function expectExpiry(instance: Instance, { id, from, to }: Created, problems: RunProblems): Promise<void> {
  for (;;) {
    const { body } = await instance.get<Session>(`${SESSIONS}/${id}`);
    const now = Date.now();
    const isExpired = body.status === 'expired';
    if (isExpired && now < from + TTL_MS - TOLERANCE_MS) problems.add(`${id} expired after ${now - from} ms`);
    const isLate = now > to + TTL_MS + EXPIRY_PATIENCE_MS;
    if (isLate && !isExpired) problems.add(`${id} is ${body.status} after ${now - to} ms`);
    if (isExpired || isLate) return;
    await sleep(100);
  }
}
