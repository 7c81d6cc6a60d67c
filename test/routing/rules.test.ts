/* oxlint-disable unicorn/no-thenable -- a keyword of the rule language */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Route } from '../../src/domain/route.ts';
import { checkRules } from '../../src/routing/check-rules.ts';
import {
  type CompiledRules,
  NO_EFFECT,
  NO_RULES,
  type RuleEffect,
  compileRules,
  effectKey,
  evaluateRules,
} from '../../src/routing/evaluate-rules.ts';
import type { RuleFacts } from '../../src/routing/rule-fields.ts';
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

// A Tuesday, 14:30 UTC.
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

/** Compiles rules for routes, after the same check as for an operator's rules. */
function compiled(rules: unknown[], available = routes): CompiledRules {
  return compileRules(checkRules({ version: 1, rules }, routes).ruleSet, available);
}

function effectOf(rules: unknown[], fields: Partial<RuleFacts> = {}): RuleEffect {
  return evaluateRules(compiled(rules), facts(fields));
}

function holds(when: unknown, fields: Partial<RuleFacts> = {}): boolean {
  return effectOf([{ id: 'r', when, then: { explore: false } }], fields).matched.length === 1;
}

describe('conditions of rules', () => {
  test('the amount of a rule condition is in dollars, and is compared in cents', () => {
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
    test(`the condition ${JSON.stringify(when)} holds for ${JSON.stringify(yes)}, not for ${JSON.stringify(no)}`, () => {
      assert.equal(holds(when, yes), true);
      assert.equal(holds(when, no), false);
    });
  }
});

describe('a rule excludes routes of the session’s environment', () => {
  const production = { environment: 'production' } as const;
  const examples: [then: object, excluded: string[], fields?: Partial<RuleFacts>][] = [
    [{ exclude: 'rt_b' }, ['rt_b']],
    [{ exclude: ['rt_local', 'rt_a'] }, ['rt_a', 'rt_local']],
    [{ exclude: { kind: 'card' } }, ['rt_a', 'rt_b']],
    [{ exclude: { kind: 'card', network: ['amex', 'ach'] } }, ['rt_b']],
    [{ exclude: { asset: 'USDC' } }, ['rt_wallet']],
    [{ exclude: { kycPolicy: ['light', 'none'] } }, ['rt_a', 'rt_b', 'rt_wallet', 'rt_local']],
    [{ exclude: { integrationId: 'acme' } }, []],
    [{ exclude: { kind: ['card', 'local'] } }, ['rt_a', 'rt_b', 'rt_local']],
    [{ exclude: { kind: ['card', 'local'] } }, ['rt_eu_card', 'rt_eu_local'], production],
    [{ only: { kind: 'card' } }, ['rt_wallet', 'rt_local']],
    [{ only: { kind: 'card' }, exclude: 'rt_a' }, ['rt_a', 'rt_wallet', 'rt_local']],
    [{ only: 'rt_eu_card' }, ['rt_a', 'rt_b', 'rt_wallet', 'rt_local']],
  ];
  for (const [then, excluded, fields] of examples) {
    test(`a rule with ${JSON.stringify(then)} excludes in ${fields?.environment ?? 'sandbox'}: ${excluded.join(', ') || 'none'}`, () => {
      const effect = effectOf([{ id: 'r', when: { amount: { gt: 0 } }, then }], fields);
      assert.deepEqual(
        effect.excluded.map(({ route }) => route),
        excluded,
      );
    });
  }
});

describe('an ordering', () => {
  test('an ordering by priority or preference contains the routes of the environment, in the order of the rule', () => {
    const orderingOf = (then: object) => effectOf([{ id: 'r', then }]).ordering;
    const priority = orderingOf({ priority: ['rt_local', 'rt_eu_card', 'rt_a'] });
    assert.deepEqual(priority, { type: 'priority', routes: ['rt_local', 'rt_a'], rule: 'r' });
    const preference = orderingOf({ prefer: { kind: 'card' } });
    assert.deepEqual(preference, { type: 'prefer', routes: ['rt_a', 'rt_b'], rule: 'r' });
  });

  test('the ordering of routes comes from the first matching rule with an ordering; later rules can still add modifiers', () => {
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

  test('a split selects a share by a pseudo-random draw from the rule and the session or customer', () => {
    const split = [
      { route: 'rt_a', pct: 70 },
      { route: 'rt_b', pct: 20 },
      { route: 'rt_local', pct: 10 },
    ];
    const [unset, bySession, byCustomer] = [{}, { by: 'session' }, { by: 'customer' }].map((by) => {
      const rules = compiled([{ id: 's', then: { split, ...by } }]);
      return (fields: Partial<RuleFacts>) => {
        const { ordering } = evaluateRules(rules, facts(fields));
        return ordering.type === 'split' ? ordering.head : ordering.type;
      };
    });
    const expected = (name: string) => {
      const point = Math.floor(uniformOf('s', name) * 10_000);
      boundaries.delete(point);
      return point < 7000 ? 'rt_a' : point < 9000 ? 'rt_b' : 'rt_local';
    };
    const boundaries = new Set([6999, 7000, 8999, 9000]);
    for (let index = 0; boundaries.size > 0; index += 1) {
      const [sessionId, customer] = [`chk_${index}`, `Buyer${index}@example.com`];
      assert.equal(unset!({ sessionId, customer }), expected(sessionId));
      assert.equal(bySession!({ sessionId, customer }), expected(sessionId));
      assert.equal(byCustomer!({ sessionId, customer }), expected(customer.toLowerCase()));
    }
  });
});

describe('the effect', () => {
  test('the effect of an empty rule set is one shared object', () => {
    assert.equal(evaluateRules(NO_RULES, facts()), NO_EFFECT);
    assert.equal(compiled([]), NO_RULES);
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

  test('the effect of rules is the same frozen object for equal outcomes, without data of the session', () => {
    const rules = compiled([
      { id: 'r', when: { customer: { suffix: 'example.com' } }, then: { only: { kind: 'card' } } },
    ]);
    const one = evaluateRules(rules, facts({ metadata: { secret: '4711' }, customer: 'one@example.com' }));
    assert.equal(evaluateRules(rules, facts({ amount: 1, customer: 'two@example.com' })), one);
    assert.doesNotMatch(JSON.stringify(one), /example\.com|4711/);
    assert.ok(Object.isFrozen(one) && Object.isFrozen(one.excluded) && Object.isFrozen(one.excluded[0]));
  });

  test('the effect of rules has a short key, independent of JSON and of the order of properties', () => {
    const rules = [{ id: 'r', then: { prefer: 'rt_a', explore: false } }];
    const [one, another] = [effectOf(rules), effectOf(rules)];
    assert.notEqual(one, another);
    assert.match(effectKey(one), /^[\w-]{22}$/);
    assert.equal(effectKey(another), effectKey(one));
    const reversed = Object.fromEntries(Object.entries(one).toReversed()) as unknown as RuleEffect;
    assert.equal(effectKey(JSON.parse(JSON.stringify(reversed)) as RuleEffect), effectKey(one));
  });

  test('the effect of rules stays correct for more outcomes than the cache holds', () => {
    const bits = Array.from({ length: 11 }, (_, bit) => bit);
    const rules = compiled(
      bits.map((bit) => ({
        id: `bit${bit}`,
        when: { [`metadata.${bit}`]: { exists: true } },
        then: { explore: bit % 2 === 0 },
      })),
    );
    const effectWith = (matching: number[]) =>
      evaluateRules(rules, facts({ metadata: Object.fromEntries(matching.map((bit) => [bit, ''])) }));
    const first = effectWith([0]);
    for (let number = 0; number < 2048; number += 1) {
      const matching = bits.filter((bit) => (number & (1 << bit)) !== 0);
      const { matched, explore } = effectWith(matching);
      assert.deepEqual(
        matched.map(({ id }) => id),
        matching.map((bit) => `bit${bit}`),
      );
      assert.equal(explore, (matching.at(-1) ?? 0) % 2 === 0);
    }
    const again = effectWith([0]);
    assert.notEqual(again, first);
    assert.deepEqual(again, first);
  });
});

describe('routes removed from the catalogue after the rules were saved', () => {
  const remaining = routes.filter(({ id }) => id !== 'rt_a');
  const effectNow = (then: object, sessionId = 'chk_1') =>
    evaluateRules(compiled([{ id: 'r', when: { hour: 14 }, then }], remaining), facts({ sessionId }));

  test('routes removed from the catalogue after the rules were saved are dropped from orderings', () => {
    const { ordering } = effectNow({ priority: ['rt_a', 'rt_b'] });
    assert.deepEqual(ordering, { type: 'priority', routes: ['rt_b'], rule: 'r' });
    assert.equal(effectNow({ prefer: 'rt_a' }), NO_EFFECT);
    assert.equal(effectNow({ split: [{ route: 'rt_a', pct: 100 }] }), NO_EFFECT);
  });

  test('routes removed from the catalogue after the rules were saved leave their share of a split to the other routes', () => {
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

  test('an `only` rule whose routes have all left the catalogue still excludes every other route', () => {
    assert.equal(effectNow({ only: 'rt_a' }).excluded.length, 3);
  });
});
