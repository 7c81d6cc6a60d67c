// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import * as fc from 'fast-check';
import { abandonAttempt, abandonCheckout, markHandoffUncertain, startAttempt } from '../../src/domain/checkout.ts';
import type { Payment } from '../../src/domain/records.ts';
import { type Refund, leftOf, paidAmount } from '../../src/domain/refund-record.ts';
import { commitDecision } from '../../src/operations/commit-decision.ts';
import { addUp, countSales, quarterHourOf } from '../../src/operations/count-sales.ts';
import type { Deps } from '../../src/operations/deps.ts';
import { resolveDiscrepancy } from '../../src/operations/discrepancies/resolve-discrepancy.ts';
import { expireSession } from '../../src/operations/expire-session.ts';
import { createRefund } from '../../src/operations/refunds/create-refund.ts';
import { type SalesStep, readSales } from '../../src/operations/sales-report.ts';
import { recordPayout } from '../../src/operations/settlement/settle-payment.ts';
import type { Change, Store } from '../../src/store/store.ts';
import { bookedCorrections, lateFailures } from '../../src/store/schema/sales-schema.ts';
import { SUMS, type SalesSum } from '../../src/store/tables/sales-table.ts';
import { anyStepOf } from '../fixtures/any-step.ts';
import { MINUTE } from '../fixtures/checkout-records.ts';
import { anyFailure } from '../fixtures/failures.ts';
import {
  applySandboxSignal,
  reportPayment,
  reportRefund,
  startAccepted,
  totalOf,
} from '../fixtures/provider-reports.ts';
import { createSession } from '../simulator/buyer.ts';
import { TEST_DATABASE, queryRows, runSql, settingsOf } from '../support/database.ts';
import { IS_UNIT_RUN, ONLY_IN_FULL_RUN, runs } from '../support/for-all.ts';
import { type TestService, startTestService } from '../support/service.ts';
import { assertSound, brokenInvariants } from '../support/sound.ts';

const RUNS = runs(TEST_DATABASE === 'sqlite' ? 60 : 16);
const SEED = 8;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const RUNNING = () => false;

/** The provider's actual charge in cents, if it reports one. */
const anyCost: fc.Arbitrary<number | null> = fc.constantFrom(null, 0, 777);
const anyStep = anyStepOf({
  start: [4],
  // The session has ended when the money arrives.
  late: [2, { cost: anyCost }],
  unforeseen: [1, { status: fc.constantFrom('paid', 'failed') }],
  pay: [4, { payment: fc.nat(3), cost: anyCost }],
  // A wrong amount that an operator accepts.
  accept: [2, { payment: fc.nat(3), cents: fc.constantFrom(-2, -1, 1, 100) }],
  fail: [3, { payment: fc.nat(3), failure: anyFailure }],
  abandon: [1],
  timeout: [1],
  expire: [1],
  refund: [3, { payment: fc.nat(3), permille: fc.constantFrom(1, 333, 1000) }],
  refundReport: [4, { refund: fc.nat(3), status: fc.constantFrom('succeeded', 'succeeded', 'failed') }],
  settle: [2, { payment: fc.nat(3) }],
  dispute: [2, { payment: fc.nat(3), percents: fc.array(fc.constantFrom(0, 33, 100), { minLength: 1, maxLength: 3 }) }],
  pass: [3, { ms: fc.constantFrom(1, 59_999, 90_000, HOUR, DAY) }],
  count: [
    3,
    { how: fc.constantFrom('whole', 'twice', 'crash before', 'crash after'), rows: fc.constantFrom(1, 3, 200) },
  ],
});
type Step = typeof anyStep extends fc.Arbitrary<infer Drawn> ? Drawn : never;
const anyHistory = fc.record({
  amount: fc.constantFrom(0.01, 0.07, 33.33, 9999.99),
  kind: fc.constantFrom('card', 'wallet'),
  steps: fc.array(anyStep, { minLength: 6, maxLength: 20, size: 'max' }),
});

/** Expected contributions to the sums, derived from the committed change sets and not from the tables. */
class Model {
  readonly expected: SalesSum[] = [];
  /** Cases that the run has covered. */
  readonly seen = new Set<string>();
  private readonly deducted = new Set<string>();
  private readonly costed = new Map<string, number>();
  private readonly taken = new Map<string, number>();

