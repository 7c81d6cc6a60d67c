/* oxlint-disable unicorn/no-thenable -- the word of the rule language */
import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import { ROUTE_KINDS } from '../../src/domain/route.ts';
import type { Payment } from '../../src/domain/records.ts';
import { chooseAnotherWay } from '../../src/operations/leave-payment.ts';
import { saveRules } from '../../src/operations/routing/rules.ts';
import type { Provider } from '../../src/providers/provider.ts';
import { createSandboxProvider } from '../../src/providers/sandbox.ts';
import { INSTRUMENTS } from '../../src/simulator/instruments.ts';
import { signCallback } from '../../src/webhooks/sign.ts';
import { settingsOf, withClient } from '../support/database.ts';
import { type TestService, startTestService } from '../support/service.ts';
import { TEST_DATABASE } from '../support/database.ts';
import { attempt, createSession, start, startAt } from './buyer.ts';
import { brokenInvariants } from '../support/sound.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const SECRET = 'a-secret-of-this-test';

/** What a session taught, payment by payment: `stage result successes/failures/neutrals`. */
async function taught({ databaseUrl }: TestService, sessionId: string): Promise<string[][]> {
  const sql = `SELECT payment_id, stage, result, successes, failures, neutrals FROM route_outcomes
    WHERE payment_id IN (SELECT id FROM payments WHERE session_id = '${sessionId}')
    ORDER BY payment_id, created, CASE stage WHEN 'handoff' THEN 1 WHEN 'result' THEN 2 ELSE 3 END`;
  const rows = await rowsOf(databaseUrl, sql);
  const ofPayments = Map.groupBy(rows, (row) => row['payment_id']);
  return [...ofPayments.values()].map((ofPayment) =>
    ofPayment.map(
      ({ stage, result, successes, failures, neutrals }) =>
        `${String(stage)} ${String(result)} ${String(successes)}/${String(failures)}/${String(neutrals)}`,
    ),
  );
}

async function rowsOf(url: string, sql: string): Promise<Record<string, unknown>[]> {
  if (!url.startsWith('sqlite:')) return withClient(url, async (client) => (await client.query(sql)).rows);
  const database = new DatabaseSync(url.slice('sqlite:'.length), { readOnly: true });
  try {
    return database.prepare(sql).all();
  } finally {
    database.close();
  }
}

const ACCEPTED = 'handoff accepted 0/0/0';
const REFUSED = 'handoff refused 0/2/0';
const PAID = 'result paid 1/0/0';
const FAILED = 'result failed 0/1/0';
const NEUTRAL = 'result neutral 0/0/1';

const BY_INSTRUMENT: Record<string, { laterMs: number; expected: string[] }> = {
  paid: { laterMs: 0, expected: [ACCEPTED, PAID] },
  paid_later: { laterMs: 20 * SECOND, expected: [ACCEPTED, PAID] },
  decline_then_paid: { laterMs: 0, expected: [ACCEPTED, NEUTRAL] },
  declined: { laterMs: 0, expected: [ACCEPTED, NEUTRAL] },
  provider_error: { laterMs: 0, expected: [ACCEPTED, FAILED] },
  // The provider is at work, as far as it says: what never comes of that is its fault.
  abandoned: { laterMs: Number.NaN, expected: [ACCEPTED, FAILED] },
  duplicates: { laterMs: 0, expected: [ACCEPTED, PAID] },
  reordered: { laterMs: 2 * SECOND, expected: [ACCEPTED, PAID] },
  late_success: { laterMs: 30 * SECOND, expected: [ACCEPTED, NEUTRAL, 'late paid 1/0/-1'] },
  wrong_amount: { laterMs: Number.NaN, expected: [ACCEPTED, FAILED] },
  callback_lost: { laterMs: 30 * SECOND, expected: [ACCEPTED, PAID] },
};

/** Until the payment times out, and what comes after. */
async function passTimeout(on: TestService, sessionId: string): Promise<void> {
  const { payments } = (await on.service.deps.store.checkout(sessionId))!;
  await on.pass(payments.at(-1)!.timeoutAt - on.clock.now());
}

