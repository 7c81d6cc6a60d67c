/* oxlint-disable unicorn/no-thenable -- the word of the rule language */
import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import { ROUTE_KINDS } from '../../src/domain/route.ts';
import { chooseAnotherWay } from '../../src/operations/leave-payment.ts';
import { saveRules } from '../../src/operations/routing/rules.ts';
import { INSTRUMENTS } from '../../src/simulator/instruments.ts';
import { brokenInvariants } from '../faults/scenario.ts';
import { settingsOf, withClient } from '../support/database.ts';
import { type TestService, startTestService } from '../support/service.ts';
import { TEST_DATABASE } from '../support/database.ts';
import { attempt, createSession, postCallback, replaceProvider, start, startAt, trustSecret } from './buyer.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;

/** Routing outcomes of a session, payment by payment: `stage result successes/failures/neutrals`. */
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
  // The provider reports that it is processing, so a payment without a result is its fault.
  abandoned: { laterMs: Number.NaN, expected: [ACCEPTED, FAILED] },
  duplicates: { laterMs: 0, expected: [ACCEPTED, PAID] },
  reordered: { laterMs: 2 * SECOND, expected: [ACCEPTED, PAID] },
  late_success: { laterMs: 30 * SECOND, expected: [ACCEPTED, NEUTRAL, 'late paid 1/0/-1'] },
  wrong_amount: { laterMs: Number.NaN, expected: [ACCEPTED, FAILED] },
  callback_lost: { laterMs: 30 * SECOND, expected: [ACCEPTED, PAID] },
};

/** Moves the clock to the timeout of the payment. */
async function passTimeout(on: TestService, sessionId: string): Promise<void> {
  const { payments } = (await on.service.deps.store.checkout(sessionId))!;
  await on.pass(payments.at(-1)!.timeoutAt - on.clock.now());
}

/** Lets the test report for the provider. */
function speakForProvider(instances: TestService[]): void {
  for (const on of instances) {
    const own = on.service.deps.providers.get('sandbox')!;
    trustSecret(on);
    // With long timeouts, so that a pause of this process does not matter.
    replaceProvider(on, { cancel: (payment) => own.cancel(payment), inquire: (payment) => own.inquire(payment) });
  }
}

interface Report {
  event: string;
  state: string;
  reason?: string;
}

/** Reports on the newest payment of a session, or on the given one, as the provider. */
async function say(on: TestService, sessionId: string, { event, state, reason }: Report, paymentId?: string) {
  const { session, payments } = (await on.service.deps.store.checkout(sessionId))!;
  const charge = paymentId ?? payments.at(-1)!.id;
  const about = { order: sessionId, charge, amount: session.amount, transaction: null };
  const callback = { ...about, event: `${sessionId} ${event}`, type: 'charge.updated', state, reason };
  assert.equal((await postCallback(on, callback)).status, 200);
}

