import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startAttempt } from '../../src/domain/checkout.ts';
import type { Payment } from '../../src/domain/records.ts';
import { ENVIRONMENTS, type Environment } from '../../src/domain/route.ts';
import { applyProviderMessage, applyReport } from '../../src/operations/apply-provider-message.ts';
import { commitDecision } from '../../src/operations/commit-decision.ts';
import { createRefund } from '../../src/operations/refunds/create-refund.ts';
import type { Provider } from '../../src/providers/provider.ts';
import { createSandboxProvider } from '../../src/providers/sandbox.ts';
import { signCallback } from '../../src/webhooks/sign.ts';
import { aRoute } from '../fixtures/checkout-records.ts';
import { createSession } from '../simulator/buyer.ts';
import { type TestService, call, startTestService } from '../support/service.ts';
import { assertSound } from '../support/sound.ts';

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

let on: TestService;
before(async () => {
  on = await startTestService();
  const { deps } = on.service;
  deps.routes = SENDERS.map(routeOf);
  deps.providers = new Map(SENDERS.map((sender) => [nameOf(sender), connected(sender)]));
});
after(async () => {
  try {
    await assertSound(on.databaseUrl);
    assert.equal(await on.service.deps.store.ledgerTotal(), 0);
  } finally {
    await on[Symbol.asyncDispose]();
  }
});

function connected(sender: Sender): Provider {
  const adapter = createSandboxProvider({
    url: '',
    apiKey: '',
    callbackSecret: nameOf(sender),
    now: on.clock.now,
  });
  return { ...adapter, id: sender.provider, environment: sender.environment };
}

/** Sends a callback with the sender's signature. */
async function send(sender: Sender, fields: Record<string, unknown>): Promise<string> {
  const body = JSON.stringify({ currency: 'USD', ...fields });
  const signature = signCallback(nameOf(sender), Math.floor(on.clock.now() / 1000), body);
  const answer = await call<{ outcome: string }>('POST', `${on.url}/api/providers/${nameOf(sender)}/callbacks`, body, {
    'x-provider-signature': signature,
  });
  assert.equal(answer.status, 200);
  return answer.body.outcome;
}

let buyers = 0;

/** A session of the owner's environment that no buyer has started. */
const newSession = ({ environment }: Sender) =>
  createSession(on, { environment, customer: `buyer${++buyers}@example.com` });

/** A payment that was handed off to the owner. */
async function pendingAt(owner: Sender): Promise<Payment> {
  const { deps } = on.service;
  const session = await newSession(owner);
  const attempt = { paymentId: deps.newId('pay'), invoiceId: deps.newId('inv'), route: routeOf(owner) };
  const { checkout } = await commitDecision(deps, session, (current, now) => startAttempt(current, attempt, now));
  return checkout.payments[0]!;
}

const charged = (payment: Payment, state: string, event: string) => ({
  event,
  type: 'charge.updated',
  order: payment.sessionId,
  charge: payment.id,
  state,
  amount: payment.amount,
});

async function paidAt(owner: Sender): Promise<Payment> {
  const payment = await pendingAt(owner);
  assert.equal(await send(owner, charged(payment, 'CAPTURED', `paid ${payment.id}`)), 'applied');
  return payment;
}

/** Every record that a callback about the session could change. */
async function records(sessionId: string): Promise<string> {
  const { store } = on.service.deps;
  const { discrepancies: _listed, ...checkout } = (await store.checkout(sessionId))!;
  const ofPayments = checkout.payments.map(async ({ id }) => [
    await store.ledgerOfPayment(id),
    await store.settlement(id),
  ]);
  return JSON.stringify([
    checkout,
    (await store.listRefunds({ sessionId }, { limit: 100 })).items,
    await Promise.all(ofPayments),
    await store.eventsOfSession(sessionId),
    await store.deliveriesOfSession(sessionId),
  ]);
}

const outcomeFor = (owner: Sender, sender: Sender) =>
  sender.environment === owner.environment ? 'provider_mismatch' : 'environment_mismatch';

