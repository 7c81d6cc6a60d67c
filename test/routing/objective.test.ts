import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import type { RouteHealth } from '../../src/domain/route.ts';
import { costOf, indexOf, scoreOf, valueOf } from '../../src/routing/objective.ts';
import { DEFAULT_POLICY, OBJECTIVES } from '../../src/routing/routing-policy.ts';
import { forAll } from '../support/for-all.ts';

const RUNS = 200;
const BY_HEALTH: RouteHealth[] = ['live', 'degraded', 'standby'];
const number = (min: number, max: number) => fc.double({ min, max, noNaN: true });
const rate = number(0, 1);
const minutes = number(0, 10_000);
const health = fc.constantFrom(...BY_HEALTH);
const anyObjective = number(0.01, 2).map((margin) => ({ ...DEFAULT_POLICY.objective, margin }));

describe('the objective', () => {
  test('the cost under an objective is the fees (`merchant`), the provider cost (`total`) or the provider cost less fees (`operator`)', () => {
    const route = { buyerFeeRate: 10_000, gatewayFeeRate: 29_000, providerCostRate: 14_000 };
    assert.equal(costOf(route, OBJECTIVES.merchant), 0.039);
    assert.equal(costOf(route, OBJECTIVES.total), 0.014);
    assert.equal(costOf(route, OBJECTIVES.operator), -0.025);
  });

  test('the cost includes the fixed part of the provider cost, relative to the amount or to a typical payment', () => {
    const route = { buyerFeeRate: 0, gatewayFeeRate: 0, providerCostRate: 29_000, providerCostFixed: 30 };
    assert.equal(costOf(route, OBJECTIVES.total, 1000), 0.059);
    assert.equal(costOf(route, OBJECTIVES.total, 100_000), 0.0293);
    assert.equal(costOf(route, OBJECTIVES.total), costOf(route, OBJECTIVES.total, 5000));
  });

  test('the cost under every objective includes the share of paid money that is lost', () => {
    const route = { buyerFeeRate: 0, gatewayFeeRate: 0, providerCostRate: 0, lostRate: 40_000 };
    for (const weights of Object.values(OBJECTIVES)) assert.equal(costOf(route, weights), 0.04);
  });

  test('the value of a route is its success probability times the share left after costs, less the cost of the wait', () => {
    const { objective } = DEFAULT_POLICY;
    assert.equal(valueOf(0.9, 0.03, 0, objective), 0.9 * 0.97);
    assert.equal(valueOf(0.9, 0.03, 30, objective), 0.9 * 0.97 - 0.0025);
    assert.equal(valueOf(0.9, 0.03, 60, objective), valueOf(0.9, 0.03, 60_000, objective));
  });

  test('the score of a route is 0 to 100 with one decimal', () => {
    forAll(RUNS, number(-10, 10), anyObjective, (value, objective) => {
      const score = scoreOf(value, objective);
      assert.ok(score >= 0 && score <= 100);
      assert.equal(score, Number(score.toFixed(1)));
    });
    assert.equal(scoreOf(0.8731, DEFAULT_POLICY.objective), 87.3);
  });

  test('a higher success rate never lowers the score of a route while a payment is worth more than its cost', () => {
    forAll(RUNS, anyObjective, rate, rate, rate, minutes, health, (objective, share, a, b, eta, health) => {
      const cost = share * objective.margin;
      const score = (p: number) =>
        scoreOf(indexOf(valueOf(p, cost, eta, objective), { health, failed: false }, objective), objective);
      assert.ok(score(Math.max(a, b)) >= score(Math.min(a, b)));
    });
  });

  test('a higher cost or a longer wait never raises the score of a route', () => {
    forAll(RUNS, anyObjective, rate, rate, rate, minutes, minutes, health, (objective, p, a, b, eta, wait, health) => {
      const score = (cost: number, minutes: number) =>
        scoreOf(indexOf(valueOf(p, cost, minutes, objective), { health, failed: false }, objective), objective);
      assert.ok(score(Math.max(a, b), eta + wait) <= score(Math.min(a, b), eta));
    });
  });

  test('a route with worse health ranks lower, even if every route loses money', () => {
    forAll(RUNS, number(-3, 2), anyObjective, (value, objective) => {
      const [live, degraded, standby] = BY_HEALTH.map((health) => indexOf(value, { health, failed: false }, objective));
      assert.ok(live! > degraded! && degraded! > standby!);
    });
  });
});

describe('the default policy', () => {
  test('the default routing policy is frozen at every depth and can be stored as JSON with a decision', () => {
    for (const part of [
      DEFAULT_POLICY,
      DEFAULT_POLICY.exploration,
      DEFAULT_POLICY.objective.weights,
      OBJECTIVES.operator,
    ]) {
      assert.ok(Object.isFrozen(part));
    }
    assert.deepEqual(JSON.parse(JSON.stringify(DEFAULT_POLICY)), DEFAULT_POLICY);
  });

  test('the bucket length of the default routing policy divides a minute and each half-life', () => {
    const { bucketSeconds, estimate } = DEFAULT_POLICY;
    for (const seconds of [60, estimate.fastHalfLifeSeconds, estimate.slowHalfLifeSeconds]) {
      assert.equal(seconds % bucketSeconds, 0);
    }
  });
});
