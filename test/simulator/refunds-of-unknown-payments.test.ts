import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { Provider } from '../../src/providers/provider.ts';
import { SAMPLE_PROVIDER_SECRET } from '../../src/operations/webhook-samples.ts';
import { signCallback } from '../../src/webhooks/sign.ts';
import { call, startTestService } from '../support/service.ts';
import { runIn } from '../cli/terminal.ts';
import { attempt, createSession, startAt } from './buyer.ts';
import { reportRefund } from '../fixtures/provider-reports.ts';

const SECOND = 1000;
const REASON = 'the provider does not know this payment';

interface Refund {
  id: string;
  status: string;
  failureReason: string | null;
}

const accountAndAmount = ({ account, amount }: { account: string; amount: number }): [string, number] => [
  account,
  amount,
];

const on = await startTestService();
let samples = 0;
after(() => on[Symbol.asyncDispose]());

const url = (path: string) => `${on.url}/api/gateway${path}`;
const refundOf = async (id: string) => (await call<Refund>('GET', url(`/refunds/${id}`))).body;

async function requestRefund(id: string, amount?: number): Promise<string> {
  const { status, body } = await call<Refund>('POST', url(`/payments/${id}/refunds`), { amount });
  assert.equal(status, 200);
  return body.id;
}

/** Marks a session as paid with the agent action webhook.verify_sample. */
async function markPaidBySample(sessionId: string): Promise<void> {
  const payload = { eventId: `sample_${++samples}`, sessionId, status: 'paid', amount: 49.99 };
  const signature = signCallback(SAMPLE_PROVIDER_SECRET, 1_700_000_000, JSON.stringify(payload));
  const body = { provider: 'sandbox', payload, signature };
  const { status } = await call('POST', `${on.url}/api/agent/actions/webhook.verify_sample`, body);
  assert.equal(status, 200);
}

/** Moves the clock forward in steps of a quarter of an hour. */
async function wait(hours: number): Promise<void> {
  for (let minute = 0; minute < hours * 60; minute += 15) await on.pass(900 * SECOND);
}

describe('a payment that webhook.verify_sample marked as paid', () => {
  const cases: [name: string, prepare: (sessionId: string) => Promise<unknown>][] = [
    ['before the buyer started to pay', async () => undefined],
    ["while the buyer is at the provider's page", (id) => startAt(on, id, 'card')],
    ['after a decline', (id) => attempt(on, id, 'card', 'declined')],
    ['while it is processing', (id) => attempt(on, id, 'wallet', 'paid_later')],
  ];
  for (const [name, prepare] of cases) {
    test(`a payment that webhook.verify_sample marked as paid ${name} is refunded like any other payment`, async () => {
      const sessionId = await createSession(on);
      await prepare(sessionId);
      await on.pass(0);
      await markPaidBySample(sessionId);
      const part = await requestRefund(sessionId, 10);
      const rest = await requestRefund(sessionId);
      await on.pass(5 * SECOND);
      for (const id of [part, rest]) assert.equal((await refundOf(id)).status, 'succeeded');
      const failing = await createSession(on);
      await markPaidBySample(failing);
      const failed = await requestRefund(failing, 10.02);
      await on.pass(5 * SECOND);
      assert.equal((await refundOf(failed)).status, 'failed', 'the cents of the amount select the outcome');
      assert.equal(await on.service.deps.store.ledgerTotal(), 0);
    });
  }
});

