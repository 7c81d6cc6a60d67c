import { SERVICE } from '../../process/program.ts';
import { type Instance, type SharedDatabase, type Verified, createSharedDatabase, sampleCallback } from '../pair.ts';
import { inLanes } from '../lanes.ts';
import { createProblems } from '../problems.ts';
import { CALLBACKS, SESSIONS, sessionBody } from '../requests.ts';
import { type FaultReport, type Scenario } from '../scenario.ts';
import { brokenInvariants } from '../../support/sound.ts';

const SESSIONS_PER_CYCLE = 120;
const LANES = 32;
/** Limits for the number of callbacks that are answered before the kill, of two for each session. */
const FEWEST_ANSWERS = 10;
const MOST_ANSWERS = 180;
const FAULTY_SERVER = new URL('../servers/faulty-outcome-apart.ts', import.meta.url);

export const scenario: Scenario = {
  name: 'an instance is killed while payments teach about their routes',
  cycles: 2,
  injected: 'an outcome that is written after its payment, and not with it',
  injectedCycles: 1,
  run,
};

// The valid outcomes of a session: paid, or paid after a failure, which is then reversed.
const ENDINGS = new Set(['result paid 1/0/0', 'result neutral 0/0/1, late paid 1/0/-1']);

/**
 * Each cycle kills one of two instances while both are told of payments, failed and paid at once; the other one is then told
 * all of it again, as a provider does that got no answer.
 */
async function run({ cycles, injected }: { cycles: number; injected: boolean }): Promise<FaultReport> {
  await using database = await createSharedDatabase();
  const entry = injected ? FAULTY_SERVER : SERVICE;
  const survivor = await database.start(entry);
  await survivor.warmUp();
  const problems = createProblems();
  let unanswered = 0;
  for (let cycle = 0; cycle < cycles; cycle++) {
    const doomed = await database.start(entry);
    await doomed.warmUp();
    const ids = await createSessions(survivor, cycle);
    const last = FEWEST_ANSWERS + Math.floor(Math.random() * (MOST_ANSWERS - FEWEST_ANSWERS));
    let answered = 0;
    let killed: Promise<void> | undefined;
    unanswered += await tellAll(ids, [doomed, survivor], () => {
      if (++answered === last) killed = doomed.end('SIGKILL');
    });
    await killed;
    problems.add(...(await tellAgain(ids, survivor)));
  }
  problems.add(...(await problemsKept(database, cycles)), ...(await brokenInvariants(database.settings)));
  if (unanswered === 0) problems.add('every callback was answered: no kill met one');
  const load = `${cycles * SESSIONS_PER_CYCLE} payments, ${unanswered} callbacks without an answer`;
  return { cycles, load, problems: problems.list() };
}

async function createSessions(instance: Instance, cycle: number): Promise<string[]> {
  const ids: string[] = [];
  await inLanes(
    LANES,
    Array.from({ length: SESSIONS_PER_CYCLE }, (_, number) => `outcomes-${cycle}-${number}`),
    async (key) => {
      const { status, text, body } = await instance.post<{ id: string }>(SESSIONS, sessionBody(key));
      if (status !== 200) throw new Error(`a session was answered ${status}: ${text}`);
      ids.push(body.id);
    },
  );
  return ids;
}

/** Says failed to one instance and paid to the other, by turns; answers how many callbacks got no answer. */
async function tellAll(ids: string[], instances: Instance[], onAnswer: () => void): Promise<number> {
  let lost = 0;
  const tell = (id: string, status: 'paid' | 'failed', to: Instance) =>
    to.post<Verified>(CALLBACKS, sampleCallback(id, status)).then(onAnswer, () => lost++);
  await inLanes(LANES, [...ids.entries()], async ([index, id]) => {
    const [first, second] = (index % 2 === 0 ? instances : instances.toReversed()) as [Instance, Instance];
    await Promise.all([tell(id, 'failed', first), tell(id, 'paid', second)]);
  });
  return lost;
}

async function tellAgain(ids: string[], instance: Instance): Promise<string[]> {
  const problems: string[] = [];
  await inLanes(LANES, ids, async (id) => {
    for (const word of ['failed', 'paid'] as const) {
      const { status, text } = await instance.post<Verified>(CALLBACKS, sampleCallback(id, word));
      if (status !== 200) problems.push(`${id}: a callback was answered ${status}: ${text}`);
    }
  });
  return problems;
}

/** Every session is paid, and its one payment has taught what that is worth. */
async function problemsKept({ query }: SharedDatabase, cycles: number): Promise<string[]> {
  const rows = await query(`
    SELECT session.id, session.status,
      (SELECT STRING_AGG(stage || ' ' || result || ' ' || successes || '/' || failures || '/' || neutrals, ', '
          ORDER BY CASE stage WHEN 'late' THEN 1 ELSE 0 END)
        FROM route_outcomes AS outcome JOIN payments AS payment ON payment.id = outcome.payment_id
        WHERE payment.session_id = session.id) AS taught
    FROM sessions AS session`);
  const wrong = rows
    .filter(({ status, taught }) => status !== 'paid' || !ENDINGS.has(taught as string))
    .map(({ id, status, taught }) => `${String(id)} is ${String(status)} and has taught ${String(taught)}`);
  const wanted = cycles * SESSIONS_PER_CYCLE;
  return rows.length === wanted ? wrong : [...wrong, `${rows.length} sessions are kept, and ${wanted} were created`];
}