  /** Records the change sets that the operations of a service commit. */
  watch({ service: { deps }, clock }: TestService): void {
    const { store } = deps;
    const commit = store.commit.bind(store);
    store.commit = async (changes) => {
      const result = await commit(changes);
      if (result.done) for (const change of changes) this.apply(change, clock.now());
      return result;
    };
  }

  private apply(change: Change, now: number): void {
    switch (change.type) {
      case 'session_created':
        return this.add(now, 'created', { environment: 'sandbox', amount: change.session.amount });
      case 'session_changed':
        if (change.session.status === 'expired' && change.before?.status !== 'expired') {
          this.add(now, 'expired', { environment: 'sandbox', amount: change.session.amount });
        }
        return;
      case 'payment_created':
        this.add(now, 'started', ofPayment(change.payment));
        return this.changed(change.payment, undefined, now);
      case 'payment_changed':
        return this.changed(change.payment, change.before, now);
      case 'refund_changed':
        return this.refunded(change.refund, now);
      case 'reversal_changed': {
        const { id, paymentId, taken } = change.reversal;
        const amount = taken - (this.taken.get(id) ?? 0);
        this.taken.set(id, taken);
        if (amount < 0) this.seen.add('returned money');
        if (amount !== 0) this.add(now, 'reversed', { ...this.routes.get(paymentId), count: 0, amount });
        return;
      }
      case 'settlement_recorded': {
        const { amount, paymentId } = change.settlement;
        if (amount !== 0) this.add(now, 'settled', { ...this.routes.get(paymentId), amount });
        return;
      }
      default:
    }
  }

  private readonly routes = new Map<string, Partial<SalesSum>>();

  private changed(payment: Payment, before: Payment | undefined, now: number): void {
    const about = ofPayment(payment);
    this.routes.set(payment.id, { environment: about.environment, route: about.route });
    const { status, fees, surplus, providerCost, actualCost } = payment;
    const from = before?.status;
    if (status === 'failed' && from !== 'failed') {
      this.add(now, `failed/${payment.failureSource}/${payment.failureCode}`, about);
    }
    if (status === 'paid' && from !== 'paid') {
      if (from === 'failed') {
        this.seen.add('late money');
        const reversed = { ...about, count: -1, amount: -about.amount };
        this.add(now, `failed/${before!.failureSource}/${before!.failureCode}`, reversed);
      }
      if (surplus) this.seen.add('surplus');
      // All surplus money belongs to the buyer.
      const money = surplus
        ? { amount: fees.total, buyerFee: 0, gatewayFee: 0 }
        : { amount: payment.amount, buyerFee: fees.buyerFee, gatewayFee: fees.gatewayFee };
      this.add(now, 'paid', { ...about, ...money, cost: providerCost });
      this.costed.set(payment.id, providerCost);
    }
    const missing = payment.shortfall - (before?.shortfall ?? 0);
    if (missing !== 0) {
      this.seen.add('wrong amount');
      this.add(now, 'paid', { ...about, count: 0, amount: -missing });
    }
    const known = this.costed.get(payment.id);
    if (known === undefined || actualCost === null || actualCost === known) return;
    this.seen.add('cost corrected');
    this.add(now, 'paid', { ...about, count: 0, amount: 0, cost: actualCost - known });
    this.costed.set(payment.id, actualCost);
  }

  private refunded({ id, paymentId, status, deducted, amount, shares, reason }: Refund, now: number): void {
    const isPaidOut = deducted && status !== 'failed';
    if (reason === 'mismatch' || isPaidOut === this.deducted.has(id)) return;
    if (isPaidOut) this.deducted.add(id);
    else this.deducted.delete(id);
    const sign = isPaidOut ? 1 : -1;
    if (sign < 0) this.seen.add('refund failed later');
    const money = { amount: sign * amount, gatewayFee: sign * shares.gateway, cost: sign * shares.cost };
    this.add(now, 'refunded', { ...this.routes.get(paymentId), count: sign, ...money });
  }

  private add(time: number, kind: string, fields: Partial<SalesSum>): void {
    const nothing = { count: 1, amount: 0, buyerFee: 0, gatewayFee: 0, cost: 0 };
    this.expected.push({ environment: 'sandbox', time, route: '', kind, ...nothing, ...fields });
  }
}

