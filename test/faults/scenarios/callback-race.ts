import { randomBytes } from 'node:crypto';
import { MAX_ATTEMPTS } from '../../../src/domain/checkout-state.ts';
import { rejectHandoff, startAttempt } from '../../../src/domain/checkout.ts';
import { outcomesOf } from '../../../src/domain/route-outcome.ts';
import { createIdSource } from '../../../src/domain/id.ts';
import type { Checkout } from '../../../src/domain/records.ts';
import type { Change } from '../../../src/store/store.ts';
import { DAY, aCheckout, aRoute } from '../../fixtures/checkout-records.ts';
import { openTestStore } from '../../support/database.ts';
import {
  type ApiAnswer,
  type Instance,
  type SharedDatabase,
  type CallbackResult,
  createSharedDatabase,
  sampleCallback,
} from '../instances.ts';
import { CALLBACKS, inLanes } from '../requests.ts';
import { type Scenario, createProblems } from '../scenario.ts';
import { brokenInvariants } from '../../support/sound.ts';

// Number of concurrent races: enough to keep both instances busy, so that neither instance is always first.
const LANES = 24;

/**
 * Kinds of races. `fresh`: no payment has started. `last`: the last attempt is in progress, so that a failure ends the
 * session. `twice`: as `last`, and both instances receive the callback with the status paid.
 */
const KINDS = ['fresh', 'last', 'twice'] as const;

interface Race {
  checkout: Checkout;
  kind: (typeof KINDS)[number];
  /** True if the second instance receives the callback with the status paid. */
  swapped: boolean;
}

/** Final state of a session in the database; `messages` are the outcomes of the callbacks: `paid applied`, `failed ignored`. */
type Ending = Record<'status' | 'paid payments' | 'attempts' | 'postings' | 'events' | 'messages', string | number>;

/** In each cycle, one session receives a paid and a failed callback at the same time. */
export const callbackRace: Scenario = {
  name: 'a paid and a failed callback at two instances at once',
  cycles: 192,
  injected: 'a store that overwrites concurrent changes',
  injectedCycles: 64,
  async run({ cycles, injected }) {
    await using database = await createSharedDatabase();
    const fault = injected ? 'last-write' : undefined;
    const instances = await Promise.all([database.start(fault), database.start(fault)]);
    await Promise.all(instances.map((instance) => instance.warmUp()));
    const store = await openTestStore(database.settings);
    const problems = createProblems();
    const races: Race[] = [];
    try {
      await inLanes(LANES, Array.from({ length: cycles }).keys(), async (number) => {
        // Creates the attempt just before its race, because the service asks the provider about attempts that are 30 seconds old.
        const each = raceOf(number);
        races.push(each);
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
      if (ending?.messages === 'failed applied, paid applied') failedFirst++;
    }
    problems.add(...(await brokenInvariants(database.settings)));
    if (cycles >= LANES && (failedFirst === 0 || failedFirst === cycles))
      problems.add('the callbacks always arrived in the same order');
    const load = `${cycles} sessions, ${failedFirst} of them failed first and then paid`;
    return { cycles, load, problems: problems.list() };
  },
};

/** Sends the paid and the failed callbacks of one session. Returns the problems in the responses. */
async function race(instances: Instance[], { checkout, kind, swapped }: Race): Promise<string[]> {
  const { id } = checkout.session;
  const [first, second] = (swapped ? instances.toReversed() : instances) as [Instance, Instance];
  const send = (to: Instance, status: 'paid' | 'failed'): Promise<ApiAnswer<CallbackResult>> =>
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
  const failedFirst = ending.messages === 'failed applied, paid applied';
  const expected: Ending = {
    // A late payment still counts: the session ends as paid in either order.
    status: 'paid',
    'paid payments': 1,
    attempts: kind === 'fresh' ? 1 : MAX_ATTEMPTS,
    postings: 1,
    // A callback of the sample action with the status failed ends the session, even if attempts are left.
    events: failedFirst ? 'payment.failed, payment.paid' : 'payment.paid',
    messages: failedFirst ? 'failed applied, paid applied' : 'failed ignored, paid applied',
  };
  return Object.entries(expected).flatMap(([name, value]) => {
    const actual = ending[name as keyof Ending];
    return actual === value ? [] : [`${checkout.session.id} (${kind}) has ${name} ${actual} and not ${value}`];
  });
}

async function endingsOf({ query }: SharedDatabase): Promise<Map<string, Ending>> {
  const rows = await query(`
    SELECT id, status,
      (SELECT COUNT(*)::int FROM payments WHERE session_id = session.id AND status = 'paid') AS "paid payments",
      (SELECT COUNT(*)::int FROM payments WHERE session_id = session.id) AS attempts,
      (SELECT COUNT(DISTINCT (payment_id, kind))::int FROM ledger_entries
        JOIN payments AS payment ON payment.id = payment_id WHERE payment.session_id = session.id) AS postings,
      (SELECT STRING_AGG(type, ', ' ORDER BY sequence) FROM events WHERE session_id = session.id) AS events,
      (SELECT STRING_AGG(status || ' ' || outcome, ', ' ORDER BY status) FROM provider_messages
        WHERE session_id = session.id) AS messages
    FROM sessions AS session`);
  return new Map(rows.map((row) => [row['id'] as string, row as Ending]));
}

const newId = createIdSource(() => Date.now(), randomBytes);

function raceOf(number: number): Race {
  const kind = KINDS[number % KINDS.length]!;
  const created = Date.now();
  const own = { id: newId('chk'), customerId: newId('cus'), customerEmail: `race-${number}@example.com` };
  const fresh = aCheckout({ ...own, created, expiresAt: created + DAY });
  return { checkout: kind === 'fresh' ? fresh : atLastAttempt(fresh), kind, swapped: number % 2 === 1 };
}

/** The provider has rejected all attempts except the last, which is in progress. */
function atLastAttempt(fresh: Checkout): Checkout {
  let checkout = fresh;
  for (let number = 1; number <= MAX_ATTEMPTS; number++) {
    const paymentId = newId('pay');
    checkout = startAttempt(checkout, { paymentId, invoiceId: newId('inv'), route: aRoute() }, Date.now()).next;
    if (number === MAX_ATTEMPTS) break;
    const rejection = { retry: undefined, mayArrive: false, reason: null };
    checkout = rejectHandoff(checkout, paymentId, rejection, Date.now()).next;
  }
  return checkout;
}

/** The changes that create the records of a checkout. */
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
