import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { ENVIRONMENTS, ROUTE_KINDS, type Route } from '../../src/domain/route.ts';
import { isUsable, rankRoutes, scoreOf, waysToPay } from '../../src/routing/select.ts';
import { aRoute } from '../fixtures/records.ts';

const card = aRoute({ id: 'card_a', kind: 'card', successRate: 930_000 });
const cardBackup = aRoute({ id: 'card_b', kind: 'card', successRate: 900_000 });
const wallet = aRoute({ id: 'wallet_a', kind: 'wallet', successRate: 910_000 });
const local = aRoute({ id: 'local_a', kind: 'local', successRate: 880_000 });
const standby = (route: Route): Route => ({ ...route, health: 'standby' });
const degraded = (route: Route): Route => ({ ...route, health: 'degraded' });

function order(routes: Route[], wish: Partial<Parameters<typeof rankRoutes>[1]> = {}): string[] {
  return rankRoutes(routes, { environment: 'sandbox', ...wish }).map(({ id }) => id);
}

const anyRoutes = fc.uniqueArray(
  fc.record({
    id: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'),
    environment: fc.constantFrom(...ENVIRONMENTS),
    kind: fc.constantFrom(...ROUTE_KINDS),
    health: fc.constantFrom('live' as const, 'degraded' as const, 'standby' as const),
    // Few values, so that scores are often equal.
    successRate: fc.constantFrom(0, 500_000, 900_000, 1_000_000),
    buyerFeeRate: fc.constantFrom(0, 500_000),
    providerCostRate: fc.constantFrom(0, 20_000, 500_000),
  }),
  { selector: ({ id }) => id },
);
const anyWish = fc.record({
  environment: fc.constantFrom(...ENVIRONMENTS),
  preferredRoute: fc.constantFrom(undefined, ...ROUTE_KINDS),
});

describe('ranking', () => {
  test('without a wish, the best score comes first', () => {
    assert.deepEqual(order([local, cardBackup, wallet, card]), ['card_a', 'wallet_a', 'card_b', 'local_a']);
  });

  test('the preferred kind comes first, whatever its score', () => {
    const ranked = order([card, cardBackup, wallet, local], { preferredRoute: 'local' });
    assert.deepEqual(ranked, ['local_a', 'card_a', 'wallet_a', 'card_b']);
  });

  test('within a kind health comes before score', () => {
    assert.deepEqual(order([degraded(card), cardBackup]), ['card_b', 'card_a']);
  });

  test('the preferred kind is honoured while degraded', () => {
    assert.deepEqual(order([card, degraded(wallet)], { preferredRoute: 'wallet' }), ['wallet_a', 'card_a']);
  });

  test('where the preferred kind has no usable route, the best of the others is taken', () => {
    const routes = [standby(wallet), local, card];
    assert.deepEqual(order(routes, { preferredRoute: 'wallet' }), ['card_a', 'local_a', 'wallet_a']);
  });

  test('where nothing is usable, the preferred kind still comes first: a session can be created on it', () => {
    const routes = [standby(card), standby(wallet)];
    assert.deepEqual(order(routes, { preferredRoute: 'wallet' }), ['wallet_a', 'card_a']);
  });

  test('equal routes are taken by id', () => {
    const twins = ['c', 'a', 'b'].map((id) => ({ ...card, id }));
    assert.deepEqual(order(twins), ['a', 'b', 'c']);
  });

  test('no route of the other environment is ever chosen', () => {
    const live = { ...card, id: 'card_live', environment: 'production' as const };
    assert.deepEqual(order([live, local]), ['local_a']);
    assert.deepEqual(order([live, local], { environment: 'production' }), ['card_live']);
    assert.deepEqual(order([]), []);
  });

  test('the same routes and wish give the same order, in whatever order the routes come', () => {
    fc.assert(
      fc.property(anyRoutes, anyWish, fc.infiniteStream(fc.nat()), (fields, wish, keys) => {
        const routes = fields.map((each) => aRoute(each));
        const given = [...routes];
        const ranked = rankRoutes(routes, wish);
        assert.deepEqual(routes, given, 'the catalogue is left as it is');
        const weights = new Map(routes.map((route) => [route, keys.next().value ?? 0]));
        const shuffled = routes.toSorted((a, b) => weights.get(a)! - weights.get(b)!);
        assert.deepEqual(rankRoutes(shuffled, wish), ranked);
      }),
    );
  });

  test('usable before standby, preferred before others, live before degraded, high score before low', () => {
    const healths = { live: 0, degraded: 1, standby: 2 };
    fc.assert(
      fc.property(anyRoutes, anyWish, (fields, wish) => {
        const routes = fields.map((each) => aRoute(each));
        const ranked = rankRoutes(routes, wish);
        assert.deepEqual(
          ranked.map(({ id }) => id).toSorted(),
          routes
            .filter(({ environment }) => environment === wish.environment)
            .map(({ id }) => id)
            .toSorted(),
        );
        const key = (route: Route) => [
          isUsable(route) ? 0 : 1,
          route.kind === wish.preferredRoute ? 0 : 1,
          healths[route.health],
          100 - scoreOf(route),
        ];
        for (const [index, route] of ranked.entries()) {
          const next = ranked[index + 1];
          if (next) assert.ok(isSorted(key(route), key(next)), `${route.id} before ${next.id}`);
        }
      }),
    );
  });
});