function ofPayment({ environment, route, amount }: Payment): Pick<SalesSum, 'environment' | 'route' | 'amount'> {
  return { environment, route: route.id, amount };
}

/** Sums as lines in a fixed order. Sums of zero are left out, because their rows can cancel each other out. */
function linesOf(sums: readonly SalesSum[]): string[] {
  return sums
    .filter(({ count, amount, buyerFee, gatewayFee, cost }) =>
      [count, amount, buyerFee, gatewayFee, cost].some((value) => value !== 0),
    )
    .map(({ environment, time, route, kind, count, amount, buyerFee, gatewayFee, cost }) =>
      [environment, new Date(time).toISOString(), route, kind, count, amount, buyerFee, gatewayFee, cost].join(' '),
    )
    .toSorted();
}

const EXPECTED_KINDS = [
  'created',
  'started',
  'paid',
  'expired',
  'refunded',
  'settled',
  'failed/route/timed_out',
  'failed/buyer/abandoned',
  'late money',
  'surplus',
  'refund failed later',
  'cost corrected',
  'wrong amount',
  'reversed',
  'returned money',
];

async function assertReport(deps: Deps, model: Model, from: number, step: SalesStep, message: string) {
  const now = deps.now();
  const report = await readSales(deps, { environment: 'sandbox', from, until: now + 1, step });
  assert.equal(report.countedUntil, null, message);
  const [first] = report.steps;
  const periodOf = (time: number) => report.steps.findLast((start) => start <= time)!;
  const expected = model.expected.filter(({ time }) => time >= first!);
  assert.deepEqual(linesOf(addUp(report.sums, periodOf)), linesOf(addUp(expected, periodOf)), message);
}

/** Counts sales on one or two instances, with crashes of the counting instance. */
async function count(instances: readonly Deps[], { how, rows }: Extract<Step, { type: 'count' }>): Promise<void> {
  const [deps, other] = instances as [Deps, Deps];
  if (how === 'whole') return void (await countSales(deps, RUNNING, turn, rows));
  if (how === 'twice')
    return void (await Promise.all([countSales(deps, RUNNING, turn, rows), countSales(other, RUNNING, turn, rows)]));
  let left = 2;
  const commit: Store['commit'] = async (changes) => {
    if (--left === 0 && how === 'crash before') throw new Error('crash');
    const result = await deps.store.commit(changes);
    if (left === 0) throw new Error('crash');
    return result;
  };
  await countSales({ ...deps, store: { ...deps.store, commit } }, RUNNING, turn, rows).catch((error: Error) => {
    assert.equal(error.message, 'crash');
  });
}