/** Each callback, with the records that exist before it. */
const CALLBACKS: Record<string, (owner: Sender) => Promise<{ session: string; fields: Record<string, unknown> }>> = {
  'a payment that was paid': async (owner) => {
    const payment = await pendingAt(owner);
    return { session: payment.sessionId, fields: charged(payment, 'CAPTURED', 'same event') };
  },
  'a payment that failed': async (owner) => {
    const payment = await pendingAt(owner);
    return { session: payment.sessionId, fields: charged(payment, 'DECLINED', 'same event') };
  },
  'a payment in progress': async (owner) => {
    const payment = await pendingAt(owner);
    return { session: payment.sessionId, fields: charged(payment, 'PROCESSING', 'same event') };
  },
  'a refund that succeeded': async (owner) => refunding(owner, 'refund.succeeded'),
  'a refund that failed': async (owner) => refunding(owner, 'refund.failed'),
  'a settlement': async (owner) => {
    const { sessionId, id, amount } = await paidAt(owner);
    const created = Math.floor(on.clock.now() / 1000);
    const fields = { type: 'charge.settled', order: sessionId, charge: id, amount, payout: 'po_1', created };
    return { session: sessionId, fields };
  },
};

async function refunding(owner: Sender, type: string) {
  const { id, sessionId } = await paidAt(owner);
  const { refund } = await createRefund(on.service.deps, id, { amount: 10 });
  return { session: sessionId, fields: { type, order: sessionId, refund: refund.id, amount: 1000 } };
}

for (const [what, prepare] of Object.entries(CALLBACKS)) {
  describe(`a callback about ${what}`, () => {
    for (const owner of SENDERS) {
      test(`at ${nameOf(owner)} changes records for that sender only`, async () => {
        const { session, fields } = await prepare(owner);
        const callback = { ...fields, event: `${what} ${session}` };
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
        const messages = (await store.providerMessages(session)).filter(({ eventId }) => eventId === callback.event);
        assert.deepEqual(messages.map(({ outcome, flagged }) => `${outcome} ${flagged}`).toSorted(), [
          'environment_mismatch true',
          'environment_mismatch true',
          'provider_mismatch true',
        ]);
        const open = (await store.listDiscrepancies({ sessionId: session, status: 'open' }, { limit: 100 })).items;
        assert.deepEqual(new Set(open.map(({ kind }) => kind)), new Set(listed));
        // The owner's own message has the same event id, because the inbox distinguishes the senders.
        assert.equal(await send(owner, callback), 'applied');
        assert.notEqual(await records(session), start);
      });
    }
  });
}