/** Signs what the provider is to say with a secret that the test knows. */
function knowSecret(instances: TestService[]): void {
  for (const { service, clock } of instances) {
    const own = service.deps.providers.get('sandbox')!;
    const { readCallback } = createSandboxProvider({ url: '', apiKey: '', callbackSecret: SECRET, now: clock.now });
    // Nor is it asked for so short a time that this process could pause for longer.
    const [cancel, inquire] = [(payment: Payment) => own.cancel(payment), (payment: Payment) => own.inquire(payment)];
    service.deps.providers = new Map<string, Provider>([['sandbox', { ...own, cancel, inquire, readCallback }]]);
  }
}

interface Word {
  event: string;
  state: string;
  reason?: string;
}

/** The provider's signed word on the newest payment of a session, or on the one that is named. */
async function say(on: TestService, sessionId: string, { event, state, reason }: Word, paymentId?: string) {
  const { session, payments } = (await on.service.deps.store.checkout(sessionId))!;
  const charge = paymentId ?? payments.at(-1)!.id;
  const about = { order: sessionId, charge, amount: session.amount, currency: 'USD', transaction: null };
  const body = JSON.stringify({ ...about, event: `${sessionId} ${event}`, type: 'charge.updated', state, reason });
  const signature = signCallback(SECRET, Math.floor(on.clock.now() / 1000), body);
  const headers = { 'content-type': 'application/json', 'x-provider-signature': signature };
  const response = await fetch(`${on.url}/api/providers/sandbox/callbacks`, { method: 'POST', body, headers });
  assert.equal(response.status, 200, await response.text());
}

// What tells the ways to pay apart is no database's.
for (const kind of TEST_DATABASE === 'sqlite' ? ROUTE_KINDS : ROUTE_KINDS.slice(0, 1)) {
  test(`every test outcome teaches by ${kind} what its table says`, async () => {
    await using on = await startTestService();
    assert.deepEqual(Object.keys(BY_INSTRUMENT).toSorted(), INSTRUMENTS.map(({ id }) => id).toSorted());
    for (const [id, { laterMs, expected }] of Object.entries(BY_INSTRUMENT)) {
      const sessionId = await createSession(on);
      await attempt(on, sessionId, kind, id);
      await on.pass(0);
      if (Number.isNaN(laterMs)) await passTimeout(on, sessionId);
      else await on.pass(laterMs);
      assert.deepEqual(await taught(on, sessionId), [expected], id);
    }
    assert.deepEqual(await brokenInvariants(settingsOf(on.databaseUrl)), []);
  });
}

describe("whose fault a provider's reason is", () => {
  const reasons: [reason: string | undefined, expected: string][] = [
    ...['insufficient_funds', 'incorrect_cvc', 'expired_card', 'authentication_failed', 'card_declined'].map(
      (reason): [string, string] => [reason, NEUTRAL],
    ),
    ['issuer_unavailable', NEUTRAL],
    ...['processing_error', 'risk_engine_unavailable', 'merchant_misconfigured'].map((reason): [string, string] => [
      reason,
      FAILED,
    ]),
    ['a_reason_of_next_year', FAILED],
    [undefined, FAILED],
  ];
  test('counts against the route unless it is known to be the buyer or the issuer', async () => {
    await using on = await startTestService();
    knowSecret([on]);
    for (const [reason, expected] of reasons) {
      const sessionId = await createSession(on);
      await startAt(on, sessionId, 'card');
      await say(on, sessionId, { event: 'declined', state: 'DECLINED', ...(reason !== undefined && { reason }) });
      assert.deepEqual(await taught(on, sessionId), [[ACCEPTED, expected]], reason ?? 'no reason');
    }
  });
});

