import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { RouteHealth } from '../../src/domain/route.ts';
import { costOf, indexOf, scoreOf, valueOf } from '../../src/routing/objective.ts';
import { DEFAULT_POLICY, OBJECTIVES } from '../../src/routing/routing-policy.ts';

const BY_HEALTH: RouteHealth[] = ['live', 'degraded', 'standby'];
const rate = fc.double({ min: 0, max: 1, noNaN: true });
const minutes = fc.double({ min: 0, max: 10_000, noNaN: true });
const health = fc.constantFrom(...BY_HEALTH);
const anyObjective = fc
  .double({ min: 0.01, max: 2, noNaN: true })
  .map((margin) => ({ ...DEFAULT_POLICY.objective, margin }));

test('the objective selects the costs: the fees for a merchant, the margin for the operator', () => {
  const route = { buyerFeeRate: 10_000, gatewayFeeRate: 29_000, providerCostRate: 14_000 };
  assert.equal(costOf(route, OBJECTIVES.merchant), 0.039);
  assert.equal(costOf(route, OBJECTIVES.total), 0.014);
  assert.equal(costOf(route, OBJECTIVES.operator), -0.025);
});

test('the value is the value of a success times its probability, less the wait', () => {
  const { objective } = DEFAULT_POLICY;
  assert.equal(valueOf(0.9, 0.03, 0, objective), 0.9 * 0.97);
  assert.equal(valueOf(0.9, 0.03, 30, objective), 0.9 * 0.97 - 0.0025);
  assert.equal(valueOf(0.9, 0.03, 60, objective), valueOf(0.9, 0.03, 60_000, objective));
});

test('a score is 0 to 100 with one decimal', () => {
  const anyValue = fc.double({ min: -10, max: 10, noNaN: true });
  fc.assert(
    fc.property(anyValue, anyObjective, (value, objective) => {
      const score = scoreOf(value, objective);
      assert.ok(score >= 0 && score <= 100);
      assert.equal(score, Number(score.toFixed(1)));
    }),
  );
  assert.equal(scoreOf(0.8731, DEFAULT_POLICY.objective), 87.3);
});

test('a higher success rate never lowers the score while a payment is worth more than its cost', () => {
  fc.assert(
    fc.property(anyObjective, rate, rate, rate, minutes, health, (objective, share, a, b, eta, health) => {
      const cost = share * objective.margin;
      const score = (p: number) => scoreOf(indexOf(valueOf(p, cost, eta, objective), health, objective), objective);
      assert.ok(score(Math.max(a, b)) >= score(Math.min(a, b)));
    }),
  );
});

test('a higher cost or a longer wait never raises the score', () => {
  fc.assert(
    fc.property(anyObjective, rate, rate, rate, minutes, minutes, health, (objective, p, a, b, eta, wait, health) => {
      const score = (cost: number, minutes: number) =>
        scoreOf(indexOf(valueOf(p, cost, minutes, objective), health, objective), objective);
      assert.ok(score(Math.max(a, b), eta + wait) <= score(Math.min(a, b), eta));
    }),
  );
});

test('worse health ranks lower, even if every route loses money', () => {
  const anyValue = fc.double({ min: -3, max: 2, noNaN: true });
  fc.assert(
    fc.property(anyValue, anyObjective, (value, objective) => {
      const [live, degraded, standby] = BY_HEALTH.map((health) => indexOf(value, health, objective));
      assert.ok(live! > degraded! && degraded! > standby!);
    }),
  );
});
