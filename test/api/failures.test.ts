// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { FAILURE_CODES } from '../../src/domain/failure.ts';
import { ROUTE_KINDS, type RouteKind } from '../../src/domain/route.ts';
import { cancelCheckout, chooseAnotherMethod } from '../../src/operations/leave-payment.ts';
import { SAMPLE_PROVIDER_SECRET } from '../../src/operations/webhook-samples.ts';
import { createSandboxProvider } from '../../src/providers/sandbox.ts';
import { INSTRUMENTS } from '../../src/simulator/test-instruments.ts';
import { signCallback } from '../../src/webhooks/sign.ts';
import { runIn } from '../cli/terminal.ts';
import { callTool } from '../mcp/rpc.ts';
import { attempt, createSession, start, startAt, submit } from '../simulator/buyer.ts';
import { TEST_DATABASE } from '../support/database.ts';
import { type TestService, call, startTestService } from '../support/service.ts';
import { assertSound } from '../support/sound.ts';

const SECOND = 1000;
const SECRET = 'a secret that this test knows';

interface Failure {
  code: string;
  source: string;
  reason: string | null;
  message: string;
}

interface PaymentView {
  id: string;
  status: string;
  failure: Failure | null;
}

/** Failure as `code source reason`, or null. */
type Expected = string | null;

let on: TestService;
before(async () => {
  on = await startTestService();
});
after(async () => {
  await assertSound(on.databaseUrl);
  await on[Symbol.asyncDispose]();
});

const paymentsUrl = (rest: string) => `${on.url}/api/gateway/payments${rest}`;

/** Every payment of a session, oldest first, as the API lists them. */
async function failuresOf(sessionId: string): Promise<Expected[]> {
  const { body } = await call<{ data: PaymentView[] }>('GET', paymentsUrl(`?paymentId=${sessionId}`));
  const one = await call<PaymentView>('GET', paymentsUrl(`/${body.data[0]!.id}`));
  assert.deepEqual(one.body.failure, body.data[0]!.failure);
  return body.data.toReversed().map(({ status, failure }) => {
    assert.equal(failure !== null, status === 'failed');
    if (failure === null) return null;
    assert.match(failure.message, /^[A-Z].{10,}\.$/);
    return `${failure.code} ${failure.source} ${failure.reason ?? '-'}`;
  });
}

async function timeOut(sessionId: string): Promise<void> {
  const { payments } = (await on.service.deps.store.checkout(sessionId))!;
  await on.pass(payments.at(-1)!.timeoutAt - on.clock.now());
}

/** The provider's signed callback about the newest payment of a session. */
async function report(sessionId: string, state: string, reason?: string): Promise<void> {
  const { session, payments } = (await on.service.deps.store.checkout(sessionId))!;
  const about = { order: sessionId, charge: payments.at(-1)!.id, amount: session.amount, currency: 'USD' };
  const body = JSON.stringify({ ...about, event: `${sessionId} ${state}`, type: 'charge.updated', state, reason });
  const own = on.service.deps.providers.get('sandbox')!;
  const { readCallback } = createSandboxProvider({ url: '', apiKey: '', callbackSecret: SECRET, now: on.clock.now });
  on.service.deps.providers = new Map([['sandbox', { ...own, readCallback }]]);
  const signature = signCallback(SECRET, Math.floor(on.clock.now() / 1000), body);
  const headers = { 'content-type': 'application/json', 'x-provider-signature': signature };
  const response = await fetch(`${on.url}/api/providers/sandbox/callbacks`, { method: 'POST', body, headers });
  on.service.deps.providers = new Map([['sandbox', own]]);
  assert.equal(response.status, 200, await response.text());
}

const DECLINES: Record<RouteKind, string> = {
  card: 'declined issuer card_declined',
  wallet: 'declined issuer wallet_declined',
  local: 'declined issuer transfer_rejected',
};

/** Failure of a payment right after the buyer pressed the button, and later. */
function expectedBy(kind: RouteKind): Record<string, { atFirst: Expected; later?: [number | 'timeout', Expected] }> {
  return {
    paid: { atFirst: null },
    paid_later: { atFirst: null, later: [20 * SECOND, null] },
    decline_then_paid: { atFirst: 'insufficient_funds buyer insufficient_funds' },
    declined: { atFirst: DECLINES[kind] },
    provider_error: { atFirst: 'processing_error route processing_error' },
    abandoned: { atFirst: null, later: ['timeout', 'timed_out route -'] },
    duplicates: { atFirst: null },
    reordered: { atFirst: null, later: [2 * SECOND, null] },
    late_success: { atFirst: DECLINES[kind], later: [30 * SECOND, null] },
    wrong_amount: { atFirst: null, later: ['timeout', 'amount_mismatch route -'] },
    callback_lost: { atFirst: null, later: [30 * SECOND, null] },
  };
}

