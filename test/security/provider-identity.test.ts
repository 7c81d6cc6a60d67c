import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Discrepancy } from '../../sdk/src/index.ts';
import { startAttempt } from '../../src/domain/checkout.ts';
import type { Payment } from '../../src/domain/records.ts';
import { ENVIRONMENTS, type Environment } from '../../src/domain/route.ts';
import { applyReport } from '../../src/operations/provider-hints.ts';
import { commitDecision } from '../../src/operations/commit-decision.ts';
import type { Provider } from '../../src/providers/provider.ts';
import { createSandboxProvider } from '../../src/providers/sandbox.ts';
import { aRoute } from '../fixtures/checkout-records.ts';
import { aReport } from '../fixtures/provider-reports.ts';
import { createSession } from '../simulator/buyer.ts';
import { type CallbackFields, charged, recordsOf, refunded, sendCallback, settled } from '../support/callbacks.ts';
import { gatewayOf, paymentsOf, pick } from '../support/gateway.ts';
import { providerSays } from '../support/money-arrives.ts';
import { suiteService } from '../support/suite.ts';

interface Sender {
  provider: string;
  environment: Environment;
}

const SENDERS: readonly Sender[] = ENVIRONMENTS.flatMap((environment) =>
  ['alpha', 'beta'].map((provider) => ({ provider, environment })),
);
const nameOf = ({ provider, environment }: Sender) => `${provider}-${environment}`;
const routeOf = ({ provider, environment }: Sender) =>
  aRoute({ id: `${nameOf({ provider, environment })}-card`, integrationId: provider, environment });

const on = suiteService({ sound: true }, async () => {
  const { deps } = on.service;
  deps.routes = SENDERS.map(routeOf);
  deps.providers = new Map(SENDERS.map((sender) => [nameOf(sender), connected(sender)]));
});

function connected(sender: Sender): Provider {
  const adapter = createSandboxProvider({ url: '', apiKey: '', callbackSecret: nameOf(sender), now: on.clock.now });
  return { ...adapter, id: sender.provider, environment: sender.environment };
}

/** Sends a callback with the sender's signature. */
const send = (sender: Sender, fields: CallbackFields) =>
  sendCallback(on, fields, { secret: nameOf(sender), provider: nameOf(sender) });
const records = (session: string) => recordsOf(on, session);

let buyers = 0;

/** Creates a session in the owner's environment. The buyer of the session has not started to pay. */
const newSession = ({ environment }: Sender) =>
  createSession(on, { environment, customer: `buyer${++buyers}@example.com` });

/** Creates a pending payment that was handed off to the owner. */
async function pendingAt(owner: Sender): Promise<Payment> {
  const { deps } = on.service;
  const session = await newSession(owner);
  const attempt = { paymentId: deps.newId('pay'), invoiceId: deps.newId('inv'), route: routeOf(owner) };
  const { checkout } = await commitDecision(deps, session, (current, now) => startAttempt(current, attempt, now));
  return checkout.payments[0]!;
}

async function paidAt(owner: Sender): Promise<Payment> {
  const payment = await pendingAt(owner);
  assert.equal(await send(owner, charged(payment, `paid ${payment.id}`)), 'applied');
  return payment;
}

const outcomeFor = (owner: Sender, sender: Sender) =>
  sender.environment === owner.environment ? 'provider_mismatch' : 'environment_mismatch';

/** For each kind of callback, a function that creates the records to which the callback refers and returns the callback. */
const CALLBACKS: Record<string, (owner: Sender, event: string) => Promise<CallbackFields>> = {
  'a payment that was paid': async (owner, event) => charged(await pendingAt(owner), event),
  'a payment that failed': async (owner, event) => charged(await pendingAt(owner), event, 'DECLINED'),
  'a payment in progress': async (owner, event) => charged(await pendingAt(owner), event, 'PROCESSING'),
  'a refund that succeeded': async (owner, event) => refunded(on, await paidAt(owner), event),
  'a refund that failed': async (owner, event) => refunded(on, await paidAt(owner), event, 'refund.failed'),
  'a settlement': async (owner, event) => settled(on, await paidAt(owner), event),
};

for (const [what, prepare] of Object.entries(CALLBACKS)) {
  describe(`a callback about ${what}`, () => {
    for (const owner of SENDERS) {
      test(`a callback about ${what} at ${nameOf(owner)} changes records only if ${nameOf(owner)} sends the callback`, async () => {
        const event = `${what} at ${nameOf(owner)}`;
        const callback = await prepare(owner, event);
        const session = String(callback['order']);
        const { store } = on.service.deps;
        const start = await records(session);
        const listed: string[] = [];
        for (const sender of SENDERS.filter((other) => other !== owner)) {
          const outcome = outcomeFor(owner, sender);
          assert.equal(await send(sender, callback), outcome, nameOf(sender));
          assert.equal(await records(session), start, nameOf(sender));
          assert.equal(await send(sender, callback), 'duplicate', nameOf(sender));
          listed.push(outcome);
        }
        const messages = (await store.providerMessages(session)).filter(({ eventId }) => eventId === event);
        assert.deepEqual(messages.map(({ outcome, flagged }) => `${outcome} ${flagged}`).toSorted(), [
          'environment_mismatch true',
          'environment_mismatch true',
          'provider_mismatch true',
        ]);
        const open = (await store.listDiscrepancies({ sessionId: session, status: 'open' }, { limit: 100 })).items;
        assert.deepEqual(new Set(open.map(({ kind }) => kind)), new Set(listed));
        // The owner's message has the same event id as the others; the inbox distinguishes messages by sender.
        assert.equal(await send(owner, callback), 'applied');
        assert.notEqual(await records(session), start);
      });
    }
  });
}