// Payment methods do not differ by database.
for (const kind of TEST_DATABASE === 'sqlite' ? ROUTE_KINDS : ROUTE_KINDS.slice(0, 1)) {
  test(`every test outcome by ${kind} has the routing outcomes of the table`, async () => {
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

describe('a decline', () => {
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
  test('counts against the route unless its reason is known to be the buyer’s or the issuer’s', async () => {
    await using on = await startTestService();
    speakForProvider([on]);
    for (const [reason, expected] of reasons) {
      const sessionId = await createSession(on);
      await startAt(on, sessionId, 'card');
      await say(on, sessionId, { event: 'declined', state: 'DECLINED', ...(reason !== undefined && { reason }) });
      assert.deepEqual(await taught(on, sessionId), [[ACCEPTED, expected]], reason ?? 'no reason');
    }
  });
});

describe('a payment that ends without a provider report', () => {
  test('is neutral if the buyer leaves at the provider', async () => {
    await using on = await startTestService();
    const sessionId = await createSession(on);
    const page = await startAt(on, sessionId, 'card');
    await fetch(`${page}/cancel`, { method: 'POST', redirect: 'manual', body: new URLSearchParams() });
    await on.pass(0);
    assert.deepEqual(await taught(on, sessionId), [[ACCEPTED, NEUTRAL]]);
  });

  test('is neutral if the buyer switches, which late money reverses', async () => {
    await using on = await startTestService();
    speakForProvider([on]);
    const sessionId = await createSession(on);
    await startAt(on, sessionId, 'card');
    const [first] = (await on.service.deps.store.checkout(sessionId))!.payments;
    await chooseAnotherWay(on.service.deps, sessionId, 1);
    on.clock.advance(SECOND);
    assert.deepEqual(await taught(on, sessionId), [[ACCEPTED, NEUTRAL]]);
    await startAt(on, sessionId, 'wallet');
    on.clock.advance(SECOND);
    await say(on, sessionId, { event: 'captured', state: 'CAPTURED' }, first!.id);
    // The second payment is superseded, which is neutral too.
    assert.deepEqual(await taught(on, sessionId), [
      [ACCEPTED, NEUTRAL, 'late paid 1/0/-1'],
      [ACCEPTED, NEUTRAL],
    ]);
  });

  test('does not exist for a session that was never opened', async () => {
    await using on = await startTestService();
    const sessionId = await createSession(on);
    await on.pass(25 * 60 * MINUTE);
    assert.deepEqual(await taught(on, sessionId), []);
  });

  test('is neutral if it times out while the provider waits for the buyer', async () => {
    await using on = await startTestService();
    const sessionId = await createSession(on);
    await startAt(on, sessionId, 'card');
    await passTimeout(on, sessionId);
    assert.deepEqual(await taught(on, sessionId), [[ACCEPTED, NEUTRAL]]);
  });

  test('is a failure if it times out while the provider is unreachable, which late money reverses', async () => {
    await using on = await startTestService();
    speakForProvider([on]);
    const sessionId = await createSession(on);
    await startAt(on, sessionId, 'card');
    const away = async () => Promise.reject(new Error('the provider is away'));
    replaceProvider(on, { inquire: away, cancel: away });
    await passTimeout(on, sessionId);
    assert.deepEqual(await taught(on, sessionId), [[ACCEPTED, FAILED]]);
    on.clock.advance(SECOND);
    await say(on, sessionId, { event: 'captured', state: 'CAPTURED' });
    assert.deepEqual(await taught(on, sessionId), [[ACCEPTED, FAILED, 'late paid 1/-1/0']]);
  });
});

describe('a refused handoff', () => {
  test('counts as two failures, and the next route has its own outcome', async () => {
    await using on = await startTestService();
    const sessionId = await createSession(on, { customer: 'buyer+handoff_error@example.com' });
    await startAt(on, sessionId, 'card');
    assert.deepEqual(new Set(await taught(on, sessionId)), new Set([[REFUSED], [ACCEPTED]]));
  });

  test('counts as two failures on every route that refuses', async () => {
    await using on = await startTestService();
    const sessionId = await createSession(on, { customer: 'buyer+handoff_down@example.com' });
    assert.equal((await start(on, sessionId, 'card')).outcome, 'refused');
    assert.deepEqual(await taught(on, sessionId), [[REFUSED], [REFUSED]]);
  });

  test('is reversed completely by late money', async () => {
    await using on = await startTestService();
    speakForProvider([on]);
    const { deps } = on.service;
    replaceProvider(on, {
      handoff: async () => ({ outcome: 'ambiguous', reason: 'the test says so' }),
      inquire: async () => undefined,
    });
    const sessionId = await createSession(on);
    assert.equal((await start(on, sessionId, 'card')).outcome, 'refused');
    const [first] = (await deps.store.checkout(sessionId))!.payments;
    on.clock.advance(SECOND);
    await say(on, sessionId, { event: 'captured', state: 'CAPTURED' }, first!.id);
    assert.deepEqual(new Set(await taught(on, sessionId)), new Set([[REFUSED], [REFUSED, 'late paid 1/-2/0']]));
    assert.deepEqual(await brokenInvariants(settingsOf(on.databaseUrl)), []);
  });
});

describe('repeated and reordered reports', () => {
  const DECLINED: Report = { event: 'declined', state: 'DECLINED', reason: 'processing_error' };
  const CAPTURED: Report = { event: 'captured', state: 'CAPTURED' };
  const PROCESSING: Report = { event: 'processing', state: 'PROCESSING' };

  test('count the outcome of the payment once, in every order and each twice', async () => {
    await using on = await startTestService();
    speakForProvider([on]);
    const orders = permutations([DECLINED, CAPTURED, PROCESSING]);
    for (const order of orders) {
      const sessionId = await createSession(on);
      await startAt(on, sessionId, 'card');
      for (const report of [...order, ...order]) {
        on.clock.advance(SECOND);
        await say(on, sessionId, report);
      }
      const failedFirst = order.indexOf(DECLINED) < order.indexOf(CAPTURED);
      const expected = failedFirst ? [ACCEPTED, FAILED, 'late paid 1/-1/0'] : [ACCEPTED, PAID];
      assert.deepEqual(await taught(on, sessionId), [expected], order.map(({ event }) => event).join(', '));
    }
    assert.deepEqual(await brokenInvariants(settingsOf(on.databaseUrl)), []);
  });

  test('leave one outcome of each stage if two instances get them at once', async (context) => {
    await using one = await startTestService();
    await using other = await startTestService({ beside: one });
    speakForProvider([one, other]);
    const ends = { failedFirst: 0, paidFirst: 0 };
    for (let race = 0; race < 40; race++) {
      const sessionId = await createSession(one);
      await startAt(one, sessionId, 'card');
      const reports = race % 2 === 0 ? [CAPTURED, CAPTURED] : [DECLINED, CAPTURED, DECLINED, CAPTURED];
      await Promise.all(reports.map((report, index) => say([one, other][(index + race) % 2]!, sessionId, report)));
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

  test('leave no outcome if the commit is overtaken', async () => {
    await using on = await startTestService();
    const { store } = on.service.deps;
    const sessionId = await createSession(on);
    await startAt(on, sessionId, 'card');
    const { session, payments } = (await store.checkout(sessionId))!;
    const { id: paymentId, environment, route } = payments[0]!;
    const late = { paymentId, environment, routeId: route.id, stage: 'result', result: 'failed' } as const;
    const counts = { successes: 0, failures: 1, neutrals: 0, probe: false, paidAfterMs: null, created: store.now() };
    const result = await store.commit([
      // Another request has written this version.
      { type: 'session_changed', session },
      { type: 'outcome_recorded', outcome: { ...late, ...counts } },
    ]);
    assert.deepEqual(result, { done: false, conflict: 'version' });
    assert.deepEqual(await taught(on, sessionId), [[ACCEPTED]]);
  });
});

describe('the estimate of a route', () => {
  /** Estimates of the route before and after ten payments with this outcome. */
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

  test('does not change by declines of buyers and issuers, and falls by failures of the route', async () => {
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