describe('the failure of a payment for every outcome of the simulated provider', () => {
  // The payment method makes no difference to the database.
  for (const kind of TEST_DATABASE === 'sqlite' ? ROUTE_KINDS : ROUTE_KINDS.slice(0, 1)) {
    test(`by ${kind}`, async () => {
      const expected = expectedBy(kind);
      assert.deepEqual(Object.keys(expected).toSorted(), INSTRUMENTS.map(({ id }) => id).toSorted());
      for (const [id, { atFirst, later }] of Object.entries(expected)) {
        const sessionId = await createSession(on);
        await attempt(on, sessionId, kind, id);
        await on.pass(0);
        assert.deepEqual(await failuresOf(sessionId), [atFirst], id);
        if (later?.[0] === 'timeout') await timeOut(sessionId);
        else await on.pass(later?.[0] ?? 0);
        assert.deepEqual(await failuresOf(sessionId), [later ? later[1] : atFirst], id);
      }
    });
  }

  const others: [name: string, bring: (sessionId: string) => Promise<unknown>, expected: Expected[], tag?: string][] = [
    [
      'the buyer cancels at the provider',
      async (id) => submit(`${await startAt(on, id, 'card')}/cancel`, {}),
      ['cancelled buyer -'],
    ],
    [
      'the buyer never leaves the page of the provider',
      async (id) => {
        await startAt(on, id, 'card');
        await timeOut(id);
      },
      ['timed_out buyer -'],
    ],
    [
      'the buyer gives up',
      async (id) => {
        await startAt(on, id, 'card');
        await cancelCheckout(on.service.deps, id, 1);
      },
      ['abandoned buyer -'],
    ],
    [
      'the buyer chooses another payment method',
      async (id) => {
        await startAt(on, id, 'card');
        await chooseAnotherMethod(on.service.deps, id, 1);
      },
      ['abandoned buyer -'],
    ],
    [
      'the buyer uses up all attempts',
      async (id) => {
        for (let time = 0; time < 3; time++) {
          await attempt(on, id, 'card', 'declined');
          await on.pass(0);
        }
        assert.equal((await on.service.deps.store.session(id))!.status, 'failed');
      },
      [DECLINES.card, DECLINES.card, DECLINES.card],
    ],
    [
      'an earlier payment succeeds late',
      async (id) => {
        await attempt(on, id, 'card', 'late_success');
        await on.pass(0);
        await startAt(on, id, 'card');
        await on.pass(30 * SECOND);
      },
      [null, 'superseded buyer -'],
    ],
    [
      'the handoff is refused once, and the next route takes the payment',
      async (id) => {
        await startAt(on, id, 'card');
      },
      ['handoff_refused route The simulated provider refused this handoff.', null],
      'handoff_error',
    ],
    [
      'the provider is down and no other route is left',
      async (id) => start(on, id, 'card'),
      Array.from({ length: 2 }, () => 'handoff_refused route The simulated provider takes nothing of this buyer.'),
      'handoff_down',
    ],
  ];
  for (const [name, bring, expected, tag] of others) {
    test(name, async () => {
      const customer = tag === undefined ? 'buyer@example.com' : `buyer+${tag}@example.com`;
      const sessionId = await createSession(on, { customer });
      await bring(sessionId);
      await on.pass(0);
      assert.deepEqual(await failuresOf(sessionId), expected);
    });
  }

  test('the provider cannot be reached, or never got the payment', async () => {
    const own = on.service.deps.providers.get('sandbox')!;
    const unreachable = await createSession(on);
    const interrupted = await createSession(on);
    const killed = { ...own, handoff: () => Promise.reject(new Error('killed')) };
    on.service.deps.providers = new Map([['sandbox', killed]]);
    await assert.rejects(start(on, interrupted, 'wallet'), /killed/);
    const refused = { outcome: 'refused', reason: 'connect ECONNREFUSED 10.0.0.5:443', providerReason: null } as const;
    on.service.deps.providers = new Map([['sandbox', { ...own, handoff: async () => refused }]]);
    await start(on, unreachable, 'wallet');
    on.service.deps.providers = new Map([['sandbox', own]]);
    await on.pass(30 * SECOND);
    assert.deepEqual((await failuresOf(unreachable)).at(-1), 'handoff_refused route -');
    assert.deepEqual(await failuresOf(interrupted), ['handoff_refused gateway -']);
  });

  test('a verified sample reports that the payment failed', async () => {
    const sessionId = await createSession(on);
    const payload = { eventId: 'sample_failed', sessionId, status: 'failed', amount: 49.99 };
    const signature = signCallback(SAMPLE_PROVIDER_SECRET, 1_700_000_000, JSON.stringify(payload));
    await call('POST', `${on.url}/api/agent/actions/webhook.verify_sample`, { provider: 'x', payload, signature });
    assert.deepEqual(await failuresOf(sessionId), ['declined buyer -']);
  });
});

