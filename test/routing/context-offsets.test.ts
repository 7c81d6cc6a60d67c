import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { randomStream } from '../../bench/routing/world/random.ts';
import {
  type ContextMemory,
  type ContextOutcomes,
  NO_CONTEXTS,
  contextRatios,
  offsetsOf,
  withContexts,
  withOffsets,
} from '../../src/routing/context-offsets.ts';
import { cardFrom } from '../../src/domain/payment-card.ts';
import { COMMON_CONTEXTS, contextsOf, lastCard } from '../../src/domain/payment-contexts.ts';
import { DEFAULT_POLICY } from '../../src/routing/routing-policy.ts';
import { forAll } from '../support/for-all.ts';

const VALUES = 20;
const FAILURE_RATE = 0.1;
const ROUTES = ['rt_a', 'rt_b'];

/** Memories of the routes after payments of which each route fails the share `failureRateOf`, with the route's mean as its estimate. */
function learned(payments: number, failureRateOf: (route: string, value: number) => number, context = 'country') {
  const random = randomStream(7);
  const memories = new Map<string, ContextMemory>();
  for (const route of ROUTES) {
    const added = Array.from({ length: payments }, (): ContextOutcomes => {
      const value = Math.floor(random.uniform() * VALUES);
      const fails = random.uniform() < failureRateOf(route, value);
      return { contexts: { [context]: String(value) }, successes: fails ? 0 : 1, failures: fails ? 1 : 0 };
    });
    const failureRate = added.filter(({ failures }) => failures > 0).length / payments;
    memories.set(route, withContexts(NO_CONTEXTS, added, { bucket: 0, failureRate, weight: 1 }, DEFAULT_POLICY));
  }
  return contextRatios(memories, DEFAULT_POLICY);
}

function ratiosOf(ratios: ReturnType<typeof learned>, route: string, context = 'country'): number[] {
  return Array.from({ length: VALUES }, (_, value) => {
    const [offset] = offsetsOf(ratios.get(route), { [context]: String(value) });
    return offset?.ratio ?? 1;
  });
}

