import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { ROUTE_KINDS } from '../../src/domain/route.ts';
import { parseCatalogue } from '../../src/routing/catalogue.ts';

interface CatalogueFile {
  routes: Record<string, unknown>[];
}

const shipped = JSON.parse(readFileSync(new URL('../../config/routes.json', import.meta.url), 'utf8')) as CatalogueFile;

/** A catalogue of the first shipped route, with other fields. */
function catalogueWith(fields: Record<string, unknown>): CatalogueFile {
  return { routes: [{ ...shipped.routes[0], ...fields }] };
}

describe('the shipped catalogue', () => {
  const routes = parseCatalogue(shipped);

  for (const kind of ROUTE_KINDS) {
    test(`sandbox has at least two usable routes of kind ${kind}, so that one can fail over`, () => {
      const usable = routes.filter(
        (route) => route.environment === 'sandbox' && route.kind === kind && route.health !== 'standby',
      );
      assert.ok(usable.length >= 2, `${usable.length} of kind ${kind}`);
    });
  }

  test('every route has all fields of a route summary', () => {
    for (const route of routes) {
      const texts = [route.id, route.label, route.integrationId, route.integrationLabel, route.network, route.asset];
      for (const value of [...texts, route.payerLabel, route.eta]) assert.ok(value.length > 0, route.id);
      for (const rate of [route.buyerFeeRate, route.gatewayFeeRate, route.providerCostRate, route.successRate]) {
        assert.ok(Number.isInteger(rate) && rate >= 0, route.id);
      }
      assert.ok(ROUTE_KINDS.includes(route.kind));
      assert.ok(['none', 'light', 'full', 'provider'].includes(route.kycPolicy));
    }
  });

  test('the gateway loses money on no route', () => {
    for (const { id, buyerFeeRate, gatewayFeeRate, providerCostRate } of routes) {
      assert.ok(buyerFeeRate + gatewayFeeRate >= providerCostRate, id);
    }
  });

  test('sandbox uses the simulated provider only, and production never uses it', () => {
    for (const { environment, integrationId, id } of routes) {
      assert.equal(environment === 'sandbox', integrationId === 'sandbox', id);
    }
  });
});

describe('reading a catalogue', () => {
  test('rates are fractions in the file and parts per million inside', () => {
    const [route] = parseCatalogue(catalogueWith({ gatewayFeeRate: 0.0349, successRate: 1 }));
    assert.deepEqual([route?.gatewayFeeRate, route?.successRate], [34_900, 1_000_000]);
  });

  test('the limits themselves are accepted', () => {
    const good = [
      { id: 'abc' },
      { id: 'a'.repeat(120) },
      { label: 'x' },
      { label: 'x'.repeat(120) },
      { gatewayFeeRate: 0 },
      { gatewayFeeRate: 0.5 },
      { successRate: 0 },
      { etaMinutes: 0 },
      { etaMinutes: 43_200 },
      { paymentTimeoutSeconds: 60 },
      { paymentTimeoutSeconds: 604_800 },
    ];
    for (const fields of good) assert.equal(parseCatalogue(catalogueWith(fields)).length, 1);
  });

  const bad: [string, Record<string, unknown>][] = [
    ['id', { id: 'ab' }],
    ['id', { id: 'a'.repeat(121) }],
    ['id', { id: 'Card Route' }],
    ['label', { label: '' }],
    ['label', { label: 'x'.repeat(121) }],
    ['environment', { environment: 'test' }],
    ['kind', { kind: 'bank' }],
    ['health', { health: 'up' }],
    ['kycPolicy', { kycPolicy: 'some' }],
    ['gatewayFeeRate', { gatewayFeeRate: -0.01 }],
    ['gatewayFeeRate', { gatewayFeeRate: 0.51 }],
    ['gatewayFeeRate', { gatewayFeeRate: '2.9%' }],
    ['successRate', { successRate: 1.01 }],
    ['paymentTimeoutSeconds', { paymentTimeoutSeconds: 59 }],
    ['paymentTimeoutSeconds', { paymentTimeoutSeconds: 604_801 }],
    ['paymentTimeoutSeconds', { paymentTimeoutSeconds: 90.5 }],
    ['eta', { eta: undefined }],
    ['etaMinutes', { etaMinutes: -1 }],
    ['etaMinutes', { etaMinutes: 43_201 }],
    ['fee', { fee: 0.01 }],
  ];
  for (const [field, fields] of bad) {
    test(`an invalid ${field} is rejected with its name: ${JSON.stringify(fields).slice(0, 40)}`, () => {
      assert.throws(
        () => parseCatalogue(catalogueWith(fields)),
        (error: Error) => error.message.includes(field) && !error.message.includes('\n'),
      );
    });
  }

  test('a catalogue without routes, with a duplicate id or of another shape is rejected', () => {
    const [route] = shipped.routes;
    assert.throws(() => parseCatalogue({ routes: [] }));
    assert.throws(() => parseCatalogue({ routes: [route, route] }), /route ids must be unique/);
    for (const json of [null, [], 'routes', {}, { routes: {} }, { routes: [null] }]) {
      assert.throws(() => parseCatalogue(json), Error);
    }
  });

  test('all problems are reported at once', () => {
    assert.throws(
      () => parseCatalogue(catalogueWith({ kind: 'bank', eta: '' })),
      /routes\.0\.kind: .*; routes\.0\.eta: /,
    );
  });
});
