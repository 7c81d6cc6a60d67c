// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Payment } from '../../src/domain/records.ts';
import { createRefund } from '../../src/operations/refunds/create-refund.ts';
import type { Provider } from '../../src/providers/provider.ts';
import { createSandboxProvider } from '../../src/providers/sandbox.ts';
import { signCallback } from '../../src/webhooks/sign.ts';
import { createSession, start } from '../simulator/buyer.ts';
import { type TestService, call, startTestService } from '../support/service.ts';
import { assertSound } from '../support/sound.ts';

const SECRET = 'a secret of this test';
const FLOOD = 50;

type Fields = Record<string, unknown>;
interface Discrepancy {
  id: string;
  kind: string;
  providerEventId: string;
  paymentId: string | null;
  expected: number;
  received: number;
  actions: string[];
}

let on: TestService;
let other: TestService;
before(async () => {
  on = await startTestService();
  other = await startTestService({ beside: on });
  for (const { service, clock } of [on, other]) {
    const adapter = createSandboxProvider({ url: '', apiKey: '', callbackSecret: SECRET, now: clock.now });
    const { providers } = service.deps;
    service.deps.providers = new Map<string, Provider>([
      ['sandbox', { ...providers.get('sandbox')!, readCallback: adapter.readCallback }],
    ]);
  }
});
after(async () => {
  try {
    await assertSound(on.databaseUrl);
    assert.equal(await on.service.deps.store.ledgerTotal(), 0);
  } finally {
    await other[Symbol.asyncDispose]();
    await on[Symbol.asyncDispose]();
  }
});

/** Sends a callback signed like the provider's, and returns its outcome. `spaces` changes its bytes, not its content. */
async function send(
  fields: Fields,
  { to = on, spaces = 0 }: { to?: TestService; spaces?: number } = {},
): Promise<string> {
  const body = JSON.stringify({ currency: 'USD', ...fields }, null, spaces);
  const signature = signCallback(SECRET, Math.floor(to.clock.now() / 1000), body);
  const headers = { 'x-provider-signature': signature };
  const answer = await call<{ outcome: string }>('POST', `${to.url}/api/providers/sandbox/callbacks`, body, headers);
  assert.equal(answer.status, 200);
  return answer.body.outcome;
}

let buyers = 0;

async function started(): Promise<Payment> {
  const session = await createSession(on, { customer: `buyer${++buyers}@example.com` });
  await start(on, session, 'card');
  return (await on.service.deps.store.checkout(session))!.payments[0]!;
}

const captured = ({ id, sessionId, amount }: Payment, event: string): Fields => ({
  event,
  type: 'charge.updated',
  order: sessionId,
  charge: id,
  state: 'CAPTURED',
  amount,
});

async function paid(): Promise<Payment> {
  const payment = await started();
  assert.equal(await send(captured(payment, `paid ${payment.id}`)), 'applied');
  return payment;
}

const settled = ({ id, sessionId, amount }: Payment, event: string): Fields => ({
  event,
  type: 'charge.settled',
  order: sessionId,
  charge: id,
  amount,
  payout: 'po_1',
  created: Math.floor(on.clock.now() / 1000),
});

async function refunded(payment: Payment, event: string): Promise<Fields> {
  const { refund } = await createRefund(on.service.deps, payment.id, { amount: 10 });
  return { event, type: 'refund.succeeded', order: payment.sessionId, refund: refund.id, amount: 1000 };
}

/** Every record of the sessions that a callback could change. */
async function records(...sessions: string[]): Promise<string> {
  const { store } = on.service.deps;
  const all = sessions.map(async (sessionId) => {
    const { discrepancies: _listed, ...checkout } = (await store.checkout(sessionId))!;
    return [
      checkout,
      (await store.listRefunds({ sessionId }, { limit: 100 })).items,
      await Promise.all(checkout.payments.map(({ id }) => store.ledgerOfPayment(id))),
      await Promise.all(checkout.payments.map(({ id }) => store.settlement(id))),
      await store.eventsOfSession(sessionId),
    ];
  });
  return JSON.stringify(await Promise.all(all));
}

const messagesOf = async (sessionId: string, event: unknown) =>
  (await on.service.deps.store.providerMessages(sessionId)).filter(({ eventId }) => eventId === event);
const conflictsOf = async (sessionId: string) => {
  const query = `sessionId=${sessionId}&kind=event_conflict`;
  return (await call<{ data: Discrepancy[] }>('GET', `${on.url}/api/gateway/discrepancies?${query}`)).body.data;
};
const warnings = () => on.logged.filter((line) => (JSON.parse(line) as { level: number }).level >= 40).length;

/** For each kind of callback, its first content and different contents with the same event id. */
const KINDS: Record<string, () => Promise<{ first: Fields; resent: Fields; others: Record<string, Fields> }>> = {
  payment: async () => {
    const [payment, second] = [await started(), await started()];
    const first = captured(payment, `event ${payment.id}`);
    const others = {
      'another session': { ...first, order: second.sessionId, charge: second.id },
      'another amount': { ...first, amount: 9999 },
      'another status': { ...first, state: 'DECLINED' },
      'another currency': { ...first, currency: 'EUR' },
      'another payment': { ...first, charge: second.id },
      'a settlement': settled(payment, `event ${payment.id}`),
    };
    return { first, resent: { ...first, transaction: 'sim_1' }, others };
  },
  refund: async () => {
    const [payment, second] = [await paid(), await paid()];
    const first = await refunded(payment, `event ${payment.id}`);
    const others = {
      'another refund of another session': await refunded(second, `event ${payment.id}`),
      'another session': { ...first, order: second.sessionId },
      'another amount': { ...first, amount: 999 },
      'another status': { ...first, type: 'refund.failed' },
      'another currency': { ...first, currency: 'EUR' },
      'a payment': { ...captured(payment, `event ${payment.id}`), state: 'DECLINED' },
    };
    return { first, resent: { ...first, reason: 'in other words' }, others };
  },
  settlement: async () => {
    const [payment, second] = [await paid(), await paid()];
    const first = settled(payment, `event ${payment.id}`);
    const others = {
      'another session': { ...first, order: second.sessionId, charge: second.id },
      'another amount': { ...first, amount: 9999 },
      'another currency': { ...first, currency: 'EUR' },
      'a refund': await refunded(second, `event ${payment.id}`),
    };
    return { first, resent: { ...first, created: 1_700_000_000, payout: null }, others };
  },
};

