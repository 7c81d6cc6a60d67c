import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { ROUTE_KINDS } from '../../src/domain/route.ts';
import { INSTRUMENTS } from '../../src/simulator/test-instruments.ts';
import { startTestService } from '../support/service.ts';
import { TEST_DATABASE } from '../support/database.ts';
import { OUTCOME, attempt, createSession, outcomesOf, start, stateOf } from './buyer.ts';
import { assertSound } from '../support/sound.ts';

const SECOND = 1000;
const PENDING = 'payment.provider_pending';

type State = Awaited<ReturnType<typeof stateOf>> & { outcomes: string[][] };

/** Expected state of a session right after the attempt, and at a later time. */
interface Expected {
  atFirst: Partial<State>;
  later?: [afterMs: number | 'timeout', state: Partial<State>];
}

const UNPAID: Partial<State> = {
  session: 'pending',
  payments: ['pending'],
  invoices: ['open'],
  events: [PENDING],
  flagged: 0,
};
const PAID: Partial<State> = {
  session: 'paid',
  payments: ['paid'],
  invoices: ['paid'],
  failures: [null],
  events: [PENDING, 'payment.paid'],
  messages: ['applied'],
  flagged: 0,
  simulated: ['paid'],
  outcomes: [[OUTCOME.accepted, OUTCOME.paid]],
};
const DECLINED: Partial<State> = {
  session: 'pending',
  payments: ['failed'],
  invoices: ['void'],
  failures: ['declined'],
  events: [PENDING],
  messages: ['applied'],
  simulated: ['failed'],
  outcomes: [[OUTCOME.accepted, OUTCOME.failed]],
};
const TIMED_OUT: Partial<State> = {
  session: 'failed',
  payments: ['failed'],
  invoices: ['void'],
  failures: ['timed_out'],
  events: [PENDING, 'payment.failed'],
  simulated: ['cancelled'],
  // The provider accepted the payment form and reported no valid result, which counts as a failure of the route.
  outcomes: [[OUTCOME.accepted, OUTCOME.failed]],
};
const PAID_LATE: Partial<State> = { ...PAID, messages: ['applied', 'applied'] };

const EXPECTED: Record<string, Expected> = {
  paid: { atFirst: PAID },
  paid_later: {
    atFirst: { ...UNPAID, simulated: ['pending'] },
    later: [20 * SECOND, PAID_LATE],
  },
  decline_then_paid: {
    atFirst: { ...DECLINED, failures: ['insufficient_funds'], outcomes: [[OUTCOME.accepted, OUTCOME.neutral]] },
  },
  declined: { atFirst: DECLINED },
  provider_error: { atFirst: { ...DECLINED, failures: ['processing_error'] } },
  abandoned: { atFirst: { ...UNPAID, messages: [] }, later: ['timeout', { ...TIMED_OUT, messages: [] }] },
  duplicates: { atFirst: PAID },
  reordered: { atFirst: PAID, later: [2 * SECOND, { ...PAID, messages: ['applied', 'ignored'] }] },
  late_success: {
    atFirst: DECLINED,
    later: [30 * SECOND, { ...PAID_LATE, outcomes: [[OUTCOME.accepted, OUTCOME.failed, 'late paid 1/-1/0']] }],
  },
  wrong_amount: {
    atFirst: { ...UNPAID, messages: ['amount_mismatch'], flagged: 1 },
    later: ['timeout', { ...TIMED_OUT, failures: ['amount_mismatch'], messages: ['amount_mismatch'], flagged: 1 }],
  },
  callback_lost: { atFirst: { ...UNPAID, messages: [], simulated: ['paid'] }, later: [30 * SECOND, PAID] },
};

const on = await startTestService();
after(() => on[Symbol.asyncDispose]());

// The SQL is the same for all kinds, so PostgreSQL needs one kind only.
for (const kind of TEST_DATABASE === 'sqlite' ? ROUTE_KINDS : ROUTE_KINDS.slice(0, 1)) {
  describe(`test instruments of ${kind} payments`, () => {
    for (const { id } of INSTRUMENTS) {
      test(`${id} leads to its documented states`, async () => {
        const sessionId = await createSession(on);
        await attempt(on, sessionId, kind, id);
        await on.pass(0);
        const { atFirst, later } = EXPECTED[id]!;
        await expectState(sessionId, atFirst);
        if (later) {
          const [after, state] = later;
          await on.pass(after === 'timeout' ? await timeLeft(sessionId) : after);
          await expectState(sessionId, state);
        }
        assert.deepEqual(await on.simulator.callbacksDue(Number.MAX_SAFE_INTEGER, 10), []);
      });
    }

    test('a late success cancels the retry in progress, and all invariants hold after the payments', async () => {
      const sessionId = await createSession(on);
      await attempt(on, sessionId, kind, 'late_success');
      await on.pass(SECOND);
      assert.equal((await start(on, sessionId, kind)).outcome, 'continue');
      await on.pass(30 * SECOND);
      await expectState(sessionId, {
        session: 'paid',
        payments: ['paid', 'failed'],
        invoices: ['paid', 'void'],
        failures: [null, 'superseded'],
        events: [PENDING, 'payment.paid'],
        simulated: ['paid', 'cancelled'],
      });
      await assertSound(on.databaseUrl);
    });
  });
}

async function expectState(sessionId: string, expected: Partial<State>): Promise<void> {
  const state: State = { ...(await stateOf(on, sessionId)), outcomes: await outcomesOf(on, sessionId) };
  const compared = Object.fromEntries(Object.keys(expected).map((key) => [key, state[key as keyof State]]));
  assert.deepEqual(compared, expected);
}

async function timeLeft(sessionId: string): Promise<number> {
  const checkout = await on.service.deps.store.checkout(sessionId);
  return checkout!.payments.at(-1)!.timeoutAt - on.clock.now();
}