describe('offsets of routes in contexts', () => {
  test('a context that means nothing changes the expected failures by less than a quarter, or by a third if the operator names it', () => {
    for (const [context, low, high] of [
      ['hour', 0.75, 1.25],
      ['metadata', 0.66, 1.33],
    ] as const) {
      const ratios = learned(5000, () => FAILURE_RATE, context);
      for (const route of ROUTES) {
        for (const ratio of ratiosOf(ratios, route, context)) assert.ok(ratio > low && ratio < high, String(ratio));
      }
    }
  });

  test('few payments show that a route handles half of the values badly, sooner if the operator names the context', () => {
    const ratioOf = (context: string) => {
      const added = Array.from({ length: VALUES }, (_, value) => ({
        contexts: { [context]: String(value) },
        ...(value % 2 === 0 ? { successes: 3800, failures: 200 } : { successes: 34, failures: 6 }),
      }));
      const memory = withContexts(NO_CONTEXTS, added, { bucket: 0, failureRate: 0.051, weight: 1 }, DEFAULT_POLICY);
      const ratios = contextRatios(new Map(ROUTES.map((route) => [route, memory])), DEFAULT_POLICY);
      return offsetsOf(ratios.get('rt_a'), { [context]: '1' })[0]!.ratio;
    };
    const [common, named] = [ratioOf('hour'), ratioOf('metadata')];
    assert.ok(named > 1.35 && common < 1.15, `${named}, ${common}`);
  });

  test('a route that refuses one value of a context is expected to fail there, and nowhere else', () => {
    for (const context of ['country', 'hour']) {
      const ratios = learned(1000, (route, value) => (route === 'rt_a' && value === 3 ? 1 : FAILURE_RATE), context);
      const [refused, ...others] = ratiosOf(ratios, 'rt_a', context).toSorted((a, b) => b - a);
      assert.equal(ratiosOf(ratios, 'rt_a', context)[3], refused);
      assert.ok(withOffsets(0.86, [{ context, value: '3', ratio: refused! }]) < 0.2, String(refused));
      for (const ratio of others) assert.ok(ratio < 1.2, String(ratio));
      for (const ratio of ratiosOf(ratios, 'rt_b', context)) assert.ok(ratio > 0.7 && ratio < 1.4, String(ratio));
    }
  });

  test('six failures without a success are an exception; a third more failures than usual among hundreds of payments are not, nor are the few failures of a reliable route', () => {
    const ratioOf = (
      failureRate: number,
      payments: number,
      counts: Pick<ContextOutcomes, 'successes' | 'failures'>,
    ) => {
      const added = Array.from({ length: VALUES }, (_, value) => ({
        contexts: { hour: String(value) },
        successes: payments * (1 - failureRate),
        failures: payments * failureRate,
        ...(value === 3 && counts),
      }));
      const memory = withContexts(NO_CONTEXTS, added, { bucket: 0, failureRate, weight: 1 }, DEFAULT_POLICY);
      const ratios = contextRatios(new Map(ROUTES.map((route) => [route, memory])), DEFAULT_POLICY);
      return offsetsOf(ratios.get('rt_a'), { hour: '3' })[0]?.ratio ?? 1;
    };
    assert.ok(ratioOf(0.2, 500, { successes: 0, failures: 6 }) > 2.5);
    assert.ok(ratioOf(0.1, 500, { successes: 285, failures: 45 }) < 1.15);
    assert.equal(ratioOf(0.002, 4000, { successes: 3990, failures: 10 }), 1);
  });

  test('every context is a common one, except the metadata that the operator names', () => {
    const payment = { amount: 5000, customerEmail: 'ada@gmail.com', metadata: { country: 'DE' } };
    assert.deepEqual(new Set(Object.keys(contextsOf(payment, 0, undefined))), COMMON_CONTEXTS);
    assert.equal(contextsOf(payment, 0, 'country')['metadata'], 'DE');
    assert.ok(!COMMON_CONTEXTS.has('metadata'));
  });

  test('the contexts of a payment are its band of amounts, the hour in UTC, a large mail provider, and short metadata', () => {
    const contextsAt = (amount: number, customerEmail: string, country: string) =>
      contextsOf({ amount, customerEmail, metadata: { country } }, Date.parse('2026-03-01T23:59:59.999Z'), 'country');
    const short = 'x'.repeat(32);
    assert.deepEqual(contextsAt(5000, 'ada@GMAIL.com', 'DE'), {
      amount: '50-100',
      hour: '23',
      mail: 'gmail.com',
      metadata: 'DE',
    });
    assert.deepEqual(contextsAt(4999, 'ada@lovelace.example', short), {
      amount: '20-50',
      hour: '23',
      mail: 'other',
      metadata: short,
    });
    assert.deepEqual(contextsAt(500_000, 'ada@web.de', `${short}x`), { amount: '5000+', hour: '23', mail: 'web.de' });
  });

  test('the card that a provider reported adds its country and its group', () => {
    const order = { amount: 5000, customerEmail: 'ada@gmail.com', metadata: {} };
    const texts = { country: 'de', brand: 'Visa', funding: 'DEBIT' };
    const contextsWith = (reported: Parameters<typeof cardFrom>[0]) => {
      const { country, card } = contextsOf(order, 0, undefined, cardFrom(reported));
      return [country, card];
    };
    assert.deepEqual(contextsWith(texts), ['DE', 'visa debit']);
    assert.deepEqual(contextsWith({ ...texts, country: null }), [undefined, 'visa debit']);
    assert.deepEqual(contextsWith({ ...texts, funding: undefined }), ['DE', undefined]);
    assert.deepEqual(contextsWith({ country: 'Germany', brand: 'visa', funding: '4111 1111' }), [undefined, undefined]);
    assert.equal(cardFrom({}), null);
    const [first, second] = [cardFrom(texts), cardFrom({ country: 'FR' })];
    const payments = [first, second, null].map((card) => ({ card }));
    assert.equal(lastCard(payments), second);
    assert.equal(lastCard([]), null);
  });

  test('a few payments change little', () => {
    const ratios = learned(20, (_route, value) => value / VALUES);
    for (const ratio of ratiosOf(ratios, 'rt_a')) assert.ok(ratio > 0.6 && ratio < 2, String(ratio));
  });

  test('failures are forgotten with a half-life of a week', () => {
    const added = [{ contexts: { country: 'DE' }, successes: 6, failures: 4 }];
    const before = withContexts(NO_CONTEXTS, added, { bucket: 0, failureRate: 0.2, weight: 1 }, DEFAULT_POLICY);
    const weekLater = (7 * 86_400) / DEFAULT_POLICY.bucketSeconds;
    const other = [{ contexts: { country: 'FR' }, successes: 1, failures: 0 }];
    const after = withContexts(before, other, { bucket: weekLater, failureRate: 0.2, weight: 1 }, DEFAULT_POLICY);
    assert.deepEqual(after.outcomes['country']!['DE'], { seen: 2, expected: 1, successes: 3 });
  });

  test('outcomes of a disturbance count with their weight, and a value with fewer failures than expected keeps a ratio between 0 and 1', () => {
    const failing = [{ contexts: { hour: '1' }, successes: 0, failures: 100 }];
    const before = withContexts(NO_CONTEXTS, failing, { bucket: 0, failureRate: 0.1, weight: 1 }, DEFAULT_POLICY);
    const down = [{ contexts: { hour: '2' }, successes: 10, failures: 10 }];
    const after = withContexts(before, down, { bucket: 0, failureRate: 0.9, weight: 0.5 }, DEFAULT_POLICY);
    // The route fails more than expected, so more failures are usual for the second hour than it has payments.
    assert.deepEqual(after.outcomes['hour']!['2'], { seen: 5, expected: 9, successes: 5 });
    const ratio = contextRatios(new Map([['rt_a', after]]), DEFAULT_POLICY)
      .get('rt_a')!
      .get('hour')!
      .get('2')!;
    assert.ok(ratio > 0 && ratio < 1, String(ratio));
  });

  test('a route remembers at most 50 values of a context, and names of object properties are values like any other', () => {
    const anyValue = fc.constantFrom('__proto__', 'constructor', ...Array.from({ length: 70 }, (_, n) => `v${n}`));
    forAll(50, fc.array(anyValue, { minLength: 1, maxLength: 200 }), (values) => {
      const added = values.map((value) => ({ contexts: { metadata: value }, successes: 0, failures: 1 }));
      const memory = withContexts(NO_CONTEXTS, added, { bucket: 0, failureRate: 0.1, weight: 1 }, DEFAULT_POLICY);
      const stored = JSON.parse(JSON.stringify(memory)) as ContextMemory;
      assert.deepEqual(stored, memory);
      const kept = Object.entries(stored.outcomes['metadata']!);
      assert.equal(kept.length, Math.min(50, new Set(values).size));
      for (const [value, { seen }] of kept) assert.equal(seen, values.filter((each) => each === value).length);
    });
  });

  test('a success rate with offsets stays between 0 and 1, and falls as the ratio rises', () => {
    const ratio = fc.double({ min: 0, max: 100, noNaN: true });
    forAll(200, fc.double({ min: 0, max: 1, noNaN: true }), ratio, ratio, (rate, a, b) => {
      const [low, high] = [Math.min(a, b), Math.max(a, b)].map((each) =>
        withOffsets(rate, [{ context: 'hour', value: '7', ratio: each }]),
      );
      assert.ok(low! >= high! && high! > 0 && low! < 1);
    });
  });
});
