/* oxlint-disable unicorn/no-thenable -- a keyword of the rule language */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { chooseAnotherMethod } from '../../src/operations/leave-payment.ts';
import { saveRules } from '../../src/operations/routing/saved-rules.ts';
import { settingsOf } from '../support/database.ts';
import { type TestService, startTestService } from '../support/service.ts';
import {
  OUTCOME,
  attempt,
  createSession,
  outcomesOf,
  postCallback,
  replaceProvider,
  start,
  startAt,
  trustSecret,
} from './buyer.ts';
import { brokenInvariants } from '../support/sound.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const { accepted: ACCEPTED, refused: REFUSED, paid: PAID, failed: FAILED, neutral: NEUTRAL } = OUTCOME;

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
      assert.deepEqual(await outcomesOf(on, sessionId), [[ACCEPTED, expected]], reason ?? 'no reason');
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
    assert.deepEqual(await outcomesOf(on, sessionId), [[ACCEPTED, NEUTRAL]]);
  });

  test('is neutral if the buyer switches, which late money reverses', async () => {
    await using on = await startTestService();
    speakForProvider([on]);
    const sessionId = await createSession(on);
    await startAt(on, sessionId, 'card');
    const [first] = (await on.service.deps.store.checkout(sessionId))!.payments;
    await chooseAnotherMethod(on.service.deps, sessionId, 1);
    on.clock.advance(SECOND);
    assert.deepEqual(await outcomesOf(on, sessionId), [[ACCEPTED, NEUTRAL]]);
    await startAt(on, sessionId, 'wallet');
    on.clock.advance(SECOND);
    await say(on, sessionId, { event: 'captured', state: 'CAPTURED' }, first!.id);
    // The second payment is superseded, which is neutral too.
    assert.deepEqual(await outcomesOf(on, sessionId), [
      [ACCEPTED, NEUTRAL, 'late paid 1/0/-1'],
      [ACCEPTED, NEUTRAL],
    ]);
  });

  test('does not exist for a session that was never opened', async () => {
    await using on = await startTestService();
    const sessionId = await createSession(on);
    await on.pass(25 * 60 * MINUTE);
    assert.deepEqual(await outcomesOf(on, sessionId), []);
  });

  test('is neutral if it times out while the provider waits for the buyer', async () => {
    await using on = await startTestService();
    const sessionId = await createSession(on);
    await startAt(on, sessionId, 'card');
    await passTimeout(on, sessionId);
    assert.deepEqual(await outcomesOf(on, sessionId), [[ACCEPTED, NEUTRAL]]);
  });

  test('is a failure if it times out while the provider is unreachable, which late money reverses', async () => {
    await using on = await startTestService();
    speakForProvider([on]);
    const sessionId = await createSession(on);
    await startAt(on, sessionId, 'card');
    const away = async () => Promise.reject(new Error('the provider is away'));
    replaceProvider(on, { inquire: away, cancel: away });
    await passTimeout(on, sessionId);
    assert.deepEqual(await outcomesOf(on, sessionId), [[ACCEPTED, FAILED]]);
    on.clock.advance(SECOND);
    await say(on, sessionId, { event: 'captured', state: 'CAPTURED' });
    assert.deepEqual(await outcomesOf(on, sessionId), [[ACCEPTED, FAILED, 'late paid 1/-1/0']]);
  });
});

describe('a refused handoff', () => {
  test('counts as two failures, and the next route has its own outcome', async () => {
    await using on = await startTestService();
    const sessionId = await createSession(on, { customer: 'buyer+handoff_error@example.com' });
    await startAt(on, sessionId, 'card');
    assert.deepEqual(new Set(await outcomesOf(on, sessionId)), new Set([[REFUSED], [ACCEPTED]]));
  });

  test('counts as two failures on every route that refuses', async () => {
    await using on = await startTestService();
    const sessionId = await createSession(on, { customer: 'buyer+handoff_down@example.com' });
    assert.equal((await start(on, sessionId, 'card')).outcome, 'refused');
    assert.deepEqual(await outcomesOf(on, sessionId), [[REFUSED], [REFUSED]]);
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
    assert.deepEqual(new Set(await outcomesOf(on, sessionId)), new Set([[REFUSED], [REFUSED, 'late paid 1/-2/0']]));
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
      assert.deepEqual(await outcomesOf(on, sessionId), [expected], order.map(({ event }) => event).join(', '));
    }
    assert.deepEqual(await brokenInvariants(settingsOf(on.databaseUrl)), []);
  });

  test('leave one outcome of each stage if two instances get them at once', async (context) => {
    await using one = await startTestService();
    await using other = await startTestService({ beside: one });
    speakForProvider([one, other]);
    const ends = { failedFirst: 0, paidFirst: 0 };
    for (let race = 0; race < 16; race++) {
      const sessionId = await createSession(one);
      await startAt(one, sessionId, 'card');
      const reports = race % 2 === 0 ? [CAPTURED, CAPTURED] : [DECLINED, CAPTURED, DECLINED, CAPTURED];
      await Promise.all(reports.map((report, index) => say([one, other][(index + race) % 2]!, sessionId, report)));
      const [found] = await outcomesOf(one, sessionId);
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
    assert.deepEqual(await outcomesOf(on, sessionId), [[ACCEPTED]]);
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
