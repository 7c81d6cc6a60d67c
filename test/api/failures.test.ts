import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import type { Payment } from '../../sdk/src/index.ts';
import { FAILURE_CODES } from '../../src/domain/failure.ts';
import { cancelCheckout, chooseAnotherMethod } from '../../src/operations/leave-payment.ts';
import { SAMPLE_PROVIDER_SECRET } from '../../src/operations/webhook-samples.ts';
import { signCallback } from '../../src/webhooks/sign.ts';
import { runIn } from '../cli/terminal.ts';
import { callTool } from '../mcp/rpc.ts';
import {
  SECRET,
  attempt,
  createSession,
  replaceProvider,
  start,
  startAt,
  submit,
  trustSecret,
} from '../simulator/buyer.ts';
import { charged, sendCallback } from '../support/callbacks.ts';
import { gatewayOf, paymentsOf } from '../support/gateway.ts';
import { call } from '../support/service.ts';
import { suiteService } from '../support/suite.ts';

const SECOND = 1000;

/** Failure as `code source reason`, or null. */
type Expected = string | null;

const on = suiteService({ sound: true });
const api = gatewayOf(on);

/** The failure of every payment of a session, oldest first, as the API lists them. */
async function failuresOf(sessionId: string): Promise<Expected[]> {
  const payments = await api.list<Payment>(`payments?paymentId=${sessionId}`);
  const { id, failure: newest } = payments[0]!;
  assert.deepEqual((await api.get<Payment>(`payments/${id}`)).failure, newest);
  return payments.toReversed().map(({ status, failure }) => {
    assert.equal(failure !== null, status === 'failed');
    if (failure === null) return null;
    assert.match(failure.message, /^[A-Z].{10,}\.$/);
    return `${failure.code} ${failure.source} ${failure.reason ?? '-'}`;
  });
}

async function timeOut(sessionId: string): Promise<void> {
  await on.pass((await paymentsOf(on, sessionId)).at(-1)!.timeoutAt - on.clock.now());
}

/** Sends a provider callback that declines the newest payment of a session. */
async function decline(sessionId: string, reason?: string): Promise<void> {
  const payment = (await paymentsOf(on, sessionId)).at(-1)!;
  const callback = charged(payment, `${sessionId} declined`, 'DECLINED');
  const { providers } = on.service.deps;
  trustSecret(on);
  await sendCallback(on, { ...callback, reason }, { secret: SECRET });
  on.service.deps.providers = providers;
}

const DECLINED = 'declined issuer card_declined';

describe('the failure of a payment', () => {
  test('the failure of a payment disappears if the payment succeeds late', async () => {
    const sessionId = await createSession(on);
    await attempt(on, sessionId, 'card', 'late_success');
    await on.pass(0);
    assert.deepEqual(await failuresOf(sessionId), [DECLINED]);
    await on.pass(30 * SECOND);
    assert.deepEqual(await failuresOf(sessionId), [null]);
  });

  const byCard = (id: string) => startAt(on, id, 'card');
  const CASES: Record<string, [runCase: (id: string) => Promise<unknown>, expected: Expected[], tag?: string]> = {
    'the buyer cancels at the provider': [
      async (id) => submit(`${await byCard(id)}/cancel`, {}),
      ['cancelled buyer -'],
    ],
    'the buyer never leaves the page of the provider': [
      (id) => byCard(id).then(() => timeOut(id)),
      ['timed_out buyer -'],
    ],
    'the buyer gives up': [
      (id) => byCard(id).then(() => cancelCheckout(on.service.deps, id, 1)),
      ['abandoned buyer -'],
    ],
    'the buyer chooses another payment method': [
      (id) => byCard(id).then(() => chooseAnotherMethod(on.service.deps, id, 1)),
      ['abandoned buyer -'],
    ],
    'an earlier payment succeeds late': [
      async (id) => {
        await attempt(on, id, 'card', 'late_success');
        await on.pass(0);
        await byCard(id);
        await on.pass(30 * SECOND);
      },
      [null, 'superseded buyer -'],
    ],
    'the handoff is refused once, and the next route takes the payment': [
      byCard,
      ['handoff_refused route The simulated provider refused this handoff.', null],
      '+handoff_error',
    ],
    'the provider is down and no other route is left': [
      (id) => start(on, id, 'card'),
      Array.from({ length: 2 }, () => 'handoff_refused route The simulated provider accepts no payment of this buyer.'),
      '+handoff_down',
    ],
  };
  for (const [name, [runCase, expected, tag = '']] of Object.entries(CASES)) {
    test(`the API lists the expected failure of each payment if ${name}`, async () => {
      const sessionId = await createSession(on, { customer: `buyer${tag}@example.com` });
      await runCase(sessionId);
      await on.pass(0);
      assert.deepEqual(await failuresOf(sessionId), expected);
    });
  }

  test('the failure of a payment is handoff_refused if the provider is unreachable or the service stopped before the request', async () => {
    const [unreachable, interrupted] = [await createSession(on), await createSession(on)];
    const { providers } = on.service.deps;
    replaceProvider(on, { handoff: () => Promise.reject(new Error('killed')) });
    await assert.rejects(start(on, interrupted, 'wallet'), /killed/);
    const refused = { outcome: 'refused', reason: 'connect ECONNREFUSED 10.0.0.5:443', providerReason: null } as const;
    replaceProvider(on, { handoff: async () => refused });
    await start(on, unreachable, 'wallet');
    on.service.deps.providers = providers;
    await on.pass(30 * SECOND);
    assert.deepEqual((await failuresOf(unreachable)).at(-1), 'handoff_refused route -');
    assert.deepEqual(await failuresOf(interrupted), ['handoff_refused gateway -']);
  });

  test('a verified webhook sample with the status failed gives the payment a failure', async () => {
    const sessionId = await createSession(on);
    const payload = { eventId: 'sample_failed', sessionId, status: 'failed', amount: 49.99 };
    const signature = signCallback(SAMPLE_PROVIDER_SECRET, 1_700_000_000, JSON.stringify(payload));
    const url = `${on.url}/api/agent/actions/webhook.verify_sample`;
    await call('POST', url, { provider: 'x', payload, signature });
    assert.deepEqual(await failuresOf(sessionId), ['declined buyer -']);
  });
});

