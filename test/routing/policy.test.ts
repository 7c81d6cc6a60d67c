import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_POLICY, OBJECTIVES } from '../../src/routing/policy.ts';

test('the default policy cannot be changed, at any depth', () => {
  assert.throws(() => Object.assign(DEFAULT_POLICY, { bucketSeconds: 1 }), TypeError);
  assert.throws(() => Object.assign(DEFAULT_POLICY.exploration, { floorEvery: 1 }), TypeError);
  assert.throws(() => Object.assign(DEFAULT_POLICY.objective.weights, { buyerFee: 0 }), TypeError);
  assert.throws(() => Object.assign(OBJECTIVES.operator, { buyerFee: 0 }), TypeError);
});

test('the default policy survives JSON, so that a decision can name the numbers it was made by', () => {
  assert.deepEqual(JSON.parse(JSON.stringify(DEFAULT_POLICY)), DEFAULT_POLICY);
});

test('a bucket is a whole part of a minute, and of each half-life', () => {
  const { bucketSeconds, estimate } = DEFAULT_POLICY;
  for (const seconds of [60, estimate.fastHalfLifeSeconds, estimate.slowHalfLifeSeconds]) {
    assert.equal(seconds % bucketSeconds, 0);
  }
});
