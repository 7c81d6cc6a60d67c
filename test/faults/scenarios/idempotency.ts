import { SERVICE } from '../../process/program.ts';
import { type Answer, type Instance, type SharedDatabase, createSharedDatabase } from '../pair.ts';
import { createProblems } from '../problems.ts';
import { SESSIONS } from '../requests.ts';
import { type FaultReport, type Scenario } from '../scenario.ts';
import { brokenInvariants } from '../../support/sound.ts';
import { type Refusal } from '../../support/refusal.ts';

const CALLERS_PER_INSTANCE = 32;
const FAULTY_SERVER = new URL('../servers/faulty-forgotten-key.ts', import.meta.url);

export const scenario: Scenario = {
  name: 'many callers with one idempotency key',
  cycles: 18,
  injected: 'a store that forgets the idempotency key',
  injectedCycles: 3,
  run,
};

interface SessionBody {
  product: string;
  amount: number;
  customer: string;
  idempotencyKey: string;
  clientReferenceId: string;
}

/** The responses for one key. */
interface Outcome {
  key: string;
  /** For each caller, the body it sent and what it was answered. */
  answers: { sent: SessionBody; answer: Answer<{ id: string } & Refusal> }[];
}

/** The session that a key was answered with, and the body that it was granted to. */
interface Grant {
  id: string;
  sent: SessionBody;
}

/** Each cycle is one new key for a customer that nobody knows yet, and 32 callers at each of two instances at once. */
async function run({ cycles, injected }: { cycles: number; injected: boolean }): Promise<FaultReport> {
  await using database = await createSharedDatabase();
  const entry = injected ? FAULTY_SERVER : SERVICE;
  const instances = await Promise.all([database.start(entry), database.start(entry)]);
  await Promise.all(instances.map((instance) => instance.warmUp()));
  const problems = createProblems();
  const grants = new Map<string, Grant>();
  let granted = 0;
  for (let cycle = 0; cycle < cycles; cycle++) {
    const outcome = await callAtOnce(instances, bodiesOf(cycle));
    problems.add(...problemsOf(outcome));
    const winners = outcome.answers.filter(({ answer }) => answer.status === 200);
    granted += winners.length;
    if (winners[0]) grants.set(outcome.key, { id: winners[0].answer.body.id, sent: winners[0].sent });
  }
  problems.add(...(await problemsKept(database, grants)), ...(await brokenInvariants(database.settings)));
  const refused = cycles * CALLERS_PER_INSTANCE * instances.length - granted;
  const load = `${cycles} keys, ${granted} callers answered with their session, ${refused} refused for another body`;
  return { cycles, load, problems: problems.list() };
}

/** One to four bodies with one key: by turns they are equal, differ in their amounts, or in their customers too. */
function bodiesOf(cycle: number): SessionBody[] {
  const key = `idempotency-${cycle}`;
  const count = [1, 2, 4][cycle % 3]!;
  return Array.from({ length: count }, (_, variant) => ({
    product: 'Field guide',
    amount: 49.99 + variant,
    customer: count === 4 ? `${key}-${variant}@example.com` : `${key}@example.com`,
    idempotencyKey: key,
    clientReferenceId: key,
  }));
}

async function callAtOnce(instances: Instance[], bodies: SessionBody[]): Promise<Outcome> {
  const calls = Array.from({ length: CALLERS_PER_INSTANCE }, (_, caller) =>
    instances.map(async (instance, place) => {
      // So that every body is sent to every instance.
      const sent = bodies[(caller + place) % bodies.length]!;
      return { sent, answer: await instance.post<{ id: string } & Refusal>(SESSIONS, sent) };
    }),
  );
  return { key: bodies[0]!.idempotencyKey, answers: await Promise.all(calls.flat()) };
}

/** Problems in the responses. */
function problemsOf({ key, answers }: Outcome): string[] {
  const problems: string[] = [];
  const granted = answers.filter(({ answer }) => answer.status === 200);
  const texts = new Set(granted.map(({ answer }) => answer.text));
  if (texts.size !== 1) problems.push(`key ${key} was answered with ${texts.size} different sessions`);
  const winners = new Set(granted.map(({ sent }) => sent));
  if (winners.size > 1) problems.push(`key ${key} was granted to ${winners.size} different bodies`);
  for (const { sent, answer } of answers) {
    const refused = answer.status === 422 && answer.body.error.code === 'idempotency_conflict';
    if (answer.status !== 200 && !refused) problems.push(`key ${key} was answered ${answer.status}: ${answer.text}`);
    if (refused && winners.has(sent)) problems.push(`key ${key} was refused to a body that it was granted to`);
  }
  return problems;
}

/** Problems in the database, which must hold one session and one customer for each key. */
async function problemsKept({ query }: SharedDatabase, grants: Map<string, Grant>): Promise<string[]> {
  const sessions = Map.groupBy(
    await query('SELECT id, amount, customer_email, idempotency_key, client_reference_id FROM sessions'),
    (row) => row['client_reference_id'] as string,
  );
  const customers = new Set((await query('SELECT email FROM customers')).map(({ email }) => email));
  const problems: string[] = [];
  for (const [key, { id, sent }] of grants) {
    const [session, ...more] = sessions.get(key) ?? [];
    if (!session || more.length > 0) problems.push(`key ${key} has ${session ? more.length + 1 : 0} sessions`);
    else if (session['id'] !== id) problems.push(`key ${key} was answered with a session that is not kept`);
    else if (session['idempotency_key'] !== key) problems.push(`key ${key} is not kept with its session`);
    else if (Number(session['amount']) !== Math.round(sent.amount * 100) || session['customer_email'] !== sent.customer)
      problems.push(`key ${key} was granted to another body than the one that is kept`);
    if (!customers.delete(sent.customer)) problems.push(`key ${key} has no customer`);
  }
  if (sessions.size !== grants.size)
    problems.push(`${sessions.size} keys have sessions, and ${grants.size} were granted`);
  // The rejected callers have left nothing behind.
  for (const email of customers) problems.push(`customer ${String(email)} is there without a session`);
  return problems;
}
