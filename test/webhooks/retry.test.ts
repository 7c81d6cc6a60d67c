import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { Environment } from '../../src/domain/route.ts';
import { ATTEMPT_DELAYS_MS, judgeAttempt, parseRetryAfter } from '../../src/webhooks/retry.ts';
import { START } from './fixtures.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

function delaysOf(environment: Environment, random = 0.5): number[] {
  const delays: number[] = [];
  for (let attempts = 1; ; attempts++) {
    const verdict = judgeAttempt({ environment, attempts, statusCode: 500, random });
    if (verdict.status !== 'pending') {
      assert.deepEqual(verdict, { status: 'dead', gone: false });
      return delays;
    }
    delays.push(verdict.delayMs);
  }
}

test('a delivery has ten attempts over three days in production, and five within two hours in the sandbox', () => {
  const hours = [2, 5, 10, 14, 20, 24].map((count) => count * HOUR);
  assert.deepEqual(delaysOf('production'), [5000, 5 * MINUTE, 30 * MINUTE, ...hours]);
  assert.deepEqual(delaysOf('sandbox'), [5000, MINUTE, 10 * MINUTE, HOUR]);
  assert.equal(ATTEMPT_DELAYS_MS.production[0], 0);
  assert.equal(ATTEMPT_DELAYS_MS.sandbox[0], 0);
});

function delayFor(retryAfterMs: number | undefined): number | false {
  const verdict = judgeAttempt({ environment: 'sandbox', attempts: 2, statusCode: 429, random: 0.5, retryAfterMs });
  return verdict.status === 'pending' && verdict.delayMs;
}

test('Retry-After can raise the delay up to twice the planned delay, and cannot lower it', () => {
  assert.equal(delayFor(undefined), MINUTE);
  assert.equal(delayFor(0), MINUTE);
  assert.equal(delayFor(90_000), 90_000);
  assert.equal(delayFor(24 * HOUR), 2 * MINUTE);
});

test('status 200 acknowledges, 410 ends the delivery, and each delay is an integer of 0.8 to 2 times the planned delay', () => {
  fc.assert(
    fc.property(
      fc.constantFrom('production', 'sandbox'),
      fc.integer({ min: 1, max: 40 }),
      fc.option(fc.oneof(fc.constantFrom(200, 410), fc.integer({ min: 100, max: 999 }))),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      fc.option(fc.nat(), { nil: undefined }),
      (environment, attempts, statusCode, random, retryAfterMs) => {
        const verdict = judgeAttempt({ environment, attempts, statusCode, random, retryAfterMs });
        const planned = ATTEMPT_DELAYS_MS[environment][attempts];
        assert.equal(verdict.status === 'delivered', statusCode === 200);
        if (verdict.status === 'dead') assert.equal(verdict.gone, statusCode === 410);
        if (verdict.status !== 'pending') return assert(statusCode === 200 || statusCode === 410 || !planned);
        assert(planned !== undefined && Number.isSafeInteger(verdict.delayMs));
        return assert(verdict.delayMs >= 0.8 * planned && verdict.delayMs <= 2 * planned);
      },
    ),
  );
});

test('Retry-After is parsed from seconds or an HTTP date', () => {
  assert.equal(parseRetryAfter('120', START), 120_000);
  assert.equal(parseRetryAfter(' 0 ', START), 0);
  assert.equal(parseRetryAfter('Thu, 01 Jan 2026 00:01:00 GMT', START), MINUTE);
  assert.equal(parseRetryAfter('Thursday, 01-Jan-26 00:01:00 GMT', START), MINUTE);
  assert.equal(parseRetryAfter('Wed, 31 Dec 2025 23:00:00 GMT', START), 0);
});

test('an invalid Retry-After is ignored', () => {
  for (const value of ['', '-5', '1.5', '1e3', 'soon', '2026-01-01', 'Foo, 99 Bar 2026 00:00:00 GMT', '9'.repeat(20)]) {
    assert.equal(parseRetryAfter(value, START), undefined, value);
  }
  fc.assert(
    fc.property(fc.string({ unit: 'binary-ascii' }), (value) => {
      const parsed = parseRetryAfter(value, START);
      assert(parsed === undefined || (Number.isSafeInteger(parsed) && parsed >= 0));
    }),
  );
});
