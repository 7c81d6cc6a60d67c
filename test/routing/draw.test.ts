import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { drawsOf, uniformOf } from '../../src/routing/draw.ts';

const SAMPLES = 40_000;

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function correlation(a: readonly number[], b: readonly number[]): number {
  return mean(a.map((value, i) => value * b[i]!));
}

/** Draws of one route over sessions whose names differ by a number only, the worst case. */
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
  fc.assert(
    fc.property(fc.array(fc.string()), fc.string(), (others, routeId) => {
      const busy = drawsOf('seed', 'chk_1', 1);
      for (const other of others) busy.gaussianOf(other);
      assert.equal(busy.gaussianOf(routeId), drawsOf('seed', 'chk_1', 1).gaussianOf(routeId));
      assert.equal(busy.uniform, drawsOf('seed', 'chk_1', 1).uniform);
    }),
  );
});

test('seed, session, attempt and route each change the draw, and so do the boundaries of names', () => {
  const first = drawsOf('seed', 'chk_1', 1).gaussianOf('rt_a');
  const others = [
    drawsOf('seed2', 'chk_1', 1).gaussianOf('rt_a'),
    drawsOf('seed', 'chk_2', 1).gaussianOf('rt_a'),
    drawsOf('seed', 'chk_1', 2).gaussianOf('rt_a'),
    drawsOf('seed', 'chk_1', 1).gaussianOf('rt_b'),
    drawsOf('seedc', 'hk_1', 1).gaussianOf('rt_a'),
    drawsOf('seed', 'chk_', 11).gaussianOf('rt_a'),
  ];
  assert.equal(new Set([first, ...others]).size, 7);
  fc.assert(
    fc.property(fc.string(), fc.string({ minLength: 1 }), fc.string(), (a, b, c) => {
      assert.notEqual(uniformOf(a, b + c), uniformOf(a + b, c));
    }),
  );
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
  assert.ok(Math.abs(correlation(first, draws('rt_b'))) < 0.02);
  assert.ok(Math.abs(correlation(first, draws('rt_a', 'seee'))) < 0.02);
  assert.ok(Math.abs(correlation(first, draws('rt_a', 'seed', 2))) < 0.02);
  assert.ok(Math.abs(correlation(first.slice(1), first.slice(0, -1))) < 0.02);
});

test('the number of a decision is uniform and uncorrelated with its draws', () => {
  const decisions = Array.from({ length: SAMPLES }, (_, i) => drawsOf('seed', `chk_${i}`, 1));
  const cells = Array.from({ length: 200 }, () => 0);
  for (const { uniform } of decisions) cells[Math.floor(uniform * cells.length)]! += 1;
  const expected = SAMPLES / cells.length;
  const chiSquare = cells.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
  // 199 degrees of freedom: mean 199, deviation 20.
  assert.ok(chiSquare > 120 && chiSquare < 290, `${chiSquare}`);
  const centred = decisions.map(({ uniform }) => uniform - 0.5);
  assert.ok(Math.abs(correlation(centred, draws('rt_a'))) < 0.01);
});

test('names do not collide', () => {
  const seen = new Set(Array.from({ length: SAMPLES }, (_, i) => drawsOf('seed', `chk_${i}`, 1).gaussianOf('rt_a')));
  // The numbers have some 2^60 values between them; ten collisions in 40,000 would be a hash of 27 bits.
  assert.ok(seen.size > SAMPLES - 2);
});
