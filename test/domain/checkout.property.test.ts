import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { Decision } from '../../src/domain/checkout-state.ts';
import { paidPosting, settledPosting } from '../../src/domain/ledger.ts';
import { shareOf } from '../../src/domain/money.ts';
import type { Checkout, Session } from '../../src/domain/records.ts';
import { REFUND_STATUSES } from '../../src/domain/refund-record.ts';
import { type Decisions, type History, type Step, DECISIONS as real, walk } from '../fixtures/checkout-history.ts';
import { anyFailure } from '../fixtures/failures.ts';

const HOUR = 3_600_000;
const RUNS = 3000;
const FAULT_RUNS = 2000;
const SEEDS = 20;

const somePayment = fc.integer({ min: 0, max: 5 });
const oneOrNone = fc.oneof({ weight: 6, arbitrary: somePayment }, { weight: 1, arbitrary: fc.constantFrom(-1, -2) });
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ type: fc.constant('start' as const), route: fc.integer({ min: 0, max: 2 }) }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('accept' as const), payment: oneOrNone }) },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('refuse' as const),
      payment: oneOrNone,
      failover: fc.boolean(),
      mayArrive: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constantFrom('unclear', 'lose'), payment: oneOrNone }) },
  {
    weight: 9,
    arbitrary: fc.record({
      type: fc.constant('event' as const),
      payment: oneOrNone,
      status: fc.constantFrom('provider_pending' as const, 'paid' as const, 'failed' as const, 'failed' as const),
      wrong: fc.constantFrom(
        ...Array.from({ length: 9 }, () => 'nothing' as const),
        'amount' as const,
        'currency' as const,
        'environment' as const,
        'provider' as const,
      ),
      txHash: fc.constantFrom(null, 'tx_1', 'tx_2'),
      failure: anyFailure,
      endsCheckout: fc.constantFrom(false, false, false, true),
    }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('repeat' as const), event: fc.nat(9) }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constantFrom('abandon' as const, 'abandonCheckout' as const) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('expire' as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('applyElapsedTime' as const),
      jump: fc.oneof(
        fc.constantFrom('before' as const, 'at' as const, 'after' as const),
        fc.integer({ min: -2 * HOUR, max: 48 * HOUR }),
      ),
    }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('sleep' as const), ms: fc.integer({ min: 0, max: HOUR }) }) },
  {
    weight: 3,
    arbitrary: fc.oneof(
      fc.record({ type: fc.constant('settle' as const), payment: oneOrNone }),
      fc.record({ type: fc.constant('refund' as const), payment: oneOrNone, share: fc.integer({ min: 0, max: 17 }) }),
      fc.record({ type: fc.constant('told' as const), refund: fc.nat(5), status: fc.constantFrom(...REFUND_STATUSES) }),
    ),
  },
);
const anyHistory: fc.Arbitrary<History> = fc.record({
  amount: fc.oneof(fc.integer({ min: 1, max: 1_000_000 }), fc.constantFrom(1, 100, 500, 1_500, 999_999, 1_000_000)),
  rates: fc.record({
    buyerFeeRate: fc.constantFrom(0, 2_500, 5_000, 12_345),
    gatewayFeeRate: fc.constantFrom(0, 12_000, 29_000, 500_000),
    providerCostRate: fc.constantFrom(0, 19_000, 34_900),
  }),
  steps: fc.array(anyStep, { minLength: 1, maxLength: 25, size: 'max' }),
});

test('every history of a checkout keeps the promises of the design, after every step', () => {
  fc.assert(
    fc.property(anyHistory, (history) => walk(real, history)),
    { numRuns: RUNS },
  );
});

test('histories reach every status, surplus money and late money: the walk above is not idle', () => {
  const seen = new Set<string>();
  const noting: Decisions = {
    ...real,
    applyProviderEvent(checkout, ...rest) {
      const decision = real.applyProviderEvent(checkout, ...rest);
      const { session, payments } = decision.next;
      seen.add(`${checkout.session.status}->${session.status}`).add(decision.outcome);
      for (const { surplus, failureCode, ledgerStatus } of payments) {
        seen.add(`surplus ${surplus}`).add(String(failureCode)).add(ledgerStatus);
      }
      return decision;
    },
  };
  fc.assert(
    fc.property(anyHistory, (history) => walk(noting, history)),
    { numRuns: FAULT_RUNS, seed: 1 },
  );
  const wanted = ['routed->paid', 'routed->pending', 'pending->paid', 'failed->paid', 'expired->paid', 'surplus true'];
  const codes = ['declined', 'handoff_refused', 'timed_out', 'abandoned', 'superseded', 'settled', 'refunded'];
  const outcomes = [
    'applied',
    'ignored',
    'amount_mismatch',
    'environment_mismatch',
    'provider_mismatch',
    'unknown_payment',
  ];
  for (const sight of [...wanted, ...codes, ...outcomes]) assert.ok(seen.has(sight), `never met: ${sight}`);
});

