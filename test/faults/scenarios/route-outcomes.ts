import {
  type Instance,
  type SharedDatabase,
  type CallbackResult,
  createSharedDatabase,
  sampleCallback,
} from '../instances.ts';
import { CALLBACKS, SESSIONS, sessionBody, inLanes } from '../requests.ts';
import { type Scenario, createProblems } from '../scenario.ts';
import { brokenInvariants } from '../../support/sound.ts';

const SESSIONS_PER_CYCLE = 120;
const LANES = 32;
/** Limits for the number of callbacks that are answered before the kill. Each session has two callbacks. */
const FEWEST_ANSWERS = 10;
const MOST_ANSWERS = 180;

// The valid outcomes of a session: paid, or first failed and then paid, which reverses the outcome of the failure.
const ENDINGS = new Set(['result paid 1/0/0', 'result neutral 0/0/1, late paid 1/0/-1']);

/**
 * Each cycle kills one of two instances while both receive callbacks of failed and of paid payments. The provider then repeats all
 * callbacks to the other instance.
 */
export const killedDuringOutcomes: Scenario = {
  name: 'an instance is killed while payments record outcomes of their routes',
  cycles: 2,
  injected: 'an outcome that is written in a later transaction than its payment',
  injectedCycles: 1,
  async run({ cycles, injected }) {
    await using database = await createSharedDatabase();
    const fault = injected ? 'outcome-apart' : undefined;
    const survivor = await database.start(fault);
    await survivor.warmUp();
    const problems = createProblems();
    let unanswered = 0;
    for (let cycle = 0; cycle < cycles; cycle++) {
      const doomed = await database.start(fault);
      await doomed.warmUp();
      const ids = await createSessions(survivor, cycle);
      const last = FEWEST_ANSWERS + Math.floor(Math.random() * (MOST_ANSWERS - FEWEST_ANSWERS));
      let answered = 0;
      let killed: Promise<void> | undefined;
      unanswered += await reportAll(ids, [doomed, survivor], () => {
        if (++answered === last) killed = doomed.kill();
      });
      await killed;
      problems.add(...(await reportAgain(ids, survivor)));
    }
    problems.add(...(await problemsStored(database, cycles)), ...(await brokenInvariants(database.settings)));
    if (unanswered === 0) problems.add('every callback was answered: no kill interrupted a callback');
    const load = `${cycles * SESSIONS_PER_CYCLE} payments, ${unanswered} callbacks without an answer`;
    return { cycles, load, problems: problems.list() };
  },
};

async function createSessions(instance: Instance, cycle: number): Promise<string[]> {
  const ids: string[] = [];
  await inLanes(LANES, Array.from({ length: SESSIONS_PER_CYCLE }).keys(), async (number) => {
    const body = sessionBody(`outcomes-${cycle}-${number}`);
    const answer = await instance.post<{ id: string }>(SESSIONS, body);
    if (answer.status !== 200) throw new Error(`a session was answered ${answer.status}: ${answer.text}`);
    ids.push(answer.body.id);
  });
  return ids;
}

/** Reports failed to one instance and paid to the other, in alternating order; returns the number of lost responses. */
async function reportAll(ids: string[], instances: Instance[], onAnswer: () => void): Promise<number> {
  let lost = 0;
  const report = (id: string, status: 'paid' | 'failed', to: Instance) =>
    to.post<CallbackResult>(CALLBACKS, sampleCallback(id, status)).then(onAnswer, () => lost++);
  await inLanes(LANES, [...ids.entries()], async ([index, id]) => {
    const [first, second] = (index % 2 === 0 ? instances : instances.toReversed()) as [Instance, Instance];
    await Promise.all([report(id, 'failed', first), report(id, 'paid', second)]);
  });
  return lost;
}

async function reportAgain(ids: string[], instance: Instance): Promise<string[]> {
  const problems: string[] = [];
  await inLanes(LANES, ids, async (id) => {
    for (const status of ['failed', 'paid'] as const) {
      const answer = await instance.post<CallbackResult>(CALLBACKS, sampleCallback(id, status));
      if (answer.status !== 200) problems.push(`${id}: a callback was answered ${answer.status}: ${answer.text}`);
    }
  });
  return problems;
}

/** Returns the sessions that are not paid, or whose payment has recorded invalid outcomes of its route. */
async function problemsStored({ query }: SharedDatabase, cycles: number): Promise<string[]> {
  const rows = await query(`
    SELECT session.id, session.status,
      (SELECT STRING_AGG(stage || ' ' || result || ' ' || successes || '/' || failures || '/' || neutrals, ', '
          ORDER BY CASE stage WHEN 'late' THEN 1 ELSE 0 END)
        FROM route_outcomes AS outcome JOIN payments AS payment ON payment.id = outcome.payment_id
        WHERE payment.session_id = session.id) AS outcomes
    FROM sessions AS session`);
  const wrong = rows
    .filter(({ status, outcomes }) => status !== 'paid' || !ENDINGS.has(outcomes as string))
    .map(({ id, status, outcomes }) => `${String(id)} is ${String(status)} with the outcomes ${String(outcomes)}`);
  const expected = cycles * SESSIONS_PER_CYCLE;
  return rows.length === expected
    ? wrong
    : [...wrong, `${rows.length} sessions are stored, and ${expected} were created`];
}
