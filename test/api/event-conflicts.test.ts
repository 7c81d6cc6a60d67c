// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Discrepancy } from '../../sdk/src/index.ts';
import type { Payment } from '../../src/domain/records.ts';
import { SECRET, createSession, start, trustSecret } from '../simulator/buyer.ts';
import { type CallbackFields, charged, recordsOf, refunded, sendCallback, settled } from '../support/callbacks.ts';
import { gatewayOf, paymentsOf, pick } from '../support/gateway.ts';
import type { TestService } from '../support/service.ts';
import { suiteInstances } from '../support/suite.ts';

const FLOOD = 50;

const [on, other] = suiteInstances(2, { sound: true }, () => [on, other].forEach(trustSecret)) as [
  TestService,
  TestService,
];

const send = (fields: CallbackFields, { to = on, spaces = 0 } = {}) =>
  sendCallback(to, fields, { secret: SECRET, spaces });

let buyers = 0;

async function startPayment(): Promise<Payment> {
  const session = await createSession(on, { customer: `buyer${++buyers}@example.com` });
  await start(on, session, 'card');
  return (await paymentsOf(on, session))[0]!;
}

async function payPayment(): Promise<Payment> {
  const payment = await startPayment();
  assert.equal(await send(charged(payment, `paid ${payment.id}`)), 'applied');
  return payment;
}

const records = (...sessions: string[]) => recordsOf(on, ...sessions);
const messagesOf = async (sessionId: string, event: unknown) =>
  (await on.service.deps.store.providerMessages(sessionId)).filter(({ eventId }) => eventId === event);
const conflictsOf = (sessionId: string) =>
  gatewayOf(on).list<Discrepancy>(`discrepancies?sessionId=${sessionId}&kind=event_conflict`);
const warnings = () => on.logged.filter((line) => (JSON.parse(line) as { level: number }).level >= 40).length;

/** For each kind of callback: the first content, an equivalent resend, and other contents with the same event id. */
const KINDS: Record<
  string,
  () => Promise<{ first: CallbackFields; resent: CallbackFields; others: Record<string, CallbackFields> }>
> = {
  payment: async () => {
    const [payment, second] = [await startPayment(), await startPayment()];
    const first = charged(payment, `event ${payment.id}`);
    const others = {
      'another session': { ...first, order: second.sessionId, charge: second.id },
      'another amount': { ...first, amount: 9999 },
      'another status': { ...first, state: 'DECLINED' },
      'another currency': { ...first, currency: 'EUR' },
      'another payment': { ...first, charge: second.id },
      'a settlement': settled(on, payment, `event ${payment.id}`),
    };
    return { first, resent: { ...first, transaction: 'sim_1' }, others };
  },
  refund: async () => {
    const [payment, second] = [await payPayment(), await payPayment()];
    const first = await refunded(on, payment, `event ${payment.id}`);
    const others = {
      'another refund of another session': await refunded(on, second, `event ${payment.id}`),
      'another session': { ...first, order: second.sessionId },
      'another amount': { ...first, amount: 999 },
      'another status': { ...first, type: 'refund.failed' },
      'another currency': { ...first, currency: 'EUR' },
      'a payment': { ...charged(payment, `event ${payment.id}`), state: 'DECLINED' },
    };
    return { first, resent: { ...first, reason: 'in other words' }, others };
  },
  settlement: async () => {
    const [payment, second] = [await payPayment(), await payPayment()];
    const first = settled(on, payment, `event ${payment.id}`);
    const others = {
      'another session': { ...first, order: second.sessionId, charge: second.id },
      'another amount': { ...first, amount: 9999 },
      'another currency': { ...first, currency: 'EUR' },
      'a refund': await refunded(on, second, `event ${payment.id}`),
    };
    return { first, resent: { ...first, created: 1_700_000_000, payout: null }, others };
  },
};

for (const [kind, prepare] of Object.entries(KINDS)) {
  describe(`a callback about a ${kind} with a reused event id`, () => {
    test(`a ${kind} callback with a reused event id is a duplicate without a warning if only its bytes, times or descriptions differ`, async () => {
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

    test(`a ${kind} callback with a reused event id and different content is stored, flagged, listed and logged, and changes no record`, async () => {
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
        // The service stores a callback about a refund under the session of the refund, not under the session in the callback.
        const session = kind === 'refund' && what === 'another session' ? sessions[0]! : sessions[1]!;
        const stored = (await messagesOf(session, first['event'])).filter(({ flagged }) => flagged);
        assert.deepEqual(
          stored.map(({ outcome, body }) => [outcome, JSON.parse(body)]),
          [['event_conflict', { currency: 'USD', ...content }]],
          what,
        );
        const listed = pick(await conflictsOf(session), 'providerEventId', 'expected', 'actions');
        assert.deepEqual(listed, [[first['event'], 0, ['accept']]], what);
        assert.equal(await send(content, { spaces: 2 }), 'duplicate', what);
        assert.equal(await send(first), 'duplicate', what);
        assert.equal(warnings(), warned + 1, what);
      }
    });
  });
}

test('if many contents arrive under one event id, one conflict is stored per session, and each is logged', async () => {
  const payment = await startPayment();
  const first = charged(payment, `flood ${payment.id}`);
  assert.equal(await send(first), 'applied');
  const [start, warned] = [await records(payment.sessionId), warnings()];
  for (let index = 0; index < FLOOD; index++)
    assert.equal(await send({ ...first, amount: 10_000 + index }), 'event_conflict');
  assert.equal(warnings(), warned + FLOOD);
  assert.equal((await messagesOf(payment.sessionId, first['event'])).length, 2);
  assert.deepEqual(pick(await conflictsOf(payment.sessionId), 'received'), [[100]]);
  assert.equal(await records(payment.sessionId), start);
});

test('if two instances receive different contents under one event id at once, one is applied and the other is listed', async () => {
  for (let round = 0; round < 5; round++) {
    const [one, two] = [await startPayment(), await startPayment()];
    const event = `race ${one.id}`;
    const outcomes = await Promise.all([send(charged(one, event)), send(charged(two, event), { to: other })]);
    assert.deepEqual(outcomes.toSorted(), ['applied', 'event_conflict']);
    const sessions = outcomes[0] === 'applied' ? [one, two] : [two, one];
    const { store } = on.service.deps;
    const statuses = sessions.map(async ({ sessionId }) => (await store.session(sessionId))!.status);
    assert.deepEqual(await Promise.all(statuses), ['paid', 'pending']);
    const listed = sessions.map(async ({ sessionId }) => (await conflictsOf(sessionId)).length);
    assert.deepEqual(await Promise.all(listed), [0, 1]);
  }
});
