import { randomBytes } from 'node:crypto';
import { type Decision, type NewAttempt, newSession } from '../../../src/domain/checkout-state.ts';
import { MAX_ATTEMPTS, rejectHandoff, startAttempt } from '../../../src/domain/checkout.ts';
import { outcomesOf } from '../../../src/domain/route-outcome.ts';
import { createIdSource } from '../../../src/domain/id.ts';
import type { Checkout } from '../../../src/domain/records.ts';
import type { Change } from '../../../src/store/store.ts';
import { aRoute } from '../../fixtures/checkout-records.ts';
import { SERVICE } from '../../process/program.ts';
import { openTestStore } from '../../support/database.ts';
import {
  type Answer,
  type Instance,
  type SharedDatabase,
  type Verified,
  createSharedDatabase,
  sampleCallback,
} from '../pair.ts';
import { inLanes } from '../lanes.ts';
import { createProblems } from '../problems.ts';
import { CALLBACKS } from '../requests.ts';
import { type FaultReport, type Scenario } from '../scenario.ts';
import { brokenInvariants } from '../../support/sound.ts';

// So many sessions race at once, each when it is ready: the instances are busy, and neither is always the first.
const LANES = 24;
const DAY_MS = 24 * 60 * 60_000;
const FAULTY_SERVER = new URL('../servers/faulty-last-write.ts', import.meta.url);

export const scenario: Scenario = {
  name: 'paid to one instance and failed to the other at once',
  cycles: 192,
  injected: 'a store that writes over what others have written meanwhile',
  injectedCycles: 64,
  run,
};

/**
 * Kinds of races. `fresh`: no payment has started. `last`: it is the last attempt, so that a failure ends the
 * session. `twice`: the same, and the one callback that says paid comes to both instances.
 */
const KINDS = ['fresh', 'last', 'twice'] as const;

interface Race {
  checkout: Checkout;
  kind: (typeof KINDS)[number];
  /** True if paid goes to the second instance. */
  swapped: boolean;
}

/** Final state of a session in the database. */
interface Ending {
  status: string;
  paid: number;
  attempts: number;
  postings: number;
  events: string;
  /** Outcomes of the callbacks: `paid applied`, `failed ignored`. */
  messages: string;
}

/** Each cycle is one session with both callbacks at once. */
async function run({ cycles, injected }: { cycles: number; injected: boolean }): Promise<FaultReport> {
  await using database = await createSharedDatabase();
  const entry = injected ? FAULTY_SERVER : SERVICE;
  const instances = await Promise.all([database.start(entry), database.start(entry)]);
  await Promise.all(instances.map((instance) => instance.warmUp()));
  const store = await openTestStore(database.settings);
  const problems = createProblems();
  const races: Race[] = [];
  try {
    races.push(...Array.from({ length: cycles }, (_, number) => raceOf(number)));
    await inLanes(LANES, races, async (each) => {
      await store.commit(creationOf(each.checkout));
      problems.add(...(await race(instances, each)));
    });
  } finally {
    await store.close();
  }
  const endings = await endingsOf(database);
  let failedFirst = 0;
  for (const each of races) {
    const ending = endings.get(each.checkout.session.id);
    problems.add(...(ending ? problemsOf(each, ending) : [`${each.checkout.session.id} is lost`]));
    if (ending?.messages.includes('failed applied')) failedFirst++;
  }
  problems.add(...(await brokenInvariants(database.settings)));
  if (cycles >= LANES && (failedFirst === 0 || failedFirst === cycles)) problems.add('nothing raced');
  return {
    cycles,
    load: `${cycles} sessions, ${failedFirst} of them failed first and then paid`,
    problems: problems.list(),
  };
}

/** Sends both callbacks of one session; answers what is wrong with how they were taken. */
async function race(instances: Instance[], { checkout, kind, swapped }: Race): Promise<string[]> {
  const { id } = checkout.session;
  const [first, second] = (swapped ? instances.toReversed() : instances) as [Instance, Instance];
  const send = (to: Instance, status: 'paid' | 'failed'): Promise<Answer<Verified>> =>
    to.post(CALLBACKS, sampleCallback(id, status));
  const paid = [send(first, 'paid'), ...(kind === 'twice' ? [send(second, 'paid')] : [])];
  const answers = await Promise.all([send(second, 'failed'), ...paid]);
  const problems = answers
    .filter(({ status }) => status !== 200)
    .map(({ status, text }) => `${id} (${kind}): a callback was answered ${status}: ${text}`);
  if (problems.length > 0) return problems;
  const announced = answers.slice(1).filter(({ body }) => body.result.merchantWebhookQueued).length;
  return announced === 1 ? [] : [`${id} (${kind}): the payment was announced ${announced} times`];
}