describe('what ends without a word of the provider', () => {
  test('the buyer goes back at the provider: neutral', async () => {
    await using on = await startTestService();
    const sessionId = await createSession(on);
    const page = await startAt(on, sessionId, 'card');
    await fetch(`${page}/cancel`, { method: 'POST', redirect: 'manual', body: new URLSearchParams() });
    await on.pass(0);
    assert.deepEqual(await taught(on, sessionId), [[ACCEPTED, NEUTRAL]]);
  });

  test('the buyer takes another way, and money that comes of the first way all the same takes that back', async () => {
    await using on = await startTestService();
    knowSecret([on]);
    const sessionId = await createSession(on);
    await startAt(on, sessionId, 'card');
    const [first] = (await on.service.deps.store.checkout(sessionId))!.payments;
    await chooseAnotherWay(on.service.deps, sessionId, 1);
    on.clock.advance(SECOND);
    assert.deepEqual(await taught(on, sessionId), [[ACCEPTED, NEUTRAL]]);
    await startAt(on, sessionId, 'wallet');
    on.clock.advance(SECOND);
    await say(on, sessionId, { event: 'captured', state: 'CAPTURED' }, first!.id);
    // The other way is superseded, which is nobody's fault either.
    assert.deepEqual(await taught(on, sessionId), [
      [ACCEPTED, NEUTRAL, 'late paid 1/0/-1'],
      [ACCEPTED, NEUTRAL],
    ]);
  });

  test('a session that nobody opens teaches nothing', async () => {
    await using on = await startTestService();
    const sessionId = await createSession(on);
    await on.pass(25 * 60 * MINUTE);
    assert.deepEqual(await taught(on, sessionId), []);
  });

  test('a payment that times out while the provider waits for the buyer: neutral', async () => {
    await using on = await startTestService();
    const sessionId = await createSession(on);
    await startAt(on, sessionId, 'card');
    await passTimeout(on, sessionId);
    assert.deepEqual(await taught(on, sessionId), [[ACCEPTED, NEUTRAL]]);
  });

  test('a payment that times out while the provider cannot be reached: a failure, and late money undoes it', async () => {
    await using on = await startTestService();
    knowSecret([on]);
    const sessionId = await createSession(on);
    await startAt(on, sessionId, 'card');
    const own = on.service.deps.providers.get('sandbox')!;
    const away = async () => Promise.reject(new Error('the provider is away'));
    on.service.deps.providers = new Map([['sandbox', { ...own, inquire: away, cancel: away }]]);
    await passTimeout(on, sessionId);
    assert.deepEqual(await taught(on, sessionId), [[ACCEPTED, FAILED]]);
    on.clock.advance(SECOND);
    await say(on, sessionId, { event: 'captured', state: 'CAPTURED' });
    assert.deepEqual(await taught(on, sessionId), [[ACCEPTED, FAILED, 'late paid 1/-1/0']]);
  });
});

describe('a handoff that is refused', () => {
  test('counts two, and the next route has its own', async () => {
    await using on = await startTestService();
    const sessionId = await createSession(on, { customer: 'buyer+handoff_error@example.com' });
    await startAt(on, sessionId, 'card');
    assert.deepEqual(new Set(await taught(on, sessionId)), new Set([[REFUSED], [ACCEPTED]]));
  });

  test('counts two on every route that refuses', async () => {
    await using on = await startTestService();
    const sessionId = await createSession(on, { customer: 'buyer+handoff_down@example.com' });
    assert.equal((await start(on, sessionId, 'card')).outcome, 'refused');
    assert.deepEqual(await taught(on, sessionId), [[REFUSED], [REFUSED]]);
  });

  test('is taken back whole by money that comes of it after all', async () => {
    await using on = await startTestService();
    knowSecret([on]);
    const { deps } = on.service;
    const own = deps.providers.get('sandbox')!;
    const lost: Provider = {
      ...own,
      handoff: async () => ({ outcome: 'ambiguous', reason: 'the test says so' }),
      inquire: async () => undefined,
    };
    deps.providers = new Map([['sandbox', lost]]);
    const sessionId = await createSession(on);
    assert.equal((await start(on, sessionId, 'card')).outcome, 'refused');
    const [first] = (await deps.store.checkout(sessionId))!.payments;
    on.clock.advance(SECOND);
    await say(on, sessionId, { event: 'captured', state: 'CAPTURED' }, first!.id);
    assert.deepEqual(new Set(await taught(on, sessionId)), new Set([[REFUSED], [REFUSED, 'late paid 1/-2/0']]));
    assert.deepEqual(await brokenInvariants(settingsOf(on.databaseUrl)), []);
  });
});