for (const [kind, prepare] of Object.entries(KINDS)) {
  describe(`a callback about a ${kind} with a reused event id`, () => {
    test('is a silent duplicate if it has the same content, whatever its bytes, times and descriptions', async () => {
      const { first, resent } = await prepare();
      assert.equal(await send(first), 'applied');
      const sessionId = String(first['order']);
      const [start, warned] = [await records(sessionId), warnings()];
      assert.equal(await send(first), 'duplicate');
      assert.equal(await send(first, { spaces: 2 }), 'duplicate');
      assert.equal(await send(resent), 'duplicate');
      assert.equal(await records(sessionId), start);
      assert.equal((await messagesOf(sessionId, first['event'])).length, 1);
      assert.deepEqual(await conflictsOf(sessionId), []);
      assert.equal(warnings(), warned);
    });

    test('is stored, flagged, listed and logged if it has different content, and changes nothing', async () => {
      const { others } = await prepare();
      for (const what of Object.keys(others)) {
        const { first, others: fresh } = await prepare();
        const content = fresh[what]!;
        assert.equal(await send(first), 'applied', what);
        const sessions = [String(first['order']), String(content['order'])];
        const [start, warned] = [await records(...sessions), warnings()];
        assert.equal(await send(content), 'event_conflict', what);
        assert.equal(await records(...sessions), start, what);
        assert.equal(warnings(), warned + 1, what);
        // A message about a refund belongs to the session of that refund.
        const session = kind === 'refund' && what === 'another session' ? sessions[0]! : sessions[1]!;
        const stored = (await messagesOf(session, first['event'])).filter(({ flagged }) => flagged);
        assert.deepEqual(
          stored.map(({ outcome, body }) => [outcome, JSON.parse(body)]),
          [['event_conflict', { currency: 'USD', ...content }]],
          what,
        );
        const listed = await conflictsOf(session);
        assert.deepEqual(
          listed.map(({ providerEventId, expected, actions }) => [providerEventId, expected, actions]),
          [[first['event'], 0, ['accept']]],
          what,
        );
        assert.equal(await send(content, { spaces: 2 }), 'duplicate', what);
        assert.equal(await send(first), 'duplicate', what);
        assert.equal(warnings(), warned + 1, what);
      }
    });
  });
}

test('of many different contents under one event id, one is stored for each session, and each is logged', async () => {
  const payment = await started();
  const first = captured(payment, `flood ${payment.id}`);
  assert.equal(await send(first), 'applied');
  const [start, warned] = [await records(payment.sessionId), warnings()];
  for (let index = 0; index < FLOOD; index++) {
    assert.equal(await send({ ...first, amount: 10_000 + index }), 'event_conflict');
  }
  assert.equal(warnings(), warned + FLOOD);
  assert.equal((await messagesOf(payment.sessionId, first['event'])).length, 2);
  assert.deepEqual(
    (await conflictsOf(payment.sessionId)).map(({ received }) => received),
    [100],
  );
  assert.equal(await records(payment.sessionId), start);
});

test('if two instances receive different contents at once, one is applied and the other is listed', async () => {
  for (let round = 0; round < 5; round++) {
    const [one, two] = [await started(), await started()];
    const event = `race ${one.id}`;
    const outcomes = await Promise.all([send(captured(one, event)), send(captured(two, event), { to: other })]);
    assert.deepEqual(outcomes.toSorted(), ['applied', 'event_conflict']);
    const sessions = outcomes[0] === 'applied' ? [one, two] : [two, one];
    const { store } = on.service.deps;
    const statuses = sessions.map(async ({ sessionId }) => (await store.session(sessionId))!.status);
    assert.deepEqual(await Promise.all(statuses), ['paid', 'pending']);
    const listed = sessions.map(async ({ sessionId }) => (await conflictsOf(sessionId)).length);
    assert.deepEqual(await Promise.all(listed), [0, 1]);
  }
});

test('the discrepancy holds no money: a refund is refused, and closing it with a note posts nothing', async () => {
  const [payment, second] = [await started(), await started()];
  const event = `closed ${payment.id}`;
  await send(captured(payment, event));
  assert.equal(await send(captured(second, event)), 'event_conflict');
  const [found] = await conflictsOf(second.sessionId);
  assert.deepEqual([found!.paymentId, found!.received], [second.id, 49.99]);
  const start = await records(payment.sessionId, second.sessionId);
  const path = `${on.url}/api/gateway/discrepancies/${found!.id}/resolve`;
  assert.equal((await call('POST', path, { action: 'refund' })).status, 409);
  assert.equal((await call('POST', path, { action: 'accept' })).status, 400);
  const closed = await call<{ resolution: string }>('POST', path, { action: 'accept', note: 'seen by the provider' });
  assert.deepEqual([closed.status, closed.body.resolution], [200, 'accepted']);
  assert.equal(await records(payment.sessionId, second.sessionId), start);
});