describe('the failure reason of a provider', () => {
  const codes: [reason: string | undefined, expected: Expected][] = [
    ['insufficient_funds', 'insufficient_funds buyer insufficient_funds'],
    ['incorrect_cvc', 'incorrect_cvc buyer incorrect_cvc'],
    ['expired_card', 'expired_card buyer expired_card'],
    ['authentication_failed', 'authentication_failed buyer authentication_failed'],
    ['issuer_unavailable', 'issuer_unavailable issuer issuer_unavailable'],
    ['risk_engine_unavailable', 'processing_error route risk_engine_unavailable'],
    ['merchant_misconfigured', 'processing_error route merchant_misconfigured'],
    ['a_code_of_next_year', 'declined route a_code_of_next_year'],
    [undefined, 'declined route -'],
    [' \n', 'declined route -'],
  ];
  for (const [reason, expected] of codes) {
    test(`${JSON.stringify(reason)} is ${expected}`, async () => {
      const sessionId = await createSession(on);
      await startAt(on, sessionId, 'card');
      await report(sessionId, 'DECLINED', reason);
      assert.deepEqual(await failuresOf(sessionId), [expected]);
    });
  }

  test('is bounded, harmless in a terminal, and escaped on a page', async () => {
    const sessionId = await createSession(on);
    await startAt(on, sessionId, 'card');
    await report(sessionId, 'DECLINED', `\u001B[31m<b>\u202E\u0000no\r\nway\uD800 ${'x'.repeat(5000)}`);
    const { body } = await call<PaymentView>('GET', paymentsUrl(`/${sessionId}`));
    assert.match(body.failure!.reason!, /^\[31m<b> no way {2}x+$/);
    assert.equal(body.failure!.reason!.length, 200);
    const page = await (await fetch(`${on.url}/demo?session_id=${sessionId}`)).text();
    assert.ok(page.includes('[31m&lt;b&gt; no way'));
    assert.ok(!page.includes('[31m<b>'));
  });

  test('is shown by the command line, by MCP and on the result page of a test checkout', async () => {
    const sessionId = await createSession(on);
    await attempt(on, sessionId, 'card', 'decline_then_paid');
    await on.pass(0);
    const message = "The buyer's account did not have enough funds.";
    const failure = { code: 'insufficient_funds', source: 'buyer', reason: 'insufficient_funds', message };

    const { stdout } = await runIn(on, 'payments', 'get', sessionId);
    assert.match(stdout, new RegExp(`Failed because +${message}`));
    assert.match(stdout, /Failure +insufficient_funds \(buyer\): insufficient_funds/);
    const { structuredContent } = await callTool(on.url, 'payment_get', { paymentId: sessionId });
    assert.deepEqual(structuredContent.result!['failure'], failure);
    const page = await (await fetch(`${on.url}/demo?session_id=${sessionId}`)).text();
    assert.ok(page.includes(`Payment 1 failed: ${message.replace("'", '&#39;')}`));
    assert.ok(page.includes('&quot;code&quot;: &quot;insufficient_funds&quot;'));
  });

  test('is deleted when the buyer is erased', async () => {
    const sessionId = await createSession(on, { customer: 'erase.me@example.com' });
    await startAt(on, sessionId, 'card');
    await report(sessionId, 'DECLINED', 'the card of Erase Me');
    await cancelCheckout(on.service.deps, sessionId, 1);
    const { customerId } = (await on.service.deps.store.session(sessionId))!;
    const erased = await call('POST', `${on.url}/api/gateway/customers/${customerId}/erase`, { confirm: customerId });
    assert.equal(erased.status, 200);
    assert.deepEqual(await failuresOf(sessionId), ['declined route -']);
  });
});

test('docs/api.md has a row for each code', () => {
  const page = readFileSync(new URL('../../docs/api.md', import.meta.url), 'utf8');
  const section = page.split('## Why a payment failed')[1]!.split('\n## ')[0]!;
  const rows = Array.from(section.matchAll(/^\| `(\w+)` +\|/gm), ([, code]) => code);
  assert.deepEqual(rows.slice(1), FAILURE_CODES);
});