function problemsOf({ checkout, kind }: Race, ending: Ending): string[] {
  const { id } = checkout.session;
  const { status, paid, attempts, postings, events, messages } = ending;
  const failedFirst = messages === 'failed applied, paid applied';
  const wanted = {
    // Money that comes late still comes: whichever was first, it ends as paid.
    status: 'paid',
    'paid payments': 1,
    attempts: kind === 'fresh' ? 1 : MAX_ATTEMPTS,
    postings: 1,
    // A failed sample ends its session, with attempts left too.
    events: failedFirst ? 'payment.failed, payment.paid' : 'payment.paid',
    messages: failedFirst ? messages : 'failed ignored, paid applied',
  };
  const found = { status, 'paid payments': paid, attempts, postings, events, messages };
  return Object.entries(wanted).flatMap(([name, value]) => {
    const actual = found[name as keyof typeof found];
    return actual === value ? [] : [`${id} (${kind}) has ${name} ${actual} and not ${value}`];
  });
}

async function endingsOf({ query }: SharedDatabase): Promise<Map<string, Ending>> {
  const rows = await query(`
    SELECT id, status,
      (SELECT COUNT(*)::int FROM payments WHERE session_id = session.id AND status = 'paid') AS paid,
      (SELECT COUNT(*)::int FROM payments WHERE session_id = session.id) AS attempts,
      (SELECT COUNT(DISTINCT (payment_id, kind))::int FROM ledger_entries
        JOIN payments AS payment ON payment.id = payment_id WHERE payment.session_id = session.id) AS postings,
      (SELECT STRING_AGG(type, ', ' ORDER BY sequence) FROM events WHERE session_id = session.id) AS events,
      (SELECT STRING_AGG(status || ' ' || outcome, ', ' ORDER BY status) FROM provider_messages
        WHERE session_id = session.id) AS messages
    FROM sessions AS session`);
  return new Map(rows.map((row) => [row['id'] as string, row as unknown as Ending]));
}

const newId = createIdSource(() => Date.now(), randomBytes);

function raceOf(number: number): Race {
  const kind = KINDS[number % KINDS.length]!;
  const fresh = freshCheckout(number);
  return { checkout: kind === 'fresh' ? fresh : atLastAttempt(fresh), kind, swapped: number % 2 === 1 };
}

function freshCheckout(number: number): Checkout {
  const created = Date.now();
  const session = newSession({
    id: newId('chk'),
    environment: 'sandbox',
    product: 'Field guide',
    amount: 4999,
    customerId: newId('cus'),
    customerEmail: `race-${number}@example.com`,
    preferredRoute: null,
    redirectUrl: null,
    metadata: {},
    clientReferenceId: null,
    idempotencyKey: null,
    requestHash: null,
    offerJson: '{}',
    created,
    expiresAt: created + DAY_MS,
  });
  return { session, payments: [], invoices: [], discrepancies: [] };
}

/** All attempts but the last were refused by the provider, and the last is in progress. */
function atLastAttempt(fresh: Checkout): Checkout {
  let checkout = fresh;
  const take = ({ next }: Decision<string>): Checkout => next;
  for (let number = 1; number <= MAX_ATTEMPTS; number++) {
    const attempt: NewAttempt = { paymentId: newId('pay'), invoiceId: newId('inv'), route: aRoute() };
    checkout = take(startAttempt(checkout, attempt, Date.now()));
    if (number === MAX_ATTEMPTS) break;
    checkout = take(
      rejectHandoff(checkout, attempt.paymentId, { retry: undefined, mayArrive: false, reason: null }, Date.now()),
    );
  }
  return checkout;
}

/** The change set that creates it. */
function creationOf(checkout: Checkout): Change[] {
  const { session, payments, invoices } = checkout;
  const taught = outcomesOf({ session, payments: [], invoices: [], discrepancies: [] }, checkout, session.created);
  const { customerId: id, customerEmail: email, environment, created } = session;
  return [
    { type: 'customer_created', customer: { id, environment, email, status: 'active', statusReason: null, created } },
    { type: 'session_created', session },
    ...payments.map((payment): Change => ({ type: 'payment_created', payment })),
    ...invoices.map((invoice): Change => ({ type: 'invoice_created', invoice })),
    ...taught.map((outcome): Change => ({ type: 'outcome_recorded', outcome })),
  ];
}