type Event = Parameters<Decisions['applyProviderEvent']>;

/** Decisions on events as `change` makes them. */
function hearing(change: (event: Event[1], checkout: Checkout) => Event[1]): Partial<Decisions> {
  return {
    applyProviderEvent: (checkout, event, ...rest) =>
      real.applyProviderEvent(checkout, change(event, checkout), ...rest),
  };
}

function withoutEffect(name: keyof Decisions, type: string): Partial<Decisions> {
  const decide = real[name] as (...args: unknown[]) => Decision<string>;
  return { [name]: (...args: unknown[]) => without(decide(...args), type) };
}

/** Each breaks one promise; a harness that lets one pass proves nothing. */
const FAULTS: [fault: string, complaint: string, decisions: Partial<Decisions>][] = [
  [
    'a late failure undoes a payment',
    'session moved paid -> failed',
    {
      applyProviderEvent(...args: Event) {
        const [checkout, event] = args;
        const paid = checkout.payments.find(({ id, status }) => id === event.paymentId && status === 'paid');
        if (event.status !== 'failed' || !paid) return real.applyProviderEvent(...args);
        const payments = checkout.payments.map((payment) =>
          payment === paid ? { ...payment, status: 'failed' as const, failureCode: 'declined' as const } : payment,
        );
        return moved({ outcome: 'applied', next: { ...checkout, payments }, effects: [] }, { status: 'failed' });
      },
    },
  ],
  [
    'a duplicate posts twice',
    'the same message again changes nothing',
    {
      applyProviderEvent(...args: Event) {
        const [checkout, event, , now] = args;
        const paid = checkout.payments.find(({ id, status }) => id === event.paymentId && status === 'paid');
        if (event.status !== 'paid' || !paid) return real.applyProviderEvent(...args);
        return moved({
          outcome: 'applied',
          next: { ...checkout, payments: checkout.payments.map((payment) => ({ ...payment, txHash: 'again' })) },
          effects: [{ type: 'post', posting: paidPosting(paid, now) }],
        });
      },
    },
  ],
  [
    'fees are rounded each by itself',
    'fees sum to the cent',
    {
      startAttempt(checkout, attempt, now) {
        const decision = real.startAttempt(checkout, attempt, now);
        return decision.next === checkout ? decision : withNet(decision, 1_000_000 - attempt.route.gatewayFeeRate);
      },
    },
  ],
  ['a wrong amount is applied', '_mismatch', hearing((event, { session }) => ({ ...event, amount: session.amount }))],
  ['a wrong currency is applied', '_mismatch', hearing((event) => ({ ...event, currency: 'USD' }))],
  ['the other environment moves a session', '_mismatch', hearing((event) => ({ ...event, environment: 'sandbox' }))],
  [
    'another provider moves a session',
    'another provider is flagged',
    hearing((event) => ({ ...event, provider: 'sandbox' })),
  ],
  [
    'an unknown payment is taken for the current one',
    'a payment of nobody is flagged',
    hearing((event, { payments }) =>
      payments.some(({ id }) => id === event.paymentId) ? event : { ...event, paymentId: null },
    ),
  ],
  [
    'a message about a paid session is taken for surplus money',
    'pays nothing twice',
    hearing((event, { session, payments }) => {
      const last = payments.at(-1)?.id ?? null;
      return { ...event, paymentId: event.paymentId ?? (session.status === 'paid' ? last : null) };
    }),
  ],
  ['surplus is not refunded', 'surplus is refunded', withoutEffect('applyProviderEvent', 'refund_requested')],
  [
    'surplus closes its invoice as paid',
    'an invoice says what its payment says',
    {
      applyProviderEvent(...args) {
        const decision = real.applyProviderEvent(...args);
        const surplus = new Set(decision.next.payments.filter((payment) => payment.surplus).map(({ id }) => id));
        if (surplus.size === 0 || decision.next === args[0]) return decision;
        const invoices = decision.next.invoices.map((invoice) =>
          surplus.has(invoice.paymentId) ? { ...invoice, status: 'paid' as const } : invoice,
        );
        return { ...decision, next: { ...decision.next, invoices } };
      },
    },
  ],
  [
    'late money leaves the newer attempt running at its provider',
    'cancelled at its provider',
    withoutEffect('applyProviderEvent', 'cancel_at_provider'),
  ],
  [
    'paid is not announced',
    'paid is announced exactly when it is reached',
    withoutEffect('applyProviderEvent', 'announce'),
  ],
  [
    'a failure that ends the checkout is not announced',
    'failed is announced exactly when it is reached',
    {
      applyProviderEvent(...args) {
        const decision = real.applyProviderEvent(...args);
        return args[1].endsCheckout === true && args[1].status === 'failed' ? without(decision, 'announce') : decision;
      },
    },
  ],
  [
    'every failed attempt is announced',
    'failed is announced exactly when it is reached',
    {
      abandonAttempt(checkout, now) {
        const decision = real.abandonAttempt(checkout, now);
        const [payment] = checkout.payments;
        if (decision.next === checkout || !payment) return decision;
        return { ...decision, effects: [...decision.effects, { type: 'announce', status: 'failed', payment }] };
      },
    },
  ],
  [
    'the buyer may leave a payment of which nobody knows who has it',
    'while nobody knows who has a payment, there is no other way',
    {
      abandonAttempt(checkout, now) {
        const payments = checkout.payments.map((one) => ({
          ...one,
          providerReference: one.providerReference ?? 'ref',
        }));
        const decision = real.abandonAttempt({ ...checkout, payments }, now);
        return decision.outcome === 'ignored' ? { ...decision, next: checkout } : decision;
      },
    },
  ],
  [
    'a handoff is announced every time',
    'announced twice: provider_pending',
    {
      acceptHandoff(checkout, handoff) {
        const decision = real.acceptHandoff(checkout, handoff);
        const payment = decision.next.payments.find(({ id }) => id === handoff.paymentId);
        if (decision.outcome !== 'accepted' || !payment || !checkout.session.announced) return decision;
        return { ...decision, effects: [{ type: 'announce', status: 'provider_pending', payment }] };
      },
    },
  ],
  [
    'a second attempt starts while one is pending',
    'one pending payment at most',
    {
      startAttempt(checkout, attempt, now) {
        const payments = checkout.payments.filter(({ status }) => status !== 'pending');
        const decision = real.startAttempt({ ...checkout, payments }, attempt, now);
        if (decision.outcome !== 'started') return { ...decision, next: checkout };
        return { ...decision, next: { ...decision.next, payments: [...checkout.payments, ...decision.next.payments] } };
      },
    },
  ],
  [
    'a buyer may try for ever',
    'attempts are used up',
    {
      rejectHandoff: (checkout, ...rest) => uncounted(checkout, (other) => real.rejectHandoff(other, ...rest)),
      applyProviderEvent: (checkout, ...rest) =>
        uncounted(checkout, (other) => real.applyProviderEvent(other, ...rest)),
      abandonAttempt: (checkout, now) => uncounted(checkout, (other) => real.abandonAttempt(other, now)),
      startAttempt(checkout, attempt, now) {
        const session = { ...checkout.session, attempts: 0 };
        const decision = real.startAttempt({ ...checkout, session }, attempt, now);
        if (decision.outcome !== 'started') return { ...decision, next: checkout };
        return withSession(decision, { attempts: checkout.session.attempts + 1 });
      },
    },
  ],
  [
    'an expired session can be started',
    'session moved expired -> pending',
    {
      startAttempt(checkout, attempt, now) {
        if (checkout.session.status !== 'expired') return real.startAttempt(checkout, attempt, now);
        const reopened: Session = { ...checkout.session, status: 'routed', wakeAt: null };
        return real.startAttempt({ ...checkout, session: reopened }, attempt, now);
      },
    },
  ],
  [
    'a started session expires',
    'session moved pending -> expired',
    {
      expireSession(checkout) {
        if (checkout.session.status !== 'pending') return real.expireSession(checkout);
        return moved({ outcome: 'expired', next: checkout, effects: [] }, { status: 'expired', wakeAt: null });
      },
    },
  ],
  [
    'nobody wakes a session after a failed attempt',
    'where nobody wakes, time changes nothing',
    {
      abandonAttempt: (checkout, now) => sleeping(checkout, real.abandonAttempt(checkout, now)),
    },
  ],
  [
    'the version stays',
    'the version grows by one with a change',
    {
      acceptHandoff(checkout, handoff) {
        const decision = real.acceptHandoff(checkout, handoff);
        const { version } = checkout.session;
        return decision.next === checkout ? decision : withSession(decision, { version });
      },
    },
  ],
  [
    'the version grows without a change',
    'a changed checkout differs from the one before',
    {
      expireSession(checkout) {
        const decision = real.expireSession(checkout);
        return decision.next === checkout ? moved(decision) : decision;
      },
    },
  ],
  [
    'an unchanged checkout is a new object',
    'the version grows by one with a change',
    {
      abandonCheckout(checkout, now) {
        const decision = real.abandonCheckout(checkout, now);
        return decision.next === checkout ? { ...decision, next: { ...checkout } } : decision;
      },
    },
  ],
  [
    'money is settled twice',
    'posted twice',
    {
      recordSettlement(checkout, paymentId, now) {
        const decision = real.recordSettlement(checkout, paymentId, now);
        const payment = checkout.payments.find(({ id }) => id === paymentId);
        if (decision.outcome !== 'ignored' || !payment) return decision;
        const payments = checkout.payments.map((other) => ({ ...other, txHash: `settled at ${now}` }));
        const next = { ...checkout, payments };
        return moved({ ...decision, next, effects: [{ type: 'post', posting: settledPosting(payment, 1, now) }] });
      },
    },
  ],
  ['a refund is not booked', 'a refund is booked when it is asked for', withoutEffect('requestRefund', 'post')],
  [
    'a timed-out attempt goes on at its provider',
    'cancelled at its provider',
    withoutEffect('applyElapsedTime', 'cancel_at_provider'),
  ],
  [
    'what the provider accepted too late goes on there',
    'accepted too late: cancelled',
    withoutEffect('acceptHandoff', 'cancel_at_provider'),
  ],
  [
    'a decision writes into what it was given',
    'Cannot assign to read only property',
    {
      abandonAttempt(checkout, now) {
        const decision = real.abandonAttempt(checkout, now);
        if (decision.next !== checkout) Object.assign(checkout.session, { retryUntil: now });
        return decision;
      },
    },
  ],
];