async function applyStep(on: TestService, instances: readonly Deps[], sessionId: string, step: Step): Promise<void> {
  const { deps } = on.service;
  const { session, payments } = (await deps.store.checkout(sessionId))!;
  const picked = 'payment' in step ? payments[step.payment % Math.max(payments.length, 1)] : undefined;
  const sandbox = deps.routes.filter(({ environment }) => environment === 'sandbox');
  switch (step.type) {
    case 'start':
      await startAccepted(deps, sessionId, sandbox[payments.length % sandbox.length]!);
      return;
    case 'late': {
      const paymentId = await startAccepted(deps, sessionId, sandbox[0]!);
      if (paymentId === undefined) return;
      await commitDecision(deps, sessionId, (checkout, now) => abandonCheckout(checkout, now));
      on.clock.advance(MINUTE);
      await reportPayment(deps, { sessionId, paymentId, status: 'paid', amount: session.amount, ...costOf(step) });
      return;
    }
    case 'unforeseen':
      if (payments.length > 0) return;
      // The report creates the payment.
      await reportPayment(deps, {
        sessionId,
        paymentId: null,
        status: step.status,
        amount: session.amount,
        ...costOf({ cost: 777 }),
      });
      return;
    case 'pay': {
      if (!picked) return;
      const paid = { sessionId, paymentId: picked.id, status: 'paid' as const, amount: session.amount };
      await reportPayment(deps, { ...paid, ...costOf(step) });
      return;
    }
    case 'accept': {
      if (!picked) return;
      const amount = session.amount + step.cents;
      await reportPayment(deps, { sessionId, paymentId: picked.id, status: 'paid', amount });
      const { discrepancies } = (await deps.store.checkout(sessionId))!;
      for (const { id, kind, status, refunding } of discrepancies) {
        if (kind !== 'amount_mismatch' || status !== 'open' || refunding) continue;
        // Money of a second payment, and money that does not cover the fees, cannot be accepted.
        await resolveDiscrepancy(deps, id, { action: 'accept', note: 'accepted' }).catch(() => undefined);
      }
      return;
    }
    case 'fail':
      if (!picked) return;
      await reportPayment(deps, {
        sessionId,
        paymentId: picked.id,
        status: 'failed',
        amount: session.amount,
        failure: step.failure,
      });
      return;
    case 'abandon':
      await commitDecision(deps, sessionId, (checkout, now) => abandonAttempt(checkout, now));
      return;
    case 'timeout': {
      // The provider never reports on an uncertain handoff.
      const ids = { paymentId: deps.newId('pay'), invoiceId: deps.newId('inv') };
      await commitDecision(deps, sessionId, (checkout, now) =>
        startAttempt(checkout, { ...ids, route: sandbox[0]! }, now),
      );
      await commitDecision(deps, sessionId, (checkout) => markHandoffUncertain(checkout, ids.paymentId));
      await on.pass(2 * HOUR);
      return;
    }
    case 'expire':
      if (session.status === 'routed') await expireSession(deps, sessionId);
      return;
    case 'refund': {
      if (picked?.status !== 'paid') return;
      const left = leftOf(picked).total;
      const amount = Math.ceil((left * step.permille) / 1000);
      if (amount > 0) await createRefund(deps, picked.id, { amount: amount / 100 });
      return;
    }
    case 'refundReport': {
      const { items } = await deps.store.listRefunds({ sessionId }, { limit: 20 });
      const refund = items[step.refund % Math.max(items.length, 1)];
      if (refund) await reportRefund(deps, refund, step.status);
      return;
    }
    case 'dispute': {
      if (picked?.status !== 'paid') return;
      const ref = { sessionId, paymentId: picked.id };
      for (const [index, percent] of step.percents.entries()) {
        const taken = totalOf(Math.ceil((paidAmount(picked) * percent) / 100));
        const state = {
          status: 'open',
          revision: on.clock.now() + index,
          reason: null,
          taken,
          fee: totalOf(15),
        } as const;
        const signal = { about: 'reversal', ref, reversal: { reference: `dp_${picked.id}`, ...state } } as const;
        await applySandboxSignal(deps, signal);
      }
      return;
    }
    case 'settle':
      if (picked?.status === 'paid') await recordPayout(deps, picked.id, {}).catch(() => undefined);
      return;
    case 'pass':
      on.clock.advance(step.ms);
      return;
    case 'count':
      await count(instances, step);
  }
}

function costOf({ cost }: { cost: number | null }) {
  return cost === null ? {} : { cost: { units: BigInt(cost), currency: 'USD', exponent: 2 } };
}

type DrawnHistory = typeof anyHistory extends fc.Arbitrary<infer Drawn> ? Drawn : never;

/** Plays histories one after the other, and compares reports with the model. */
async function play(on: TestService, instances: readonly Deps[], model: Model, histories: readonly DrawnHistory[]) {
  const { deps } = on.service;
  model.watch(on);
  const begun = on.clock.now();
  for (const [number, { amount, kind, steps }] of histories.entries()) {
    const customer = `buyer${number}@example.com`;
    const sessionId = await createSession(on, { amount, customer, preferredRoute: kind });
    for (const [index, step] of steps.entries()) {
      await applyStep(on, instances, sessionId, step);
      if (step.type !== 'count' && index < steps.length - 1) continue;
      const message = `history ${number}, seed ${SEED}, step ${index} of ${JSON.stringify(steps)}`;
      await assertReport(deps, model, Math.max(begun, on.clock.now() - 5 * DAY), 'hour', message);
    }
    on.clock.advance(61_000);
  }
  await on.pass(2 * DAY);
  on.clock.advance(2 * MINUTE);
  for (const instance of instances) await countSales(instance, RUNNING);
  await assertReport(deps, model, begun, 'day', 'all days');
}

