import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createServer as createTlsServer } from 'node:tls';
import { fastify } from 'fastify';
import type { Provider } from '../../src/providers/provider.ts';
import { type SandboxOptions, createSandboxProvider } from '../../src/providers/sandbox.ts';
import { createRandomBytes } from '../../src/runtime.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { aPayment, aSession, idOf } from '../fixtures/checkout-records.ts';
import { startServer } from '../support/http-server.ts';
import { saveRules } from '../support/routing.ts';
import { type TestService, startTestService } from '../support/service.ts';
import {
  OUTCOME,
  createSession,
  fieldsOf,
  outcomesOf,
  replaceProvider,
  start,
  startAt,
  stateOf,
  submit,
} from './buyer.ts';
import { instrumentById } from '../../src/simulator/test-instruments.ts';

const KEYS = { apiKey: 'a-key-of-this-test', callbackSecret: 'a-secret-of-this-test' };

test('the test customer buyer+handoff_error fails over to the next route, where the buyer pays', async () => {
  await using on = await startTestService();
  const sessionId = await createSession(on, { customer: 'buyer+handoff_error@example.com' });
  const page = await startAt(on, sessionId, 'wallet');
  await submit(page, fieldsOf('wallet', instrumentById('paid')!));
  await on.pass(0);
  const state = await stateOf(on, sessionId);
  assert.equal(state.session, 'paid');
  assert.deepEqual(state.events, ['payment.provider_pending', 'payment.paid']);
  const checkout = await on.service.deps.store.checkout(sessionId);
  assert.equal(checkout?.session.attempts, 1);
  assert.equal(new Set(checkout.payments.map(({ route }) => route.id)).size, 2);
  // Both payments have the same creation time, so their order is random.
  const refused = checkout.payments.find(({ failureCode }) => failureCode === 'handoff_refused');
  const paid = checkout.payments.find(({ failureCode }) => failureCode === null);
  assert.deepEqual([refused?.status, paid?.status], ['failed', 'paid']);
  const invoiceOf = (id: string | undefined) => checkout.invoices.find(({ paymentId }) => paymentId === id)?.status;
  assert.deepEqual([invoiceOf(refused?.id), invoiceOf(paid?.id)], ['void', 'paid']);
  const outcomes = new Set([[OUTCOME.refused], [OUTCOME.accepted, OUTCOME.paid]]);
  assert.deepEqual(new Set(await outcomesOf(on, sessionId)), outcomes);
});

test('the test customer buyer+handoff_down is refused on every route, and no event is sent', async () => {
  await using on = await startTestService();
  const sessionId = await createSession(on, { customer: 'Buyer+HANDOFF_DOWN@example.com' });
  assert.deepEqual(await start(on, sessionId, 'wallet'), { outcome: 'refused' });
  const state = await stateOf(on, sessionId);
  assert.equal(state.session, 'pending');
  assert.deepEqual(new Set(state.failures), new Set(['handoff_refused']));
  assert.deepEqual(state.events, []);
  assert.deepEqual(state.simulated, []);
  assert.deepEqual(await outcomesOf(on, sessionId), [[OUTCOME.refused], [OUTCOME.refused]]);
});

test('a tag with a route is applied to that route alone, so an operator can rehearse its outage', async () => {
  await using on = await startTestService();
  // Without the rule, the router would avoid the route after its first refusal.
  // oxlint-disable-next-line unicorn/no-thenable -- the rule language says then
  await saveRules(on, { id: 'acquirer-first', then: { priority: 'sandbox_card_acquirer' } });
  const customer = 'buyer+handoff_down.sandbox_card_acquirer@example.com';
  const routes: string[] = [];
  for (let payment = 0; payment < 4; payment++) {
    const sessionId = await createSession(on, { customer, clientReferenceId: `order-${payment}` });
    await startAt(on, sessionId, 'card');
    await on.pass(1000);
    const checkout = await on.service.deps.store.checkout(sessionId);
    routes.push(checkout!.payments.find(({ status }) => status === 'pending')!.route.id);
  }
  assert.deepEqual(new Set(routes), new Set(['sandbox_card_backup']));
  const { health, words } = on.service.deps.router.view('sandbox').routes.get('sandbox_card_acquirer')!.facts;
  assert.deepEqual([health, words.split(',')[0]], ['standby', 'standby: 3 handoff errors in a row']);
});

