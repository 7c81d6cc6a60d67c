/* oxlint-disable unicorn/no-thenable -- a keyword of the rule language */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Route } from '../../src/domain/route.ts';
import { checkRules } from '../../src/routing/check-rules.ts';
import {
  NO_EFFECT,
  NO_RULES,
  type RuleEffect,
  type RuleFacts,
  compileRules,
  effectKey,
  evaluateRules,
} from '../../src/routing/evaluate-rules.ts';
import { uniformOf } from '../../src/routing/draw.ts';
import { aRoute } from '../fixtures/checkout-records.ts';

const routes: Route[] = [
  aRoute({ id: 'rt_a', kind: 'card', network: 'visa' }),
  aRoute({ id: 'rt_b', kind: 'card', network: 'amex', kycPolicy: 'light' }),
  aRoute({ id: 'rt_wallet', kind: 'wallet', asset: 'USDC' }),
  aRoute({ id: 'rt_local', kind: 'local', network: 'ach' }),
  aRoute({ id: 'rt_eu_card', kind: 'card', environment: 'production', integrationId: 'acme' }),
  aRoute({ id: 'rt_eu_local', kind: 'local', environment: 'production', integrationId: 'acme' }),
];

// A Tuesday.
const AT = Date.UTC(2026, 0, 6, 14, 30);

function facts(fields: Partial<RuleFacts> = {}): RuleFacts {
  return {
    amount: 4999,
    currency: 'USD',
    environment: 'sandbox',
    preferredKind: null,
    product: 'Field guide',
    customer: 'Buyer@Example.com',
    clientReferenceId: null,
    metadata: {},
    at: AT,
    sessionId: 'chk_1',
    ...fields,
  };
}

/** Effect of rules on a session, after the same check as for an operator's rules. */
function effectOf(rules: unknown[], fields: Partial<RuleFacts> = {}): RuleEffect {
  const { ruleSet } = checkRules({ version: 1, rules }, routes);
  return evaluateRules(compileRules(ruleSet, routes), facts(fields));
}

function holds(when: unknown, fields: Partial<RuleFacts> = {}): boolean {
  return effectOf([{ id: 'r', when, then: { explore: false } }], fields).matched.length === 1;
}

const excludedBy = (then: object, fields: Partial<RuleFacts> = {}) =>
  effectOf([{ id: 'r', when: { amount: { gt: 0 } }, then }], fields).excluded.map(({ route }) => route);

