/* oxlint-disable unicorn/no-thenable -- a keyword of the rule language */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { settingsOf } from '../support/database.ts';
import { type TestService, startTestService } from '../support/service.ts';
import {
  OUTCOME,
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
const { accepted: ACCEPTED, paid: PAID, failed: FAILED, neutral: NEUTRAL } = OUTCOME;

/** Moves the clock to the timeout of the payment. */
async function passTimeout(on: TestService, sessionId: string): Promise<void> {
  const { payments } = (await on.service.deps.store.checkout(sessionId))!;
  await on.pass(payments.at(-1)!.timeoutAt - on.clock.now());
}

/** Makes the instances accept callbacks that the test signs with SECRET. */
function acceptTestCallbacks(instances: TestService[]): void {
  for (const on of instances) {
    const simulated = on.service.deps.providers.get('sandbox')!;
    trustSecret(on);
    // These methods omit the short timeouts of the callers, so that a pause of the test process does not time out a request.
    replaceProvider(on, {
      cancel: (payment) => simulated.cancel(payment),
      inquire: (payment) => simulated.inquire(payment),
    });
  }
}

interface Report {
  event: string;
  state: string;
  reason?: string;
}

/** Sends a provider callback about the given payment, by default the newest payment of the session. */
async function sendReport(on: TestService, sessionId: string, { event, state, reason }: Report, paymentId?: string) {
  const { session, payments } = (await on.service.deps.store.checkout(sessionId))!;
  const charge = paymentId ?? payments.at(-1)!.id;
  const about = { order: sessionId, charge, amount: session.amount, transaction: null };
  const callback = { ...about, event: `${sessionId} ${event}`, type: 'charge.updated', state, reason };
  assert.equal((await postCallback(on, callback)).status, 200);
}

describe('the routing outcome of a payment that ends without a provider report', () => {
  test('the routing outcome is neutral if the payment times out while the provider waits for the buyer', async () => {
    await using on = await startTestService();
    const sessionId = await createSession(on);
    await startAt(on, sessionId, 'card');
    await passTimeout(on, sessionId);
    assert.deepEqual(await outcomesOf(on, sessionId), [[ACCEPTED, NEUTRAL]]);
  });

  test('the routing outcome is a failure if the payment times out while the provider is unreachable, and a success after a late capture', async () => {
    await using on = await startTestService();
    acceptTestCallbacks([on]);
    const sessionId = await createSession(on);
    await startAt(on, sessionId, 'card');
    const unreachable = async () => Promise.reject(new Error('the provider is unreachable'));
    replaceProvider(on, { inquire: unreachable, cancel: unreachable });
    await passTimeout(on, sessionId);
    assert.deepEqual(await outcomesOf(on, sessionId), [[ACCEPTED, FAILED]]);
    on.clock.advance(SECOND);
    await sendReport(on, sessionId, { event: 'captured', state: 'CAPTURED' });
    assert.deepEqual(await outcomesOf(on, sessionId), [[ACCEPTED, FAILED, 'late paid 1/-1/0']]);
  });

  test('the end of a payment with an uncertain handoff adds nothing to the failure that the handoff counted', async () => {
    await using on = await startTestService();
    const unreachable = async () => Promise.reject(new Error('the provider is unreachable'));
    const handoff = async () => ({ outcome: 'ambiguous', reason: 'the test says so', isAnswered: false }) as const;
    replaceProvider(on, { handoff, inquire: unreachable, cancel: unreachable });
    const sessionId = await createSession(on);
    await start(on, sessionId, 'card');
    await passTimeout(on, sessionId);
    assert.deepEqual(await outcomesOf(on, sessionId), [['unclear refused 0/2/0', 'end neutral 0/0/0']]);
    assert.deepEqual(await brokenInvariants(settingsOf(on.databaseUrl)), []);
  });
});

describe('repeated and reordered provider reports', () => {
  const DECLINED: Report = { event: 'declined', state: 'DECLINED', reason: 'processing_error' };
  const CAPTURED: Report = { event: 'captured', state: 'CAPTURED' };
  const PROCESSING: Report = { event: 'processing', state: 'PROCESSING' };

  test('repeated and reordered reports count a payment once in the routing outcomes', async () => {
    await using on = await startTestService();
    acceptTestCallbacks([on]);
    const orders = permutations([DECLINED, CAPTURED, PROCESSING]);
    for (const order of orders) {
      const sessionId = await createSession(on);
      await startAt(on, sessionId, 'card');
      for (const report of [...order, ...order]) {
        on.clock.advance(SECOND);
        await sendReport(on, sessionId, report);
      }
      const failedFirst = order.indexOf(DECLINED) < order.indexOf(CAPTURED);
      const expected = failedFirst ? [ACCEPTED, FAILED, 'late paid 1/-1/0'] : [ACCEPTED, PAID];
      assert.deepEqual(await outcomesOf(on, sessionId), [expected], order.map(({ event }) => event).join(', '));
    }
    assert.deepEqual(await brokenInvariants(settingsOf(on.databaseUrl)), []);
  });

  test('reports that two instances receive at the same time leave one routing outcome per stage', async (context) => {
    await using one = await startTestService();
    await using other = await startTestService({ beside: one });
    acceptTestCallbacks([one, other]);
    const races = { failedFirst: 0, paidFirst: 0 };
    for (let race = 0; race < 16; race++) {
      const sessionId = await createSession(one);
      await startAt(one, sessionId, 'card');
      const reports = race % 2 === 0 ? [CAPTURED, CAPTURED] : [DECLINED, CAPTURED, DECLINED, CAPTURED];
      await Promise.all(
        reports.map((report, index) => sendReport([one, other][(index + race) % 2]!, sessionId, report)),
      );
      const [found] = await outcomesOf(one, sessionId);
      if (found!.includes(PAID)) {
        races.paidFirst++;
        assert.deepEqual(found, [ACCEPTED, PAID]);
      } else {
        races.failedFirst++;
        assert.deepEqual(found, [ACCEPTED, FAILED, 'late paid 1/-1/0']);
      }
    }
    context.diagnostic(`${races.failedFirst} failed first, ${races.paidFirst} were paid first`);
    assert.deepEqual(await brokenInvariants(settingsOf(one.databaseUrl)), []);
  });
});

function permutations<Item>(items: readonly Item[]): Item[][] {
  if (items.length === 0) return [[]];
  return items.flatMap((item, index) => permutations(items.toSpliced(index, 1)).map((rest) => [item, ...rest]));
}