test('the test customer buyer+handoff_timeout has an uncertain handoff: no other route is tried, and an inquiry finds the payment', async (context) => {
  await using on = await startTestService();
  const simulated = on.service.deps.providers.get('sandbox')!;
  const sessionId = await createSession(on, { customer: 'buyer+handoff_timeout@example.com' });
  {
    await using slow = await startSlowSimulator(on);
    const inquire = () => Promise.reject(new Error('the test says so'));
    replaceProvider(on, { ...createSandboxProvider({ ...KEYS, url: slow.url, now: on.clock.now }), inquire });
    const timeoutMock = context.mock.method(AbortSignal, 'timeout', () => abortAfterArrival(on, sessionId));
    assert.deepEqual(await start(on, sessionId, 'card'), { outcome: 'continue', url: null });
    timeoutMock.mock.restore();
  }
  replaceProvider(on, simulated);
  const waiting = await stateOf(on, sessionId);
  assert.deepEqual(waiting.payments, ['pending']);
  assert.deepEqual(waiting.simulated, ['open']);
  assert.deepEqual(waiting.events, []);

  await on.pass(30_000);
  const found = await on.service.deps.store.checkout(sessionId);
  const page = found?.payments[0]?.providerUrl;
  assert(page);
  assert.deepEqual((await stateOf(on, sessionId)).events, ['payment.provider_pending']);
  await submit(`${on.url}${new URL(page).pathname}`, fieldsOf('card', instrumentById('paid')!));
  await on.pass(0);
  assert.equal((await stateOf(on, sessionId)).session, 'paid');
});

test('a shutdown waits for a handoff in flight, and rejects new payments with a 503', async () => {
  await using on = await startTestService();
  const simulated = on.service.deps.providers.get('sandbox')!;
  const [paying, waiting] = [await createSession(on), await createSession(on)];
  const pay = (id: string) => submit(`${on.url}/checkout/${id}/pay`, { kind: 'card', total_card: '99999999' });
  let stopped: Promise<void> | undefined;
  const refused: number[] = [];
  replaceProvider(on, {
    ...simulated,
    async handoff(handoff) {
      stopped = on.service.stop();
      refused.push((await pay(waiting)).status);
      return simulated.handoff(handoff);
    },
  });
  const answer = await pay(paying);
  assert.deepEqual([answer.status, refused, answer.headers.get('connection')], [303, [503], 'close']);
  assert.match(answer.headers.get('location')!, /\/continue$/);
  await stopped;
});

test('the simulated provider creates one charge for two equal requests, and repeats its refusal of a payment', async () => {
  await using on = await startTestService();
  const sandbox = on.service.deps.providers.get('sandbox')!;
  const request = handoffOf('buyer@example.com');
  const [first, second] = await Promise.all([sandbox.handoff(request), sandbox.handoff(request)]);
  assert.equal(first.outcome, 'accepted');
  assert.deepEqual(second, first);

  const other = { ...handoffOf('buyer+handoff_error@example.com'), payment: aPayment({ id: 'pay_refused' }) };
  other.session = { ...other.session, id: 'chk_other' };
  assert.equal((await sandbox.handoff(other)).outcome, 'refused');
  assert.equal((await sandbox.handoff(other)).outcome, 'refused');
});

