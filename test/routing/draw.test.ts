import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { drawsOf, uniformOf } from '../../src/routing/draw.ts';
import { forAll } from '../support/for-all.ts';

const SAMPLES = 40_000;

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function correlation(a: readonly number[], b: readonly number[]): number {
  return mean(a.map((value, i) => value * b[i]!));
}

/** Draws of one route for sessions whose ids differ only in a number, which is the worst case for independence. */
function draws(routeId: string, seed = 'seed', attempt = 1): number[] {
  return Array.from({ length: SAMPLES }, (_, i) => drawsOf(seed, `chk_${i}`, attempt).gaussianOf(routeId));
}

test('draws are the same in every process and on every machine', () => {
  const { gaussianOf, uniform } = drawsOf('instance', 'chk_1', 1);
  assert.deepEqual(
    [uniform, gaussianOf('rt_a'), gaussianOf('rt_b'), uniformOf('split', 'chk_1')],
    [0.8491269696969539, -2.1472979116788298, -0.2107916603080347, 0.4598581057507545],
  );
});

test('the draw of a route depends on the decision and the route only', () => {
  forAll(100, fc.array(fc.string()), fc.string(), (others, routeId) => {
    const busy = drawsOf('seed', 'chk_1', 1);
    for (const other of others) busy.gaussianOf(other);
    assert.equal(busy.gaussianOf(routeId), drawsOf('seed', 'chk_1', 1).gaussianOf(routeId));
    assert.equal(busy.uniform, drawsOf('seed', 'chk_1', 1).uniform);
  });
});

test('seed, session, attempt and route each change the draw, even if their concatenation is equal', () => {
  const names = [
    ['seed', 'chk_1', 1, 'rt_a'],
    ['seed2', 'chk_1', 1, 'rt_a'],
    ['seed', 'chk_2', 1, 'rt_a'],
    ['seed', 'chk_1', 2, 'rt_a'],
    ['seed', 'chk_1', 1, 'rt_b'],
    ['seedc', 'hk_1', 1, 'rt_a'],
    ['seed', 'chk_', 11, 'rt_a'],
  ] as const;
  const values = names.map(([seed, session, attempt, route]) => drawsOf(seed, session, attempt).gaussianOf(route));
  assert.equal(new Set(values).size, names.length);
  forAll(100, fc.string(), fc.string({ minLength: 1 }), fc.string(), (a, b, c) => {
    assert.notEqual(uniformOf(a, b + c), uniformOf(a + b, c));
  });
});

test('draws are standard Gaussians', () => {
  const values = draws('rt_a');
  assert.ok(Math.abs(mean(values)) < 0.02);
  assert.ok(Math.abs(mean(values.map((value) => value ** 2)) - 1) < 0.03);
  assert.ok(Math.abs(mean(values.map((value) => value ** 3))) < 0.06);
  assert.ok(Math.abs(mean(values.map((value) => value ** 4)) - 3) < 0.15);
  for (const [limit, share] of [
    [-1.6449, 0.05],
    [-0.6745, 0.25],
    [0, 0.5],
    [0.6745, 0.75],
    [2.3263, 0.99],
  ] as const) {
    const below = values.filter((value) => value < limit).length / SAMPLES;
    assert.ok(Math.abs(below - share) < 0.01, `${below} below ${limit}`);
  }
});

test('draws of different routes, sessions, attempts and seeds are uncorrelated', () => {
  const first = draws('rt_a');
  for (const other of [draws('rt_b'), draws('rt_a', 'seee'), draws('rt_a', 'seed', 2), first.slice(1)]) {
    assert.ok(Math.abs(correlation(other, first)) < 0.02);
  }
});

test('the numbers of decisions and of splits are uniform and uncorrelated', () => {
  const numbersOf = (numberOf: (session: string) => number) =>
    Array.from({ length: SAMPLES }, (_, i) => numberOf(`chk_${i}`) - 0.5);
  const decisions = numbersOf((session) => drawsOf('seed', session, 1).uniform);
  const [one, other] = ['one', 'other'].map((rule) => numbersOf((session) => uniformOf(rule, session)));
  for (const numbers of [decisions, one!, other!]) {
    const cells = Array.from({ length: 200 }, () => 0);
    for (const number of numbers) cells[Math.floor((number + 0.5) * cells.length)]! += 1;
    const expected = SAMPLES / cells.length;
    const chiSquare = cells.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
    // 199 degrees of freedom: mean 199, deviation 20.
    assert.ok(chiSquare > 120 && chiSquare < 290, `${chiSquare}`);
  }
  assert.ok(Math.abs(correlation(decisions, draws('rt_a'))) < 0.01);
  // The variance of a uniform number is 1/12.
  assert.ok(Math.abs(correlation(one!, other!)) < 0.02 / 12);
});