type Faulty = (change: Change) => Change[];
const ofCount = (change: (counted: Change & { type: 'sales_counted' }) => Change[]): Faulty => {
  return (one) => (one.type === 'sales_counted' ? change(one) : [one]);
};
const FAULTS: [fault: string, change: Faulty][] = [
  ['a sum is lost', ofCount((one) => [{ ...one, sums: one.sums.slice(1) }])],
  ['sums are added twice', ofCount((one) => [{ ...one, sums: [...one.sums, ...one.sums] }])],
  ['the cursor runs ahead', ofCount((one) => [{ ...one, until: one.until + MINUTE }])],
  ['a day has no sums', (one) => [one.type === 'sales_day_built' ? { ...one, start: one.until } : one]],
];

describe('sums of sales', () => {
  test('after random histories with crashes and two instances, the sums equal a model at every moment', async () => {
    const variables = { REPORTING_TIME_ZONE: 'America/New_York' };
    await using on = await startTestService({ variables });
    // SQLite has one instance.
    await using beside = TEST_DATABASE === 'postgres' ? await startTestService({ beside: on, variables }) : undefined;
    const { deps } = on.service;
    const model = new Model();
    const histories = fc.sample(anyHistory, { numRuns: RUNS, seed: SEED });
    await play(on, [deps, beside?.service.deps ?? deps], model, histories);
    const kinds = new Set([...model.seen, ...model.expected.map(({ kind }) => kind)]);
    if (TEST_DATABASE === 'sqlite' && !IS_UNIT_RUN) {
      for (const kind of EXPECTED_KINDS) assert.ok(kinds.has(kind), kind);
    }
    const sums = await storedSums(on.databaseUrl);
    assert.deepEqual(linesOf(sums), linesOf(addUp(model.expected, quarterHourOf)));
    await assertPaidEqualsLedger(deps, sums);
    await assertSound(on.databaseUrl);
    await assertMigrates(deps, on.databaseUrl, lateFailures, () => withoutLateFailures(on.databaseUrl, model));
    await assertMigrates(deps, on.databaseUrl, bookedCorrections, () => withoutCorrections(on.databaseUrl, model));
    await assertDoctorFinds(on.databaseUrl);
  });

  for (const [fault, change] of FAULTS) {
    test(`the check detects an injected fault: ${fault}`, ONLY_IN_FULL_RUN, async () => {
      await using on = await startTestService();
      const { deps } = on.service;
      const { store } = deps;
      const commit = store.commit.bind(store);
      store.commit = (changes) => commit(changes.flatMap(change));
      const histories = fc.sample(anyHistory, { numRuns: 8, seed: SEED });
      const failed = await play(on, [deps, deps], new Model(), histories).then(
        async () => (await brokenInvariants(settingsOf(on.databaseUrl))).length > 0,
        (error: Error) => error instanceof assert.AssertionError,
      );
      assert.ok(failed);
    });
  }
});

/** The migration restores the sums after `undo`, which changes them to those of an older version. */
async function assertMigrates(deps: Deps, databaseUrl: string, migration: string, undo: () => Promise<void>) {
  const before = linesOf(await storedSums(databaseUrl));
  await undo();
  assert.notDeepEqual(linesOf(await storedSums(databaseUrl)), before);
  await runSql(databaseUrl, migration);
  assert.deepEqual(linesOf(await storedSums(databaseUrl)), before);
  await countSales(deps, RUNNING);
  await assertSound(databaseUrl);
}

/** Changes the sums to those of a version that counted the failures of payments that were paid late. */
async function withoutLateFailures(databaseUrl: string, { expected }: Model): Promise<void> {
  const reversed = expected.filter(({ kind, count }) => kind.startsWith('failed/') && count < 0);
  await runSql(databaseUrl, "UPDATE route_outcomes SET failure = NULL WHERE stage = 'late'");
  for (const { time, route, kind, amount } of reversed) {
    await runSql(
      databaseUrl,
      `UPDATE sales_quarter_hours SET count = count + 1, amount = amount + ${-amount}
        WHERE time = ${quarterHourOf(time)} AND route = '${route}' AND kind = '${kind}'`,
    );
  }
  await runSql(databaseUrl, "DELETE FROM sales_quarter_hours WHERE count = 0 AND kind LIKE 'failed/%'");
}

