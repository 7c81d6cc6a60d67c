import { type ApiAnswer, type Instance, type SharedDatabase, createSharedDatabase } from '../instances.ts';
import { SESSIONS, sessionBody } from '../requests.ts';
import { type Scenario, createProblems } from '../scenario.ts';
import { brokenInvariants } from '../../support/sound.ts';
import { type Refusal } from '../../support/refusal.ts';

const CALLERS_PER_INSTANCE = 32;

type SessionBody = ReturnType<typeof sessionBody>;

/** The request of one caller and its response. */
interface Call {
  sent: SessionBody;
  answer: ApiAnswer<{ id: string } & Refusal>;
}

/** In each cycle, 32 callers at each of two instances send the same new key for a new customer at the same time. */
export const sharedIdempotencyKey: Scenario = {
  name: 'many callers with one idempotency key',
  cycles: 18,
  injected: 'a store that forgets the idempotency key',
  injectedCycles: 3,
  async run({ cycles, injected }) {
    await using database = await createSharedDatabase();
    const fault = injected ? 'forgotten-key' : undefined;
    const instances = await Promise.all([database.start(fault), database.start(fault)]);
    await Promise.all(instances.map((instance) => instance.warmUp()));
    const problems = createProblems();
    const grants = new Map<string, Call>();
    let granted = 0;
    for (let cycle = 0; cycle < cycles; cycle++) {
      const bodies = bodiesOf(cycle);
      const key = bodies[0]!.idempotencyKey;
      const calls = await callAtOnce(instances, bodies);
      problems.add(...problemsOf(key, calls));
      const winners = calls.filter(({ answer }) => answer.status === 200);
      granted += winners.length;
      if (winners[0]) grants.set(key, winners[0]);
    }
    problems.add(...(await problemsStored(database, grants)), ...(await brokenInvariants(database.settings)));
    const refused = cycles * CALLERS_PER_INSTANCE * instances.length - granted;
    const load = `${cycles} keys, ${granted} callers answered with their session, ${refused} refused for another body`;
    return { cycles, load, problems: problems.list() };
  },
};

/** One, two or four bodies with one key: two differ in their amounts, four in their amounts and customers. */
function bodiesOf(cycle: number): SessionBody[] {
  const valid = sessionBody(`idempotency-${cycle}`);
  const count = [1, 2, 4][cycle % 3]!;
  return Array.from({ length: count }, (_, variant) => ({
    ...valid,
    amount: valid.amount + variant,
    customer: count === 4 ? `${variant}-${valid.customer}` : valid.customer,
  }));
}

function callAtOnce(instances: Instance[], bodies: SessionBody[]): Promise<Call[]> {
  const callers = Array.from({ length: CALLERS_PER_INSTANCE }, (_, caller) => caller);
  const calls = callers.flatMap((caller) =>
    instances.map(async (instance, place): Promise<Call> => {
      const sent = bodies[(caller + place) % bodies.length]!;
      return { sent, answer: await instance.post(SESSIONS, sent) };
    }),
  );
  return Promise.all(calls);
}

/** Problems in the responses. */
function problemsOf(key: string, calls: Call[]): string[] {
  const problems: string[] = [];
  const granted = calls.filter(({ answer }) => answer.status === 200);
  const texts = new Set(granted.map(({ answer }) => answer.text));
  if (texts.size !== 1) problems.push(`key ${key} was answered with ${texts.size} different sessions`);
  const winners = new Set(granted.map(({ sent }) => sent));
  if (winners.size > 1) problems.push(`key ${key} was granted to ${winners.size} different bodies`);
  for (const { sent, answer } of calls) {
    const refused = answer.status === 422 && answer.body.error.code === 'idempotency_conflict';
    if (answer.status !== 200 && !refused) problems.push(`key ${key} was answered ${answer.status}: ${answer.text}`);
    if (refused && winners.has(sent)) problems.push(`key ${key} was refused to the body that it belongs to`);
  }
  return problems;
}

/** Problems in the database, which must hold one session and one customer for each key. */
async function problemsStored({ query }: SharedDatabase, grants: Map<string, Call>): Promise<string[]> {
  const sessions = Map.groupBy(
    await query('SELECT id, amount, customer_email, idempotency_key, client_reference_id FROM sessions'),
    (row) => row['client_reference_id'] as string,
  );
  const customers = new Set((await query('SELECT email FROM customers')).map(({ email }) => email));
  const problems: string[] = [];
  for (const [key, { sent, answer }] of grants) {
    const [session, ...more] = sessions.get(key) ?? [];
    if (!session || more.length > 0) problems.push(`key ${key} has ${session ? more.length + 1 : 0} sessions`);
    else if (session['id'] !== answer.body.id)
      problems.push(`key ${key} was answered with a session that is not stored`);
    else if (session['idempotency_key'] !== key) problems.push(`key ${key} is not stored with its session`);
    else if (Number(session['amount']) !== Math.round(sent.amount * 100) || session['customer_email'] !== sent.customer)
      problems.push(`key ${key} was granted to another body than the stored one`);
    if (!customers.delete(sent.customer)) problems.push(`key ${key} has no customer`);
  }
  if (sessions.size !== grants.size)
    problems.push(`${sessions.size} keys have sessions, and ${grants.size} were granted`);
  // A rejected request must not create a customer.
  for (const email of customers) problems.push(`customer ${String(email)} exists without a session`);
  return problems;
}