describe('conditions of rules', () => {
  test('a rule without a condition always applies', () => {
    assert.deepEqual(effectOf([{ id: 'r', then: { explore: false } }]).matched, [{ id: 'r', effect: 'explore off' }]);
  });

  test('an amount is given in dollars and compared in cents', () => {
    assert.ok(holds({ amount: 0.3 }, { amount: 30 }));
    assert.ok(holds({ amount: { lt: 1.1 } }, { amount: 109 }));
    assert.ok(!holds({ amount: { lt: 1.1 } }, { amount: 110 }));
    for (let cents = 0; cents <= 1_000_000; cents += 997) assert.ok(holds({ amount: cents / 100 }, { amount: cents }));
  });

  const examples: [when: object, yes: Partial<RuleFacts>, no: Partial<RuleFacts>][] = [
    [{ amount: { gt: 50 } }, { amount: 5001 }, { amount: 5000 }],
    [{ amount: { gte: 50 } }, { amount: 5000 }, { amount: 4999 }],
    [{ amount: { lt: 50 } }, { amount: 4999 }, { amount: 5000 }],
    [{ amount: { lte: 50 } }, { amount: 5000 }, { amount: 5001 }],
    [{ amount: { gte: 10, lt: 200 } }, { amount: 1000 }, { amount: 20_000 }],
    [{ amount: [10, 20] }, { amount: 2000 }, { amount: 3000 }],
    [{ currency: 'USD' }, {}, { currency: 'EUR' }],
    [{ currency: { ne: 'EUR' } }, {}, { currency: 'EUR' }],
    [{ environment: 'sandbox' }, {}, { environment: 'production' }],
    [{ preferredKind: 'card' }, { preferredKind: 'card' }, { preferredKind: null }],
    [{ preferredKind: { ne: 'card' } }, { preferredKind: null }, { preferredKind: 'card' }],
    [{ preferredKind: { exists: true } }, { preferredKind: 'local' }, { preferredKind: null }],
    [{ product: { prefix: 'Gift' } }, { product: 'Gift card' }, { product: 'A Gift' }],
    [{ product: 'Field guide' }, {}, { product: 'field guide' }],
    [{ customer: 'buyer@example.COM' }, {}, { customer: 'other@example.com' }],
    [{ customer: ['BUYER@example.com'] }, {}, { customer: 'other@example.com' }],
    [{ customer: { suffix: '@EXAMPLE.com' } }, {}, { customer: 'buyer@example.org' }],
    [{ customer: { nin: ['other@example.com'] } }, {}, { customer: 'OTHER@example.com' }],
    [{ clientReferenceId: { prefix: 'B2B-' } }, { clientReferenceId: 'B2B-1' }, { clientReferenceId: null }],
    [{ clientReferenceId: { exists: false } }, {}, { clientReferenceId: 'A-1' }],
    [{ clientReferenceId: { nin: ['A-1'] } }, {}, { clientReferenceId: 'A-1' }],
    [{ 'metadata.tier': ['gold', 'vip'] }, { metadata: { tier: 'vip' } }, { metadata: { Tier: 'vip' } }],
    [{ 'metadata.a.b': 'x' }, { metadata: { 'a.b': 'x' } }, { metadata: { a: 'x' } }],
    [{ 'metadata.tier': { exists: true } }, { metadata: { tier: '' } }, {}],
    [{ 'metadata.toString': { exists: false } }, {}, { metadata: { toString: 'own' } }],
    [{ hour: 14 }, {}, { at: AT + 3_600_000 }],
    [{ hour: { gte: 22 } }, { at: Date.UTC(2026, 5, 1, 22) }, { at: Date.UTC(2026, 5, 1, 21, 59, 59, 999) }],
    [{ weekday: 'tue' }, {}, { at: AT + 86_400_000 }],
    [{ weekday: ['sat', 'sun'] }, { at: Date.UTC(2026, 0, 11, 23, 59) }, { at: Date.UTC(2026, 0, 12) }],
    [{ weekday: 'thu' }, { at: 0 }, { at: -1 }],
    [{ weekday: 'wed', hour: 23 }, { at: -1 }, { at: 0 }],
    [{ product: 'Field guide', amount: { lt: 50 } }, {}, { amount: 5000 }],
    [{ any: [{ 'metadata.tier': 'vip' }, { amount: { gte: 2000 } }] }, { amount: 200_000 }, { amount: 199_999 }],
    [{ all: [{ hour: 14 }, { weekday: 'tue' }] }, {}, { at: AT + 86_400_000 }],
    [{ not: { currency: 'USD', hour: 14 } }, { at: AT + 3_600_000 }, {}],
    [{ any: [{ hour: 1 }, { hour: 14 }], amount: { gt: 10 } }, {}, { amount: 900 }],
  ];
  for (const [when, yes, no] of examples) {
    test(`${JSON.stringify(when)} holds for ${JSON.stringify(yes)}, not for ${JSON.stringify(no)}`, () => {
      assert.equal(holds(when, yes), true);
      assert.equal(holds(when, no), false);
    });
  }

  test('every weekday has its name', () => {
    for (const [index, name] of ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'].entries()) {
      assert.ok(holds({ weekday: name }, { at: Date.UTC(2026, 0, 5 + index) }), name);
    }
  });
});

describe('modifiers', () => {
  test('a rule excludes routes by id, by several ids or by their attributes', () => {
    assert.deepEqual(excludedBy({ exclude: 'rt_b' }), ['rt_b']);
    assert.deepEqual(excludedBy({ exclude: ['rt_local', 'rt_a'] }), ['rt_a', 'rt_local']);
    assert.deepEqual(excludedBy({ exclude: { kind: 'card' } }), ['rt_a', 'rt_b']);
    assert.deepEqual(excludedBy({ exclude: { kind: 'card', network: ['amex', 'ach'] } }), ['rt_b']);
    assert.deepEqual(excludedBy({ exclude: { asset: 'USDC' } }), ['rt_wallet']);
    assert.deepEqual(excludedBy({ exclude: { kycPolicy: ['light', 'none'] } }), [
      'rt_a',
      'rt_b',
      'rt_wallet',
      'rt_local',
    ]);
  });

  test('only excludes all other routes', () => {
    assert.deepEqual(excludedBy({ only: { kind: 'card' } }), ['rt_wallet', 'rt_local']);
    assert.deepEqual(excludedBy({ only: { kind: 'card' }, exclude: 'rt_a' }), ['rt_a', 'rt_wallet', 'rt_local']);
    assert.deepEqual(excludedBy({ only: 'rt_eu_card' }), ['rt_a', 'rt_b', 'rt_wallet', 'rt_local']);
  });

  test('the effect names routes of the session’s environment only', () => {
    const then = { exclude: { kind: ['card', 'local'] } };
    assert.deepEqual(excludedBy(then), ['rt_a', 'rt_b', 'rt_local']);
    assert.deepEqual(excludedBy(then, { environment: 'production' }), ['rt_eu_card', 'rt_eu_local']);
    assert.deepEqual(excludedBy({ exclude: { integrationId: 'acme' } }), []);
  });
});