/** Changes the sums to those of a version that did not count accepted amounts and reversals. */
async function withoutCorrections(databaseUrl: string, { expected }: Model): Promise<void> {
  const accepted = expected.filter(({ kind, count, amount }) => kind === 'paid' && count === 0 && amount !== 0);
  for (const { time, route, amount } of accepted) {
    await runSql(
      databaseUrl,
      `UPDATE sales_quarter_hours SET amount = amount - ${amount}
        WHERE time = ${quarterHourOf(time)} AND route = '${route}' AND kind = 'paid'`,
    );
  }
  await runSql(databaseUrl, "DELETE FROM sales_quarter_hours WHERE kind = 'reversed'");
}

async function storedSums(databaseUrl: string): Promise<SalesSum[]> {
  const rows = await queryRows(databaseUrl, 'SELECT * FROM sales_quarter_hours');
  // The driver of PostgreSQL returns integers as text.
  const valueOf = (name: string, value: unknown) =>
    /environment|route|kind/.test(name) ? String(value) : Number(value);
  return rows.map((row) =>
    SUMS.fromRow(Object.fromEntries(Object.entries(row).map(([name, value]) => [name, valueOf(name, value)]))),
  );
}

/** The sums of paid money equal the debits of the captures and cost corrections in the ledger. */
async function assertPaidEqualsLedger({ store }: Deps, sums: readonly SalesSum[]): Promise<void> {
  const entries = await store.journal({}, { limit: 100_000, order: 'oldest_first', after: undefined });
  const booked = (accounts: string[], kinds: string[]) =>
    entries
      .filter(({ account, kind }) => accounts.includes(account) && kinds.includes(kind))
      .reduce((total, { amount }) => total + amount, 0);
  const paid = sums.filter(({ kind }) => kind === 'paid');
  const total = (of: (sum: SalesSum) => number) => paid.reduce((all, sum) => all + of(sum), 0);
  const surplus = new Set(
    entries
      .filter(({ kind, account }) => kind === 'paid' && account === 'buyer_refunds_payable')
      .map((one) => one.paymentId),
  );
  const accepted = entries.filter(
    ({ account, kind, paymentId }) =>
      account === 'merchant_payable' && kind === 'adjustment' && !surplus.has(paymentId),
  );
  assert.equal(
    total(({ amount, buyerFee }) => amount + buyerFee),
    booked(['provider_clearing', 'provider_cost'], ['paid']) - accepted.reduce((sum, { amount }) => sum + amount, 0),
  );
  assert.equal(
    total(({ buyerFee, gatewayFee }) => buyerFee + gatewayFee),
    -booked(['gateway_revenue'], ['paid']),
  );
  assert.equal(
    total(({ cost }) => cost),
    booked(['provider_cost'], ['paid', 'cost']),
  );
}

/** `tillway doctor` finds each injected fault in the sums. */
async function assertDoctorFinds(databaseUrl: string): Promise<void> {
  const some = (table: string) => `time = (SELECT MIN(time) FROM ${table} WHERE kind = 'paid') AND kind = 'paid'`;
  const faults: [change: string, undo: string, found: RegExp[]][] = [
    [
      `UPDATE sales_quarter_hours SET amount = amount + 1 WHERE ${some('sales_quarter_hours')}`,
      `UPDATE sales_quarter_hours SET amount = amount - 1 WHERE ${some('sales_quarter_hours')}`,
      [/sales_sums/, /sales_days/],
    ],
    [
      `UPDATE sales_days SET count = count + 1 WHERE ${some('sales_days')}`,
      `UPDATE sales_days SET count = count - 1 WHERE ${some('sales_days')}`,
      [/sales_days/],
    ],
    [`DELETE FROM sales_days WHERE ${some('sales_days')}`, '', [/sales_days/]],
  ];
  for (const [change, undo, found] of faults) {
    await runSql(databaseUrl, change);
    const broken = await brokenInvariants(settingsOf(databaseUrl));
    assert.equal(broken.length, found.length, broken.join('; '));
    for (const [index, pattern] of found.entries()) assert.match(broken[index]!, pattern);
    if (undo !== '') await runSql(databaseUrl, undo);
  }
}