function isSorted(left: number[], right: number[]): boolean {
  const index = left.findIndex((value, position) => value !== right[position]);
  return index === -1 || left[index]! < right[index]!;
}

describe('score', () => {
  test('it is the success rate less a quarter of what buyer and provider charge, from 0 to 100', () => {
    assert.equal(scoreOf(aRoute({ successRate: 930_000, buyerFeeRate: 0, providerCostRate: 19_000 })), 92.5);
    assert.equal(scoreOf(aRoute({ successRate: 930_000, buyerFeeRate: 5_000, providerCostRate: 19_000 })), 92.4);
    assert.equal(scoreOf(aRoute({ successRate: 1_000_000, buyerFeeRate: 0, providerCostRate: 0 })), 100);
    assert.equal(scoreOf(aRoute({ successRate: 0, buyerFeeRate: 500_000, providerCostRate: 500_000 })), 0);
  });

  test('what succeeds more often or costs less never scores lower', () => {
    const rate = fc.integer({ min: 0, max: 500_000 });
    fc.assert(
      fc.property(rate, rate, rate, rate, (successRate, buyerFeeRate, providerCostRate, more) => {
        const base = scoreOf(aRoute({ successRate, buyerFeeRate, providerCostRate }));
        assert.ok(base >= 0 && base <= 100 && Number.isInteger(Math.round(base * 1e9) / 1e8));
        assert.ok(scoreOf(aRoute({ successRate: successRate + more, buyerFeeRate, providerCostRate })) >= base);
        assert.ok(scoreOf(aRoute({ successRate, buyerFeeRate: buyerFeeRate + more, providerCostRate })) <= base);
        assert.ok(scoreOf(aRoute({ successRate, buyerFeeRate, providerCostRate: providerCostRate + more })) <= base);
      }),
    );
  });
});

describe('what a buyer chooses from', () => {
  test('the best usable route of each kind, best first', () => {
    const ways = waysToPay([cardBackup, card, standby(wallet), local], { environment: 'sandbox' });
    assert.deepEqual(
      ways.map(({ id }) => id),
      ['card_a', 'local_a'],
    );
  });

  test('nothing where nothing can take a payment', () => {
    assert.deepEqual(waysToPay([standby(card), standby(local)], { environment: 'sandbox' }), []);
  });

  test('live and degraded routes can take a payment, standby ones cannot', () => {
    assert.deepEqual([card, degraded(card), standby(card)].map(isUsable), [true, true, false]);
  });
});
