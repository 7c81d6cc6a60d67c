import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { ROUTE_KINDS } from '../../src/domain/route.ts';
import { parseCatalogue } from '../../src/routing/catalogue.ts';

interface CatalogueFile {
  routes: Record<string, unknown>[];
}

const shipped = JSON.parse(readFileSync(new URL('../../config/routes.json', import.meta.url), 'utf8')) as CatalogueFile;

/** A catalogue that contains only the first shipped route, with these fields changed. */
function catalogueWith(fields: Record<string, unknown>): CatalogueFile {
  return { routes: [{ ...shipped.routes[0], ...fields }] };
}

describe('the shipped catalogue', () => {
  const routes = parseCatalogue(shipped);

  for (const kind of ROUTE_KINDS) {
    test(`the shipped route catalogue has at least two usable sandbox routes of kind ${kind}, so that a payment can fail over`, () => {
      const inSandbox = routes.filter((route) => route.environment === 'sandbox' && route.kind === kind);
      assert.ok(inSandbox.filter(({ health }) => health !== 'standby').length >= 2);
    });
  }

  test('the shipped route catalogue has no route on which the gateway loses money', () => {
    for (const { id, buyerFeeRate, gatewayFeeRate, providerCostRate } of routes) {
      assert.ok(buyerFeeRate + gatewayFeeRate >= providerCostRate, id);
    }
  });

  test('the shipped route catalogue uses the simulated provider on every sandbox route and on no production route', () => {
    for (const { environment, integrationId, id } of routes) {
      assert.equal(environment === 'sandbox', integrationId === 'sandbox', id);
    }
  });
});

describe('the reader of a catalogue', () => {
  test('the reader of the route catalogue converts rates from fractions to parts per million', () => {
    const [route] = parseCatalogue(catalogueWith({ gatewayFeeRate: 0.0349, successRate: 1 }));
    assert.deepEqual([route?.gatewayFeeRate, route?.successRate], [34_900, 1_000_000]);
  });

  test('the reader of the route catalogue converts amount limits from dollars to cents, and accepts a route without limits', () => {
    const [route] = parseCatalogue(catalogueWith({ providerCostFixed: 0.3, minAmount: 0.5, maxAmount: 100 }));
    assert.deepEqual([route?.providerCostFixed, route?.minAmount, route?.maxAmount], [30, 50, 10_000]);
    const [plain] = parseCatalogue(catalogueWith({}));
    assert.deepEqual([plain?.providerCostFixed, plain?.minAmount, plain?.maxAmount], [undefined, undefined, undefined]);
  });

  test('the reader of the route catalogue does not change the options of a route', () => {
    const options = { method: 'card', nested: { any: [1] } };
    assert.deepEqual(parseCatalogue(catalogueWith({ options }))[0]?.options, options);
  });

  test('the reader of the route catalogue accepts values at their limits', () => {
    const accepted: [field: string, ...values: (string | number)[]][] = [
      ['id', 'abc', 'a'.repeat(120)],
      ['label', 'x', 'x'.repeat(120)],
      ['gatewayFeeRate', 0, 0.5],
      ['successRate', 0, 1],
      ['etaMinutes', 0, 43_200],
      ['paymentTimeoutSeconds', 60, 604_800],
    ];
    for (const [field, ...values] of accepted) {
      for (const value of values) assert.equal(parseCatalogue(catalogueWith({ [field]: value })).length, 1);
    }
  });

  const rejected: [field: string, ...values: unknown[]][] = [
    ['id', 'ab', 'a'.repeat(121), 'Card Route'],
    ['label', '', 'x'.repeat(121)],
    ['environment', 'test'],
    ['kind', 'bank'],
    ['health', 'up'],
    ['kycPolicy', 'some'],
    ['gatewayFeeRate', -0.01, 0.51, '2.9%'],
    ['successRate', 1.01],
    ['paymentTimeoutSeconds', 59, 604_801, 90.5],
    ['eta', undefined],
    ['etaMinutes', -1, 43_201],
    ['fee', 0.01],
    ['providerCostFixed', -0.1, 0.305, '0.30'],
    ['minAmount', -1, 0.001, 10_001],
    ['options', 'card', []],
  ];
  for (const [field, ...values] of rejected) {
    test(`the reader of the route catalogue rejects an invalid ${field} and names it: ${JSON.stringify(values).slice(0, 40)}`, () => {
      for (const value of values) {
        assert.throws(
          () => parseCatalogue(catalogueWith({ [field]: value })),
          (error: Error) => error.message.includes(field) && !error.message.includes('\n'),
        );
      }
    });
  }

  test('the reader of the route catalogue rejects a maxAmount below the minAmount', () => {
    assert.throws(() => parseCatalogue(catalogueWith({ minAmount: 2, maxAmount: 1 })), /routes\.0\.maxAmount: /);
    assert.equal(parseCatalogue(catalogueWith({ minAmount: 2, maxAmount: 2 })).length, 1);
  });

  test('the reader of the route catalogue rejects a file without routes, with a duplicate id or of another shape', () => {
    const [route] = shipped.routes;
    assert.throws(() => parseCatalogue({ routes: [] }));
    assert.throws(() => parseCatalogue({ routes: [route, route] }), /route ids must be unique/);
    for (const json of [null, [], 'routes', {}, { routes: {} }, { routes: [null] }]) {
      assert.throws(() => parseCatalogue(json), Error);
    }
  });

  test('the reader of the route catalogue reports all problems at once', () => {
    assert.throws(
      () => parseCatalogue(catalogueWith({ kind: 'bank', eta: '' })),
      /routes\.0\.kind: .*; routes\.0\.eta: /,
    );
  });
});