describe('the failure reason reported by a provider', () => {
  const codes: [reason: string | undefined, expected: string][] = [
    ['insufficient_funds', 'insufficient_funds buyer'],
    ['incorrect_cvc', 'incorrect_cvc buyer'],
    ['expired_card', 'expired_card buyer'],
    ['authentication_failed', 'authentication_failed buyer'],
    ['issuer_unavailable', 'issuer_unavailable issuer'],
    ['risk_engine_unavailable', 'processing_error route'],
    ['merchant_misconfigured', 'processing_error route'],
    ['a_code_of_next_year', 'declined route'],
    [undefined, 'declined route'],
    [' \n', 'declined route'],
  ];
  for (const [reason, expected] of codes) {
    test(`the provider's failure reason ${JSON.stringify(reason)} maps to ${expected}`, async () => {
      const sessionId = await createSession(on);
      await startAt(on, sessionId, 'card');
      await decline(sessionId, reason);
      assert.deepEqual(await failuresOf(sessionId), [`${expected} ${reason?.trim() || '-'}`]);
    });
  }

  test('the failure reason reported by a provider is cut at 200 characters, loses control characters, and is escaped on a page', async () => {
    const sessionId = await createSession(on);
    await startAt(on, sessionId, 'card');
    await decline(sessionId, `\u001B[31m<b>\u202E\u0000no\r\nway\uD800 ${'x'.repeat(5000)}`);
    const { failure } = await api.get<Payment>(`payments/${sessionId}`);
    assert.match(failure!.reason!, /^\[31m<b> no way {2}x+$/);
    assert.equal(failure!.reason!.length, 200);
    const page = await (await fetch(`${on.url}/dashboard/sandbox/payments/${sessionId}`)).text();
    assert.ok(page.includes('[31m&lt;b&gt; no way'));
    assert.ok(!page.includes('[31m<b>'));
  });

  test('the failure reason reported by a provider is shown by the command line, by MCP and on the page to which the test checkout leads', async () => {
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
    assert.ok(page.includes(message.replace("'", '&#39;')));
    assert.match(page, /The provider says\s+<code><bdi>insufficient_funds<\/bdi><\/code\s*>/);
  });

  test('the failure reason reported by a provider is deleted when the buyer is erased', async () => {
    const sessionId = await createSession(on, { customer: 'erase.me@example.com' });
    await startAt(on, sessionId, 'card');
    await decline(sessionId, 'the card of Erase Me');
    await cancelCheckout(on.service.deps, sessionId, 1);
    const { customerId } = (await on.service.deps.store.session(sessionId))!;
    await api.post(`customers/${customerId}/erase`, { confirm: customerId });
    assert.deepEqual(await failuresOf(sessionId), ['declined route -']);
  });
});

test('docs/api.md has a row for each failure code', () => {
  const page = readFileSync(new URL('../../docs/api.md', import.meta.url), 'utf8');
  const section = page.split('## Why a payment failed')[1]!.split('\n## ')[0]!;
  const rows = Array.from(section.matchAll(/^\| `(\w+)` +\|/gm), ([, code]) => code);
  assert.deepEqual(rows.slice(1), FAILURE_CODES);
});