describe('orderings', () => {
  test('priority and prefer name the routes of the environment, in the order of the rule', () => {
    assert.deepEqual(effectOf([{ id: 'r', then: { priority: ['rt_local', 'rt_eu_card', 'rt_a'] } }]).ordering, {
      type: 'priority',
      routes: ['rt_local', 'rt_a'],
      rule: 'r',
    });
    assert.deepEqual(effectOf([{ id: 'r', then: { prefer: { kind: 'card' } } }]).ordering, {
      type: 'prefer',
      routes: ['rt_a', 'rt_b'],
      rule: 'r',
    });
  });

  test('the first matching ordering wins, and later rules still modify', () => {
    const effect = effectOf([
      { id: 'big', when: { amount: { gt: 100 } }, then: { prefer: 'rt_local' } },
      { id: 'cards', then: { prefer: { kind: 'card' }, explore: false } },
      { id: 'rest', when: { hour: 14 }, then: { smart: true, maxAttempts: 2 } },
      { id: 'late', when: { hour: 14 }, then: { smart: true } },
    ]);
    assert.deepEqual(effect.ordering, { type: 'prefer', routes: ['rt_a', 'rt_b'], rule: 'cards' });
    assert.deepEqual(effect.matched, [
      { id: 'cards', effect: 'explore off; prefer kind card' },
      { id: 'rest', effect: 'at most 2 attempts' },
    ]);
  });

  test('an ordering without a route of the environment is skipped', () => {
    const rules = [
      { id: 'eu', then: { prefer: 'rt_eu_card' } },
      { id: 'us', then: { priority: 'rt_a' } },
    ];
    assert.deepEqual(effectOf(rules).ordering, { type: 'priority', routes: ['rt_a'], rule: 'us' });
    const inProduction = effectOf(rules, { environment: 'production' });
    assert.deepEqual(inProduction.ordering, { type: 'prefer', routes: ['rt_eu_card'], rule: 'eu' });
  });

  const split = (id: string, by?: string) => ({
    id,
    then: {
      split: [
        { route: 'rt_a', pct: 70 },
        { route: 'rt_b', pct: 30 },
      ],
      ...(by && { by }),
    },
  });
  const headOf = (rule: object, fields: Partial<RuleFacts>) => {
    const { ordering } = effectOf([rule], fields);
    assert.equal(ordering.type, 'split');
    return ordering.type === 'split' ? ordering.head : '';
  };

  test('a split by session is fixed for each session and differs between sessions', () => {
    const heads = Array.from({ length: 40 }, (_, index) => headOf(split('s'), { sessionId: `chk_${index}` }));
    assert.deepEqual(new Set(heads), new Set(['rt_a', 'rt_b']));
    const again = Array.from({ length: 40 }, (_, index) =>
      headOf(split('s', 'session'), { sessionId: `chk_${index}` }),
    );
    assert.deepEqual(again, heads);
  });

  test('a split by customer is the same for all sessions of a customer, whatever the case of the address', () => {
    for (let index = 0; index < 40; index += 1) {
      const customer = `Buyer${index}@example.com`;
      const head = headOf(split('s', 'customer'), { customer, sessionId: 'chk_1' });
      const fields = { customer: customer.toUpperCase(), sessionId: 'chk_2' };
      assert.equal(headOf(split('s', 'customer'), fields), head);
    }
  });

  test('the boundaries of shares are exact to one in ten thousand', () => {
    const pointOf = (index: number) => Math.floor(uniformOf('s', `chk_${index}`) * 10_000);
    for (const [point, head] of [
      [6999, 'rt_a'],
      [7000, 'rt_b'],
    ] as const) {
      let index = 0;
      while (pointOf(index) !== point) index += 1;
      assert.equal(headOf(split('s'), { sessionId: `chk_${index}` }), head);
    }
  });
});