describe('a report that names no payment', () => {
  const say = (sender: Sender, sessionId: string, eventId: string) =>
    applyProviderMessage(on.service.deps, {
      ...sender,
      callback: {
        eventId,
        sessionId,
        paymentId: null,
        status: 'paid',
        amount: 4999,
        currency: 'USD',
        txHash: null,
        failure: null,
      },
      body: '{}',
    });

  for (const owner of SENDERS) {
    test(`changes records of a session at ${nameOf(owner)} for that sender only`, async () => {
      const { sessionId } = await pendingAt(owner);
      const start = await records(sessionId);
      for (const sender of SENDERS.filter((other) => other !== owner)) {
        assert.equal((await say(sender, sessionId, sessionId)).outcome, outcomeFor(owner, sender));
        assert.equal(await records(sessionId), start);
      }
      assert.equal((await say(owner, sessionId, sessionId)).outcome, 'applied');
      assert.notEqual(await records(sessionId), start);
    });

    test(`is booked on a route of ${nameOf(owner)} if no buyer has started the session, or not at all`, async () => {
      const session = await newSession(owner);
      const start = await records(session);
      const { deps } = on.service;
      const [elsewhere] = SENDERS.filter(({ environment }) => environment !== owner.environment);
      assert.equal((await say(elsewhere!, session, session)).outcome, 'environment_mismatch');
      deps.routes = SENDERS.filter((sender) => sender !== owner).map(routeOf);
      assert.equal((await say(owner, session, `no route ${session}`)).outcome, 'unknown_payment');
      assert.equal(await records(session), start);
      const { items } = await deps.store.listDiscrepancies({ sessionId: session }, { limit: 10 });
      assert.deepEqual(
        items.map(({ kind, paymentId }) => [kind, paymentId]),
        [
          ['unknown_payment', null],
          ['environment_mismatch', null],
        ],
      );
      deps.routes = SENDERS.map(routeOf);
      assert.equal((await say(owner, session, session)).outcome, 'applied');
      const [payment] = (await deps.store.checkout(session))!.payments;
      assert.deepEqual([payment!.status, payment!.route.id], ['paid', routeOf(owner).id]);
    });
  }

  test('is about an earlier attempt at its sender, not about a newer one at another provider', async () => {
    const [alpha, beta] = [SENDERS[0]!, SENDERS[1]!];
    const { deps } = on.service;
    const first = await pendingAt(alpha);
    assert.equal(await send(alpha, charged(first, 'DECLINED', `declined ${first.id}`)), 'applied');
    const attempt = { paymentId: deps.newId('pay'), invoiceId: deps.newId('inv'), route: routeOf(beta) };
    await commitDecision(deps, first.sessionId, (current, now) => startAttempt(current, attempt, now));
    assert.equal((await say(alpha, first.sessionId, `late ${first.id}`)).outcome, 'applied');
    const { payments } = (await deps.store.checkout(first.sessionId))!;
    assert.deepEqual(
      payments.map(({ status, route }) => [route.provider, status]),
      [
        ['alpha', 'paid'],
        ['beta', 'failed'],
      ],
    );
  });
});

test('a payment stays with its provider after its route has left the catalogue', async () => {
  const [owner, other] = [SENDERS[0]!, SENDERS[1]!];
  const { deps } = on.service;
  const payment = await pendingAt(owner);
  deps.routes = SENDERS.filter((sender) => sender !== owner).map(routeOf);
  try {
    const start = await records(payment.sessionId);
    const callback = charged(payment, 'CAPTURED', `removed ${payment.id}`);
    assert.equal(await send(other, callback), 'provider_mismatch');
    assert.equal(await records(payment.sessionId), start);
    assert.equal(await send(owner, callback), 'applied');
  } finally {
    deps.routes = SENDERS.map(routeOf);
  }
});

test('an answer to an inquiry changes payments of the asked provider only', async () => {
  for (const owner of SENDERS) {
    const payment = await pendingAt(owner);
    const start = await records(payment.sessionId);
    const report = { paymentId: null, status: 'paid', amount: 4999, currency: 'USD', txHash: null } as const;
    for (const sender of [...SENDERS.filter((other) => other !== owner), owner]) {
      const provider = on.service.deps.providers.get(nameOf(sender))!;
      const { outcome } = await applyReport(on.service.deps, provider, payment, { ...report, failure: null });
      assert.equal(outcome, sender === owner ? 'applied' : outcomeFor(owner, sender));
      assert.equal((await records(payment.sessionId)) === start, sender !== owner);
    }
  }
});

test('a discrepancy of another provider holds no money: it is closed with a note, and posts nothing', async () => {
  const [owner, other] = [SENDERS[0]!, SENDERS[1]!];
  const payment = await pendingAt(owner);
  await send(other, charged(payment, 'CAPTURED', `closed ${payment.id}`));
  const start = await records(payment.sessionId);
  const list = `${on.url}/api/gateway/discrepancies`;
  const { body } = await call<{ data: { id: string; kind: string; provider: string; actions: string[] }[] }>(
    'GET',
    `${list}?sessionId=${payment.sessionId}&kind=provider_mismatch`,
  );
  const [found] = body.data;
  assert.deepEqual([found?.provider, found?.actions], ['beta', ['accept']]);
  assert.equal((await call('POST', `${list}/${found!.id}/resolve`, { action: 'refund' })).status, 409);
  assert.equal((await call('POST', `${list}/${found!.id}/resolve`, { action: 'accept', note: 'seen' })).status, 200);
  assert.equal(await records(payment.sessionId), start);
});