describe('a provider that does not know the payment of a refund', () => {
  const KNOWS_NO_PAYMENT = {
    refund: async () => 'unknown' as const,
    inquireRefund: async () => undefined,
    inquire: async () => 'unknown' as const,
  };

  /** Requests a refund of 10.00 of a payment of 49.99; `provider` replaces methods of the simulated provider. */
  async function refundAt(
    provider: Partial<Provider>,
    use: (refundId: string, sessionId: string, lines: () => Record<string, unknown>[]) => Promise<void>,
  ): Promise<void> {
    const sessionId = await createSession(on);
    await attempt(on, sessionId, 'card', 'paid');
    await on.pass(0);
    const known = on.service.deps.providers.get('sandbox')!;
    on.service.deps.providers = new Map([['sandbox', { ...known, ...provider }]]);
    try {
      const id = await requestRefund(sessionId, 10);
      const lines = () =>
        on.logged.map((line) => JSON.parse(line) as Record<string, unknown>).filter(({ refundId }) => refundId === id);
      await use(id, sessionId, lines);
    } finally {
      on.service.deps.providers = new Map([['sandbox', known]]);
    }
  }

  test('a refund of an unknown payment fails after an hour: its posting is reversed, and API and command line show the reason', async () => {
    await refundAt(KNOWS_NO_PAYMENT, async (id, sessionId, lines) => {
      const { store } = on.service.deps;
      await wait(0.5);
      assert.equal((await refundOf(id)).status, 'pending');
      await wait(1.5);
      assert.partialDeepStrictEqual(await refundOf(id), { status: 'failed', failureReason: REASON });
      assert.match((await runIn(on, 'refunds', 'get', id)).stdout, new RegExp(`Failure reason +${REASON}`));

      const payment = (await store.checkout(sessionId))!.payments[0]!;
      assert.deepEqual([payment.refunded, payment.refundPending], [0, 0]);
      const entries = await store.ledgerOfPayment(payment.id);
      const ofKind = (kind: string) => entries.filter((entry) => entry.kind === kind).map(accountAndAmount);
      assert.equal(ofKind('refund').length, 3);
      const reversed = ofKind('refund_failed').map(([account, amount]) => [account, -amount]);
      assert.deepEqual(reversed, ofKind('refund'));
      assert.equal(await store.ledgerTotal(), 0);

      const warnings = lines().filter(({ level }) => level === 40);
      assert.ok(warnings.length > 3);
      assert.equal(
        lines().some((line) => 'err' in line || JSON.stringify(line).includes('    at ')),
        false,
      );
      assert.equal(
        new Set(warnings.map(({ attempts }) => attempts)).size,
        warnings.length,
        'one line for each attempt',
      );
      await wait(2);
      assert.equal(
        lines().filter(({ level }) => level === 40).length,
        warnings.length,
        'the provider gets no more requests',
      );
      await requestRefund(sessionId, 49.99);
    });
  });

  test('a failed refund that the provider later reports as paid out stays failed and causes an error in the log', async () => {
    await refundAt(KNOWS_NO_PAYMENT, async (id, sessionId, lines) => {
      await wait(2);
      assert.equal(await reportRefund(on.service.deps, { id, sessionId, amount: 1000 }, 'succeeded'), 'ignored');
      assert.equal((await refundOf(id)).status, 'failed');
      assert.equal(lines().filter(({ level }) => level === 50).length, 1);
    });
  });

  const undecided: [name: string, provider: (known: Provider) => Partial<Provider>][] = [
    ['does not answer the refund request', () => ({ refund: () => Promise.reject(new Error('timed out')) })],
    [
      'does not answer an inquiry about the payment',
      () => ({ inquire: () => Promise.reject(new Error('answered 503')) }),
    ],
    ['knows the payment at an inquiry', ({ inquire }) => ({ inquire })],
  ];
  for (const [name, provider] of undecided) {
    test(`a refund stays pending if the provider ${name}`, async () => {
      const answers = provider(on.service.deps.providers.get('sandbox')!);
      await refundAt({ ...KNOWS_NO_PAYMENT, ...answers }, async (id, _session, lines) => {
        await wait(5);
        assert.equal((await refundOf(id)).status, 'pending');
        assert.equal(
          lines().some((line) => 'err' in line),
          false,
        );
      });
    });
  }

  test('a refund fails only after the provider answered for an hour that the payment is unknown', async () => {
    let isUnreachable = false;
    const refund = async () => {
      if (isUnreachable) throw new Error('answered 500');
      return 'unknown' as const;
    };
    await refundAt({ ...KNOWS_NO_PAYMENT, refund }, async (id) => {
      await wait(0.75);
      isUnreachable = true;
      await wait(2);
      isUnreachable = false;
      await wait(1);
      assert.equal((await refundOf(id)).status, 'pending');
      await wait(2);
      assert.partialDeepStrictEqual(await refundOf(id), { status: 'failed', failureReason: REASON });
    });
  });
});