for (const [fault, complaint, decisions] of FAULTS) {
  test(`the walk finds it where ${fault}`, () => {
    const property = fc.property(anyHistory, (history) => walk({ ...real, ...decisions }, history));
    // A fault can break other promises too, and those may be met first.
    const met = new Set<string>();
    for (let seed = 42; seed < 42 + SEEDS; seed++) {
      const { failed, errorInstance } = fc.check(property, { numRuns: FAULT_RUNS, seed, endOnFailure: true });
      const found = failed ? String(errorInstance) : 'nothing';
      if (found.includes(complaint)) return;
      met.add(found);
    }
    assert.fail(`not found; instead: ${[...met].join('; ')}`);
  });
}

function withSession<Outcome extends string>(decision: Decision<Outcome>, fields: Partial<Session>): Decision<Outcome> {
  return { ...decision, next: { ...decision.next, session: { ...decision.next.session, ...fields } } };
}

function moved<Outcome extends string>(decision: Decision<Outcome>, fields: Partial<Session> = {}): Decision<Outcome> {
  return withSession(decision, { ...fields, version: decision.next.session.version + 1 });
}

function without<Outcome extends string>(decision: Decision<Outcome>, type: string): Decision<Outcome> {
  return { ...decision, effects: decision.effects.filter((effect) => effect.type !== type) };
}

/** Decision for the same session with an unlimited number of attempts. */
function uncounted<Outcome extends string>(
  checkout: Checkout,
  decide: (checkout: Checkout) => Decision<Outcome>,
): Decision<Outcome> {
  const { attempts } = checkout.session;
  const forgetful = { ...checkout, session: { ...checkout.session, attempts: 0 } };
  const decision = decide(forgetful);
  return decision.next === forgetful ? { ...decision, next: checkout } : withSession(decision, { attempts });
}

function sleeping<Outcome extends string>(before: Checkout, decision: Decision<Outcome>): Decision<Outcome> {
  return decision.next === before ? decision : withSession(decision, { wakeAt: null });
}

function withNet<Outcome extends string>(decision: Decision<Outcome>, netRate: number): Decision<Outcome> {
  const last = decision.next.payments.length - 1;
  const payments = decision.next.payments.map((payment, index) =>
    index === last ? { ...payment, fees: { ...payment.fees, merchantNet: shareOf(payment.amount, netRate) } } : payment,
  );
  return { ...decision, next: { ...decision.next, payments } };
}