describe('once, whatever comes how often and in which order', () => {
  const DECLINED: Word = { event: 'declined', state: 'DECLINED', reason: 'processing_error' };
  const CAPTURED: Word = { event: 'captured', state: 'CAPTURED' };
  const PROCESSING: Word = { event: 'processing', state: 'PROCESSING' };

  test('callbacks in every order, each twice, count what became of the payment', async () => {
    await using on = await startTestService();
    knowSecret([on]);
    const orders = permutations([DECLINED, CAPTURED, PROCESSING]);
    for (const order of orders) {
      const sessionId = await createSession(on);
      await startAt(on, sessionId, 'card');
      for (const word of [...order, ...order]) {
        on.clock.advance(SECOND);
        await say(on, sessionId, word);
      }
      const failedFirst = order.indexOf(DECLINED) < order.indexOf(CAPTURED);
      const expected = failedFirst ? [ACCEPTED, FAILED, 'late paid 1/-1/0'] : [ACCEPTED, PAID];
      assert.deepEqual(await taught(on, sessionId), [expected], order.map(({ event }) => event).join(', '));
    }
    assert.deepEqual(await brokenInvariants(settingsOf(on.databaseUrl)), []);
  });

  test('the same callbacks to two instances at once leave exactly one of each', async (context) => {
    await using one = await startTestService();
    await using other = await startTestService({ beside: one });
    knowSecret([one, other]);
    const ends = { failedFirst: 0, paidFirst: 0 };
    for (let race = 0; race < 40; race++) {
      const sessionId = await createSession(one);
      await startAt(one, sessionId, 'card');
      const words = race % 2 === 0 ? [CAPTURED, CAPTURED] : [DECLINED, CAPTURED, DECLINED, CAPTURED];
      await Promise.all(words.map((word, index) => say([one, other][(index + race) % 2]!, sessionId, word)));
      const [found] = await taught(one, sessionId);
      if (found!.includes(PAID)) {
        ends.paidFirst++;
        assert.deepEqual(found, [ACCEPTED, PAID]);
      } else {
        ends.failedFirst++;
        assert.deepEqual(found, [ACCEPTED, FAILED, 'late paid 1/-1/0']);
      }
    }
    context.diagnostic(`${ends.failedFirst} failed first, ${ends.paidFirst} were paid first`);
    assert.deepEqual(await brokenInvariants(settingsOf(one.databaseUrl)), []);
  });

  test('a commit that comes too late leaves no outcome', async () => {
    await using on = await startTestService();
    const { store } = on.service.deps;
    const sessionId = await createSession(on);
    await startAt(on, sessionId, 'card');
    const { session, payments } = (await store.checkout(sessionId))!;
    const { id: paymentId, environment, route } = payments[0]!;
    const late = { paymentId, environment, routeId: route.id, stage: 'result', result: 'failed' } as const;
    const counts = { successes: 0, failures: 1, neutrals: 0, probe: false, paidAfterMs: null, created: store.now() };
    const result = await store.commit([
      // Somebody else has made this version.
      { type: 'session_changed', session },
      { type: 'outcome_recorded', outcome: { ...late, ...counts } },
    ]);
    assert.deepEqual(result, { done: false, conflict: 'version' });
    assert.deepEqual(await taught(on, sessionId), [[ACCEPTED]]);
  });
});

describe('what it does to the route', () => {
  /** What is expected of the route once ten payments have gone over it that way. */
  async function afterTen(instrument: string): Promise<{ before: number; after: number }> {
    await using on = await startTestService();
    const { deps } = on.service;
    await saveRules(deps, {
      version: 1,
      rules: [{ id: 'one', when: { environment: 'sandbox' }, then: { only: ['sandbox_card_acquirer'] } }],
    });
    const expected = () => deps.router.view('sandbox').routes.get('sandbox_card_acquirer')!.facts.p;
    const before = expected();
    for (let count = 0; count < 10; count++) {
      await attempt(on, await createSession(on), 'card', instrument);
      await on.pass(0);
    }
    await deps.router.refresh();
    return { before, after: expected() };
  }

  test('the expected success rate stays where buyers and issuers decline, and falls where the route fails', async () => {
    const declined = await afterTen('declined');
    assert.equal(declined.after, declined.before);
    const failed = await afterTen('provider_error');
    assert.ok(failed.after < failed.before - 0.1, `${failed.before} became ${failed.after}`);
    const paid = await afterTen('paid');
    assert.ok(paid.after > paid.before, `${paid.before} became ${paid.after}`);
  });
});

function permutations<Item>(items: readonly Item[]): Item[][] {
  if (items.length === 0) return [[]];
  return items.flatMap((item, index) => permutations(items.toSpliced(index, 1)).map((rest) => [item, ...rest]));
}
