import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_POLICY, OBJECTIVES } from '../../src/routing/routing-policy.ts';

test('the default policy is frozen at every depth', () => {
  assert.throws(() => Object.assign(DEFAULT_POLICY, { bucketSeconds: 1 }), TypeError);
  assert.throws(() => Object.assign(DEFAULT_POLICY.exploration, { floorEvery: 1 }), TypeError);
  assert.throws(() => Object.assign(DEFAULT_POLICY.objective.weights, { buyerFee: 0 }), TypeError);
  assert.throws(() => Object.assign(OBJECTIVES.operator, { buyerFee: 0 }), TypeError);
});

test('the default policy can be stored as JSON with a decision', () => {
  assert.deepEqual(JSON.parse(JSON.stringify(DEFAULT_POLICY)), DEFAULT_POLICY);
});

test('a minute and each half-life are multiples of a bucket', () => {
  const { bucketSeconds, estimate } = DEFAULT_POLICY;
  for (const seconds of [60, estimate.fastHalfLifeSeconds, estimate.slowHalfLifeSeconds]) {
    assert.equal(seconds % bucketSeconds, 0);
  }
});