describe('the effect', () => {
  test('the effect without rules is one shared object', () => {
    assert.equal(evaluateRules(NO_RULES, facts()), NO_EFFECT);
    assert.equal(compileRules({ version: 1, rules: [] }, routes), NO_RULES);
    assert.equal(effectOf([{ id: 'r', when: { hour: 3 }, then: { reject: 'no' } }]), NO_EFFECT);
    assert.deepEqual(NO_EFFECT, {
      rejected: null,
      excluded: [],
      explore: true,
      maxAttempts: 3,
      failover: 'same_kind',
      margin: null,
      objective: null,
      ordering: { type: 'smart' },
      matched: [],
    });
  });

  test('equal outcomes share one frozen object, which contains no data of the session', () => {
    const { ruleSet } = checkRules(
      {
        version: 1,
        rules: [{ id: 'r', when: { customer: { suffix: 'example.com' } }, then: { only: { kind: 'card' } } }],
      },
      routes,
    );
    const compiled = compileRules(ruleSet, routes);
    const one = evaluateRules(compiled, facts({ metadata: { secret: '4711' }, customer: 'one@example.com' }));
    assert.equal(evaluateRules(compiled, facts({ amount: 1, customer: 'two@example.com' })), one);
    assert.doesNotMatch(JSON.stringify(one), /example\.com|4711/);
    assert.ok(Object.isFrozen(one) && Object.isFrozen(one.excluded) && Object.isFrozen(one.excluded[0]));
  });

  test('the key is short, and independent of JSON and of the order of properties', () => {
    const one = effectOf([{ id: 'r', then: { prefer: 'rt_a', explore: false } }]);
    const another = effectOf([{ id: 'r', then: { prefer: 'rt_a', explore: false } }]);
    assert.notEqual(one, another);
    assert.match(effectKey(one), /^[\w-]{22}$/);
    assert.equal(effectKey(another), effectKey(one));
    const reversed = Object.fromEntries(Object.entries(one).toReversed()) as unknown as RuleEffect;
    assert.equal(effectKey(JSON.parse(JSON.stringify(reversed)) as RuleEffect), effectKey(one));
  });

  test('the cache of more than a thousand outcomes is bounded, and every outcome is right', () => {
    const rules = Array.from({ length: 11 }, (_, bit) => ({
      id: `bit${bit}`,
      when: { [`metadata.${bit}`]: { exists: true } },
      then: { explore: bit % 2 === 0 },
    }));
    const compiled = compileRules(checkRules({ version: 1, rules }, routes).ruleSet, routes);
    const first = evaluateRules(compiled, facts({ metadata: { 0: '' } }));
    for (let number = 0; number < 2048; number += 1) {
      const bits = rules.map((_, bit) => bit).filter((bit) => (number & (1 << bit)) !== 0);
      const metadata = Object.fromEntries(bits.map((bit) => [bit, '']));
      const { matched, explore } = evaluateRules(compiled, facts({ metadata }));
      assert.deepEqual(
        matched.map(({ id }) => id),
        bits.map((bit) => `bit${bit}`),
      );
      assert.equal(explore, (bits.at(-1) ?? 0) % 2 === 0);
    }
    const again = evaluateRules(compiled, facts({ metadata: { 0: '' } }));
    assert.notEqual(again, first);
    assert.deepEqual(again, first);
  });
});

describe('routes removed from the catalogue after the rules were saved', () => {
  const remaining = routes.filter(({ id }) => id !== 'rt_a');
  const effectNow = (then: object, sessionId = 'chk_1') =>
    evaluateRules(
      compileRules(
        checkRules({ version: 1, rules: [{ id: 'r', when: { hour: 14 }, then }] }, routes).ruleSet,
        remaining,
      ),
      facts({ sessionId }),
    );

  test('are dropped from orderings', () => {
    assert.deepEqual(effectNow({ priority: ['rt_a', 'rt_b'] }).ordering, {
      type: 'priority',
      routes: ['rt_b'],
      rule: 'r',
    });
    assert.equal(effectNow({ prefer: 'rt_a' }), NO_EFFECT);
    assert.equal(effectNow({ split: [{ route: 'rt_a', pct: 100 }] }), NO_EFFECT);
  });

  test('leave their share of a split to the other routes', () => {
    const split = [
      { route: 'rt_a', pct: 90 },
      { route: 'rt_b', pct: 5 },
      { route: 'rt_local', pct: 5 },
    ];
    const heads = Array.from({ length: 200 }, (_, index) => {
      const { ordering } = effectNow({ split }, `chk_${index}`);
      return ordering.type === 'split' ? ordering.head : ordering.type;
    });
    assert.deepEqual(new Set(heads), new Set(['rt_b', 'rt_local']));
  });

  test('do not lift an only that has no route left', () => {
    assert.equal(effectNow({ only: 'rt_a' }).excluded.length, 3);
  });
});
