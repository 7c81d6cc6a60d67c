import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { Decision } from '../../src/domain/checkout-state.ts';
import { paidPosting, settledPosting } from '../../src/domain/ledger.ts';
import { shareOf } from '../../src/domain/money.ts';
import type { Checkout, Payment } from '../../src/domain/records.ts';
import {
  anyOf,
  anyReversal,
  changing,
  moved,
  step,
  withSession,
  without,
  withoutEffect,
} from '../fixtures/any-history.ts';
import { type Decisions, type History, REFUND_REPORTS, DECISIONS as real, walk } from '../fixtures/checkout-history.ts';
import { anyFailure } from '../fixtures/failures.ts';
import { ONLY_IN_FULL_RUN, runs } from '../support/for-all.ts';

const HOUR = 3_600_000;
const RUNS = runs(1000);
const FAULT_RUNS = 1000;
const SEEDS = 20;

const somePayment = fc.integer({ min: 0, max: 5 });
const payment = fc.oneof({ weight: 6, arbitrary: somePayment }, { weight: 1, arbitrary: fc.constantFrom(-1, -2) });
const wrongs = ['amount', 'currency', 'environment', 'provider'];
const anyCost = fc.constantFrom(null, null, 0, 30, 95);
const anyStep = anyOf(
  [5, step('start', { route: fc.integer({ min: 0, max: 2 }) })],
  [3, step('accept', { payment })],
  [3, step('refuse', { payment, failover: fc.boolean(), mayArrive: fc.boolean() })],
  [1, step(['markUncertain', 'failUnknown'], { payment })],
  [
    9,
    step('event', {
      payment,
      status: fc.constantFrom('provider_pending', 'paid', 'failed', 'failed'),
      wrong: fc.constantFrom(...Array.from({ length: 9 }, () => 'nothing'), ...wrongs),
      txHash: fc.constantFrom(null, 'tx_1', 'tx_2'),
      failure: anyFailure,
      endsCheckout: fc.constantFrom(false, false, false, true),
      expectedIn: fc.constantFrom(...Array.from({ length: 16 }, () => null), -HOUR, HOUR, 48 * HOUR, 1000 * HOUR),
      cost: anyCost,
    }),
  ],
  [2, step('repeat', { event: fc.nat(9) })],
  [3, step(['abandon', 'abandonCheckout'])],
  [1, step('expire')],
  [
    3,
    step('applyElapsedTime', {
      jump: fc.oneof(fc.constantFrom('before', 'at', 'after'), fc.integer({ min: -2 * HOUR, max: 48 * HOUR })),
    }),
  ],
  [2, step('sleep', { ms: fc.integer({ min: 0, max: HOUR }) })],
  [1, step('settle', { payment, cost: anyCost })],
  [1, step('refund', { payment, share: fc.integer({ min: 0, max: 17 }) })],
  [1, step('refundReport', { refund: fc.nat(5), status: fc.constantFrom(...REFUND_REPORTS) })],
  [1, step('foreignRefund', { payment, share: fc.integer({ min: 0, max: 17 }) })],
  [1, anyReversal(payment)],
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

test('every generated history of a checkout satisfies the invariants after every step', () => {
  fc.assert(
    fc.property(anyHistory, (history) => walk(real, history)),
    { numRuns: RUNS },
  );
});

test('the generated histories reach every status, surplus payments and late payments', ONLY_IN_FULL_RUN, () => {
  const seen = new Set<string>();
  const recordingDecisions = changing('applyProviderEvent', (decision, checkout) => {
    const { session, payments } = decision.next;
    seen.add(`${checkout.session.status}->${session.status}`).add(decision.outcome);
    for (const { surplus, failureCode, ledgerStatus } of payments) {
      seen.add(`surplus ${surplus}`).add(String(failureCode)).add(ledgerStatus);
    }
    return decision;
  });
  fc.assert(
    fc.property(anyHistory, (history) => walk({ ...real, ...recordingDecisions }, history)),
    // Surplus payments are rare, so this check runs more histories.
    { numRuns: 5 * FAULT_RUNS, seed: 1 },
  );
  const transitions = [
    'routed->paid',
    'routed->pending',
    'pending->paid',
    'failed->paid',
    'expired->paid',
    'surplus true',
  ];
  const codes = ['declined', 'handoff_refused', 'timed_out', 'abandoned', 'superseded', 'settled', 'refunded'];
  const outcomes = ['applied', 'ignored', 'unknown_payment', 'amount_mismatch', 'environment_mismatch'];
  for (const item of [...transitions, ...codes, ...outcomes, 'provider_mismatch'])
    assert.ok(seen.has(item), `no history contained ${item}`);
});

type Event = Parameters<Decisions['applyProviderEvent']>[1];

/** A fault: the decision about a provider event receives the event as modified by `change`. */
function changingEvent(change: (event: Event, checkout: Checkout) => Event): Partial<Decisions> {
  return {
    applyProviderEvent: (checkout, event, ...rest) =>
      real.applyProviderEvent(checkout, change(event, checkout), ...rest),
  };
}

const paidBy = ({ payments }: Checkout, { paymentId }: Event) =>
  payments.find(({ id, status }) => id === paymentId && status === 'paid');
const withPayments = (checkout: Checkout, change: (payment: Payment) => Payment): Checkout => ({
  ...checkout,
  payments: checkout.payments.map(change),
});

/** Faults, each of which breaks one invariant: `walk` must fail with the message. */
const FAULTS: [fault: string, complaint: string, decisions: Partial<Decisions>][] = [
  [
    'a late failure undoes a payment',
    'session moved paid -> failed',
    changing('applyProviderEvent', (decision, checkout, event) => {
      const paid = paidBy(checkout, event);
      if (event.status !== 'failed' || !paid) return decision;
      const next = withPayments(checkout, (one) =>
        one === paid ? { ...one, status: 'failed', failureCode: 'declined' } : one,
      );
      return moved({ outcome: 'applied', next, effects: [] }, { status: 'failed' });
    }),
  ],
  [
    'a duplicate paid report posts twice',
    'the same message again changes nothing',
    changing('applyProviderEvent', (decision, checkout, event, _, now) => {
      const paid = paidBy(checkout, event);
      if (event.status !== 'paid' || !paid) return decision;
      const next = withPayments(checkout, (one) => ({ ...one, txHash: 'again' }));
      return moved({ outcome: 'applied', next, effects: [{ type: 'post', posting: paidPosting(paid, now) }] });
    }),
  ],
  [
    'each fee is rounded by itself',
    'fees sum to the cent',
    changing('startAttempt', (decision, checkout, { paymentId, route: { gatewayFeeRate } }) => {
      if (decision.next === checkout) return decision;
      const netOf = ({ amount }: Payment) => shareOf(amount, 1_000_000 - gatewayFeeRate);
      const next = withPayments(decision.next, (one) =>
        one.id === paymentId ? { ...one, fees: { ...one.fees, merchantNet: netOf(one) } } : one,
      );
      return { ...decision, next };
    }),
  ],
  [
    'a wrong amount is applied',
    '_mismatch',
    changingEvent((event, { session }) => ({ ...event, amount: session.amount })),
  ],
  ['a wrong currency is applied', '_mismatch', changingEvent((event) => ({ ...event, currency: 'USD' }))],
  [
    'a report from the other environment changes a session',
    '_mismatch',
    changingEvent((event) => ({ ...event, environment: 'sandbox' })),
  ],
  [
    'a report from another provider changes a session',
    'another provider is flagged',
    changingEvent((event) => ({ ...event, provider: 'sandbox' })),
  ],
  [
    'a report about an unknown payment is applied to the current one',
    'an unknown payment is flagged',
    changingEvent((event, { payments }) =>
      payments.some(({ id }) => id === event.paymentId) ? event : { ...event, paymentId: null },
    ),
  ],
  [
    'a report without a payment id pays a paid session again',
    'does not pay a paid session again',
    changingEvent((event, { session, payments }) => {
      const last = payments.at(-1)?.id ?? null;
      return { ...event, paymentId: event.paymentId ?? (session.status === 'paid' ? last : null) };
    }),
  ],
  ['a surplus payment is not refunded', 'surplus is refunded', withoutEffect('applyProviderEvent', 'refund_requested')],
  [
    'the invoice of a surplus payment is paid',
    'the invoice status matches the payment status',
    changing('applyProviderEvent', (decision, checkout) => {
      const surplus = new Set(decision.next.payments.filter((one) => one.surplus).map(({ id }) => id));
      if (surplus.size === 0 || decision.next === checkout) return decision;
      const invoices = decision.next.invoices.map((invoice) =>
        surplus.has(invoice.paymentId) ? { ...invoice, status: 'paid' as const } : invoice,
      );
      return { ...decision, next: { ...decision.next, invoices } };
    }),
  ],
  [
    'late money does not cancel the newer attempt at its provider',
    'cancelled at its provider',
    withoutEffect('applyProviderEvent', 'cancel_at_provider'),
  ],
  [
    'a paid session is not announced',
    'paid is announced exactly when it is reached',
    withoutEffect('applyProviderEvent', 'announce'),
  ],
  [
    'a failure that ends the checkout is not announced',
    'failed is announced exactly when it is reached',
    changing('applyProviderEvent', (decision, _, { endsCheckout, status }) =>
      endsCheckout === true && status === 'failed' ? without(decision, 'announce') : decision,
    ),
  ],
  [
    'every failed attempt is announced',
    'failed is announced exactly when it is reached',
    changing('abandonAttempt', (decision, checkout) => {
      const [first] = checkout.payments;
      if (decision.next === checkout || !first) return decision;
      return { ...decision, effects: [...decision.effects, { type: 'announce', status: 'failed', payment: first }] };
    }),
  ],
  [
    'the buyer can abandon a payment without a provider reference',
    'a payment without a provider reference cannot be abandoned',
    {
      abandonAttempt(checkout, now) {
        const named = withPayments(checkout, (one) => ({ ...one, providerReference: one.providerReference ?? 'ref' }));
        const decision = real.abandonAttempt(named, now);
        return decision.outcome === 'ignored' ? { ...decision, next: checkout } : decision;
      },
    },
  ],
  [
    'a handoff is announced every time',
    'announced twice: provider_pending',
    changing('acceptHandoff', (decision, checkout, handoff) => {
      const accepted = decision.next.payments.find(({ id }) => id === handoff.paymentId);
      if (decision.outcome !== 'accepted' || !accepted || !checkout.session.announced) return decision;
      return { ...decision, effects: [{ type: 'announce', status: 'provider_pending', payment: accepted }] };
    }),
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
    'the number of attempts is unlimited',
    'the attempts of a session are limited',
    {
      ...uncounted('rejectHandoff'),
      ...uncounted('applyProviderEvent'),
      ...uncounted('abandonAttempt'),
      ...uncounted('startAttempt', 1),
    },
  ],
  [
    'an expired session can be started',
    'session moved expired -> pending',
    {
      startAttempt(checkout, attempt, now) {
        if (checkout.session.status !== 'expired') return real.startAttempt(checkout, attempt, now);
        const session = { ...checkout.session, status: 'routed', wakeAt: null } as const;
        return real.startAttempt({ ...checkout, session }, attempt, now);
      },
    },
  ],
  [
    'a started session expires',
    'session moved pending -> expired',
    changing('expireSession', (decision, checkout) => {
      if (checkout.session.status !== 'pending') return decision;
      return moved({ outcome: 'expired', next: checkout, effects: [] }, { status: 'expired', wakeAt: null });
    }),
  ],
  [
    'a failed attempt clears the wake-up time of the session',
    'without a wake-up time, elapsed time changes nothing',
    changing('abandonAttempt', (decision, checkout) =>
      decision.next === checkout ? decision : withSession(decision, { wakeAt: null }),
    ),
  ],
  [
    'a changed checkout has the version from before',
    'the version grows by one with a change',
    changing('acceptHandoff', (decision, checkout) =>
      decision.next === checkout ? decision : withSession(decision, { version: checkout.session.version }),
    ),
  ],
  [
    'an unchanged checkout has a new version',
    'a changed checkout differs from the one before',
    changing('expireSession', (decision, checkout) => (decision.next === checkout ? moved(decision) : decision)),
  ],
  [
    'an unchanged checkout is a new object',
    'the version grows by one with a change',
    changing('abandonCheckout', (decision, checkout) =>
      decision.next === checkout ? { ...decision, next: { ...checkout } } : decision,
    ),
  ],
  [
    'money is settled twice',
    'posted twice',
    changing('recordSettlement', (decision, checkout, paymentId, _, now) => {
      const settled = checkout.payments.find(({ id }) => id === paymentId);
      if (decision.outcome !== 'already' || !settled) return decision;
      const next = withPayments(checkout, (one) => ({ ...one, txHash: `settled at ${now}` }));
      return moved({ ...decision, next, effects: [{ type: 'post', posting: settledPosting(settled, 1, now) }] });
    }),
  ],
  ['a refund is not booked', 'a refund is booked when it is requested', withoutEffect('requestRefund', 'post')],
  [
    'the actual cost of a payment is stored but not booked',
    'the actual cost is booked',
    changing('applyProviderEvent', (decision) => ({
      ...decision,
      effects: decision.effects.filter((effect) => effect.type !== 'post' || effect.posting.kind !== 'cost'),
    })),
  ],
  [
    'a timed-out attempt is not cancelled at its provider',
    'cancelled at its provider',
    withoutEffect('applyElapsedTime', 'cancel_at_provider'),
  ],
  [
    'a payment that the provider accepted too late is not cancelled there',
    'accepted too late: cancelled',
    withoutEffect('acceptHandoff', 'cancel_at_provider'),
  ],
  [
    'a decision modifies its argument',
    'Cannot assign to read only property',
    changing('abandonAttempt', (decision, checkout, now) => {
      if (decision.next !== checkout) Object.assign(checkout.session, { retryUntil: now });
      return decision;
    }),
  ],
];

for (const [fault, expectedMessage, decisions] of FAULTS) {
  test(`the invariant checks detect an injected fault: ${fault}`, ONLY_IN_FULL_RUN, () => {
    const property = fc.property(anyHistory, (history) => walk({ ...real, ...decisions }, history));
    // A fault can break several invariants: the check that fails first depends on the seed.
    const otherMessages = new Set<string>();
    for (let seed = 50; seed < 50 + SEEDS; seed++) {
      const { failed, errorInstance } = fc.check(property, { numRuns: FAULT_RUNS, seed, endOnFailure: true });
      const message = failed ? String(errorInstance) : 'nothing';
      if (message.includes(expectedMessage)) return;
      otherMessages.add(message);
    }
    assert.fail(`not detected; other failures: ${[...otherMessages].join('; ')}`);
  });
}

/** A fault: the decision sees 0 attempts. The session still counts its attempts, and `added` more. */
function uncounted(name: keyof Decisions, added = 0): Partial<Decisions> {
  const decide = real[name] as (checkout: Checkout, ...rest: unknown[]) => Decision<string>;
  return {
    [name](checkout: Checkout, ...rest: unknown[]) {
      const { attempts } = checkout.session;
      const withoutAttempts = { ...checkout, session: { ...checkout.session, attempts: 0 } };
      const decision = decide(withoutAttempts, ...rest);
      if (decision.next === withoutAttempts) return { ...decision, next: checkout };
      return withSession(decision, { attempts: attempts + added });
    },
  };
}