describe('a provider report that names a session but no payment', () => {
  const reportPaid = (sender: Sender, sessionId: string, eventId: string) =>
    providerSays(on, sessionId, 'paid', { ...sender, eventId });

  for (const owner of SENDERS) {
    test(`a report without a payment changes a session at ${nameOf(owner)} only if ${nameOf(owner)} sends the report`, async () => {
      const { sessionId } = await pendingAt(owner);
      const start = await records(sessionId);
      for (const sender of SENDERS.filter((other) => other !== owner)) {
        assert.equal((await reportPaid(sender, sessionId, sessionId)).outcome, outcomeFor(owner, sender));
        assert.equal(await records(sessionId), start);
      }
      assert.equal((await reportPaid(owner, sessionId, sessionId)).outcome, 'applied');
      assert.notEqual(await records(sessionId), start);
    });

    test(`a report on a session without an attempt is booked on a route of the sender ${nameOf(owner)}, if such a route exists`, async () => {
      const session = await newSession(owner);
      const start = await records(session);
      const { deps } = on.service;
      const [elsewhere] = SENDERS.filter(({ environment }) => environment !== owner.environment);
      assert.equal((await reportPaid(elsewhere!, session, session)).outcome, 'environment_mismatch');
      deps.routes = SENDERS.filter((sender) => sender !== owner).map(routeOf);
      assert.equal((await reportPaid(owner, session, `no route ${session}`)).outcome, 'unknown_payment');
      assert.equal(await records(session), start);
      const { items } = await deps.store.listDiscrepancies({ sessionId: session }, { limit: 10 });
      assert.deepEqual(pick(items, 'kind', 'paymentId'), [
        ['unknown_payment', null],
        ['environment_mismatch', null],
      ]);
      deps.routes = SENDERS.map(routeOf);
      assert.equal((await reportPaid(owner, session, session)).outcome, 'applied');
      const [payment] = await paymentsOf(on, session);
      assert.deepEqual([payment!.status, payment!.route.id], ['paid', routeOf(owner).id]);
    });
  }

  test('a report without a payment applies to the attempt at its sender, not to a newer attempt at another provider', async () => {
    const [alpha, beta] = [SENDERS[0]!, SENDERS[1]!];
    const { deps } = on.service;
    const first = await pendingAt(alpha);
    assert.equal(await send(alpha, charged(first, `declined ${first.id}`, 'DECLINED')), 'applied');
    const attempt = { paymentId: deps.newId('pay'), invoiceId: deps.newId('inv'), route: routeOf(beta) };
    await commitDecision(deps, first.sessionId, (current, now) => startAttempt(current, attempt, now));
    assert.equal((await reportPaid(alpha, first.sessionId, `late ${first.id}`)).outcome, 'applied');
    const payments = await paymentsOf(on, first.sessionId);
    assert.deepEqual(
      payments.map(({ status, route }) => [route.provider, status]),
      [
        ['alpha', 'paid'],
        ['beta', 'failed'],
      ],
    );
  });
});

test('only the provider of a payment can change it, also after its route was removed from the catalogue', async () => {
  const [owner, other] = [SENDERS[0]!, SENDERS[1]!];
  const { deps } = on.service;
  const payment = await pendingAt(owner);
  deps.routes = SENDERS.filter((sender) => sender !== owner).map(routeOf);
  try {
    const start = await records(payment.sessionId);
    const callback = charged(payment, `removed ${payment.id}`);
    assert.equal(await send(other, callback), 'provider_mismatch');
    assert.equal(await records(payment.sessionId), start);
    assert.equal(await send(owner, callback), 'applied');
  } finally {
    deps.routes = SENDERS.map(routeOf);
  }
});

test('an inquiry answer changes only payments at the provider that gave the answer', async () => {
  for (const owner of SENDERS) {
    const payment = await pendingAt(owner);
    const start = await records(payment.sessionId);
    const report = aReport({ status: 'paid', amount: 4999 });
    for (const sender of [...SENDERS.filter((other) => other !== owner), owner]) {
      const provider = on.service.deps.providers.get(nameOf(sender))!;
      const { outcome } = await applyReport(on.service.deps, provider, payment, report);
      assert.equal(outcome, sender === owner ? 'applied' : outcomeFor(owner, sender));
      assert.equal((await records(payment.sessionId)) === start, sender !== owner);
    }
  }
});

test('a provider_mismatch discrepancy can only be closed with a note, which creates no ledger entries', async () => {
  const [owner, other] = [SENDERS[0]!, SENDERS[1]!];
  const payment = await pendingAt(owner);
  await send(other, charged(payment, `closed ${payment.id}`));
  const start = await records(payment.sessionId);
  const api = gatewayOf(on);
  const query = `sessionId=${payment.sessionId}&kind=provider_mismatch`;
  const [found] = (await api.list(`discrepancies?${query}`)) as [Discrepancy];
  assert.deepEqual([found.provider, found.actions], ['beta', ['accept']]);
  const path = `discrepancies/${found.id}/resolve`;
  await api.refused('409 invalid_state', `POST ${path}`, { action: 'refund' });
  await api.post(path, { action: 'accept', note: 'seen' });
  assert.equal(await records(payment.sessionId), start);
});
