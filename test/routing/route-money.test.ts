import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { type MoneyDay, routeMoney } from '../../src/routing/route-money.ts';
import { DEFAULT_POLICY } from '../../src/routing/routing-policy.ts';
import { forAll } from '../support/for-all.ts';

const TODAY = 20_000;
const ROUTE = { providerCostRate: 29_000, providerCostFixed: 30 };

function aDay(age: number, fields: Partial<MoneyDay> = {}): MoneyDay {
  const none = { settled: 0, unsettled: 0, reversed: 0, costed: 0, costedAmount: 0, cost: 0 };
  return { routeId: 'rt_a', day: TODAY - age, paid: 100_000, ...none, ...fields };
}

const moneyOf = (days: readonly MoneyDay[]) => routeMoney(days, ROUTE, TODAY, DEFAULT_POLICY);
const lost = (...days: MoneyDay[]) => moneyOf(days).lostRate / 1_000_000;
/** Asserts equality up to the weight of the prior. */
function about(actual: number, expected: number): void {
  assert.ok(Math.abs(actual - expected) < 0.02 * expected, `${actual} is not about ${expected}`);
}

describe('the money of a route', () => {
  test('a route without payments loses nothing and has its configured charge', () => {
    assert.deepEqual(moneyOf([]), { lostRate: 0, providerCostRate: 29_000, costCoverage: 0 });
  });

  test('money that is not paid out counts as lost once payments that are 3 days younger are paid out', () => {
    const settling = (age: number) => aDay(age, { settled: 70_000, unsettled: 30_000 });
    about(lost(settling(10), settling(9), settling(8), settling(2)), 0.3);
    assert.equal(lost(settling(4), settling(2)), 0);
  });

  test('a route whose payouts nobody reports loses nothing', () => {
    assert.equal(lost(aDay(40, { unsettled: 100_000 }), aDay(10, { unsettled: 100_000 })), 0);
  });

  test('a route that stops paying out loses the payments that are 30 days old', () => {
    const days = [aDay(44, { settled: 100_000 }), aDay(31, { unsettled: 100_000 })];
    assert.ok(lost(...days) > 0.5);
    assert.equal(lost(...days, aDay(29, { unsettled: 100_000 })), lost(...days));
  });

  test('money that the provider has taken back counts as lost', () => {
    about(lost(aDay(10, { settled: 99_000, reversed: 1000 }), aDay(20, { settled: 99_000, reversed: 1000 })), 0.01);
  });

  test('one lost payment of the first twenty is no proof of a bad route', () => {
    const rate = lost(aDay(3, { paid: 20, settled: 19, reversed: 1 }));
    assert.ok(rate > 0 && rate < 1 / 40, String(rate));
  });

  test('the charges that the provider has reported replace the configured rate, in addition to the fixed part', () => {
    const { providerCostRate, costCoverage } = moneyOf([
      aDay(1, { costed: 90_000, costedAmount: 90_000 * 5000, cost: 90_000 * (30 + 75) }),
    ]);
    about(providerCostRate, 15_000);
    assert.equal(costCoverage, 0.9);
  });

  test('the estimates do not depend on the order of the days, and stay within their bounds', () => {
    const day = fc
      .record({
        age: fc.nat(45),
        paid: fc.nat(400),
        settled: fc.nat(400),
        unsettled: fc.nat(400),
        reversed: fc.nat(400),
        costed: fc.nat(400),
        costedAmount: fc.integer({ min: 1, max: 10_000_000 }),
        cost: fc.integer({ min: -1000, max: 1_000_000 }),
      })
      .map(({ age, paid, ...each }) => {
        const bounded = Object.entries(each).map(([name, value]) => [
          name,
          name.startsWith('cost') && name !== 'costed' ? value : Math.min(value, paid),
        ]);
        return aDay(age, { paid, ...Object.fromEntries(bounded) });
      });
    forAll(300, fc.array(day, { maxLength: 50 }), (days) => {
      const money = moneyOf(days);
      const again = moneyOf(days.toReversed());
      assert.ok(Math.abs(money.lostRate - again.lostRate) <= 1);
      assert.ok(money.lostRate >= 0 && money.lostRate <= 1_000_000);
      assert.ok(money.costCoverage >= 0 && money.costCoverage <= 1);
      assert.ok(Number.isSafeInteger(money.providerCostRate) && money.providerCostRate >= 0);
    });
  });
});