test('a handoff is refused if the request cannot have reached the provider, and ambiguous if it may have reached it', async () => {
  // No process listens on this port, and no such host exists.
  for (const url of ['http://127.0.0.1:1', 'http://nowhere.invalid']) {
    assert.equal((await sandboxAt(url).handoff(handoffOf())).outcome, 'refused', url);
  }

  // Without a common version of TLS the request is never sent.
  const old = createTlsServer({ minVersion: 'TLSv1', maxVersion: 'TLSv1.1' });
  await new Promise<void>((resolve) => old.listen(0, '127.0.0.1', resolve));
  const { port } = old.address() as AddressInfo;
  const unsent = await sandboxAt(`https://127.0.0.1:${port}`).handoff(handoffOf());
  await new Promise((resolve) => old.close(resolve));
  assert.equal(unsent.outcome, 'refused', JSON.stringify(unsent));

  const answers: [status: number, body: string, outcome: string][] = [
    ...[400, 401, 402, 404, 409, 422, 429, 503].map((status) => [status, '{}', 'refused'] as [number, string, string]),
    [500, '{}', 'ambiguous'],
    [200, 'not json', 'ambiguous'],
    [200, '{"reference":"sp_1"}', 'ambiguous'],
  ];
  for (const [status, body, outcome] of answers) {
    await using server = await startServer((_request, response) => void response.writeHead(status).end(body));
    assert.equal((await sandboxAt(server.url).handoff(handoffOf())).outcome, outcome, `${status} ${body}`);
  }
  await using silent = await startServer((_request, response) => void response.destroy());
  assert.equal((await sandboxAt(silent.url).handoff(handoffOf())).outcome, 'ambiguous');
});

test('provider requests reject after a 500, and report an unknown payment without an error', async () => {
  await using broken = await startServer((_request, response) => void response.writeHead(500).end('{}'));
  await assert.rejects(sandboxAt(broken.url).inquire(aPayment()));
  await assert.rejects(sandboxAt(broken.url).cancel(aPayment()));
  const refund = { refundId: idOf('ref', 1), payment: aPayment(), amount: 100, reference: null, created: 0 };
  await assert.rejects(sandboxAt(broken.url).refund(refund));
  await assert.rejects(sandboxAt(broken.url).inquireRefund(refund));

  await using on = await startTestService();
  const sandbox = on.service.deps.providers.get('sandbox')!;
  assert.equal(await sandbox.inquire(aPayment()), 'unknown');
  assert.equal(await sandbox.cancel(aPayment()), 'unknown');
  assert.equal(await sandbox.inquireRefund(refund), undefined);
});

test('a 404 means that the payment is unknown only if the body is an error of the provider, not of a proxy', async () => {
  const refund = { refundId: idOf('ref', 1), payment: aPayment(), amount: 100, reference: null, created: 0 };
  const refundWithBody = async (body: string) => {
    await using server = await startServer((_request, response) => void response.writeHead(404).end(body));
    return await sandboxAt(server.url).refund(refund);
  };
  assert.equal(await refundWithBody('{"ok":false,"error":{"code":"not_found","message":"no such charge"}}'), 'unknown');
  for (const body of ['<html>404</html>', '{}', '']) await assert.rejects(refundWithBody(body), /answered 404/);
});

function handoffOf(customerEmail = 'buyer@example.com') {
  return {
    session: aSession({ customerEmail }),
    payment: aPayment(),
    merchant: 'Demo merchant',
    returnUrl: 'http://127.0.0.1:1/checkout/x/back',
    cancelUrl: 'http://127.0.0.1:1/checkout/x',
    callbackUrl: 'http://127.0.0.1:1/callbacks',
    timeoutMs: 5000,
  };
}

function sandboxAt(url: string, options: Partial<SandboxOptions> = {}): Provider {
  return createSandboxProvider({ ...KEYS, url, now: () => 0, ...options });
}

/** A timeout signal that aborts after the simulated provider has stored the payment and before it answers. */
function abortAfterArrival(on: TestService, sessionId: string): AbortSignal {
  const limit = new AbortController();
  const timeOut = async () => {
    while ((await stateOf(on, sessionId)).simulated.length === 0) await nextTurn();
    limit.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError'));
  };
  void timeOut();
  return limit.signal;
}

/** The simulated provider on another port and the same database. It answers only after the timeout of its caller. */
async function startSlowSimulator({ service, simulator: store, clock, url }: TestService) {
  const simulator = createSimulator({
    ...KEYS,
    store,
    callbackUrl: `${url}/api/providers/sandbox/callbacks`,
    publicUrl: url,
    now: clock.now,
    randomBytes: createRandomBytes(),
    log: service.deps.log,
    slowAnswerMs: 20_000,
  });
  const app = fastify();
  simulator.part(app);
  return { url: await app.listen({ host: '127.0.0.1', port: 0 }), [Symbol.asyncDispose]: () => app.close() };
}
