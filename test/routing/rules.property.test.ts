/* oxlint-disable unicorn/no-thenable -- a keyword of the rule language */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { jsonSchemaOf, sampleOf } from '../../src/contract/json-schema.ts';
import { GatewayError } from '../../src/domain/gateway-error.ts';
import { ENVIRONMENTS, ROUTE_KINDS, type Route } from '../../src/domain/route.ts';
import { checkRules } from '../../src/routing/check-rules.ts';
import {
  NO_EFFECT,
  type RuleEffect,
  type RuleFacts,
  compileRules,
  effectKey,
  evaluateRules,
} from '../../src/routing/evaluate-rules.ts';
import { type Condition, conditionFaults } from '../../src/routing/rule-conditions.ts';
import { matcherOf } from '../../src/routing/rule-matching.ts';
import { type Rule, ruleSetSchema } from '../../src/routing/rule-set.ts';
import { aRoute } from '../fixtures/checkout-records.ts';
import { createValidator } from '../support/schemas.ts';

const routes: Route[] = ENVIRONMENTS.flatMap((environment) =>
  ROUTE_KINDS.flatMap((kind) =>
    ['a', 'b'].map((name) => aRoute({ id: `${environment}_${kind}_${name}`, kind, environment, network: name })),
  ),
);
const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];

// Few values, so that conditions often hold.
const cents = fc.constantFrom(0, 1, 999, 1000, 1001, 4999, 1_000_000);
const dollars = cents.map((value) => value / 100);
const word = fc.constantFrom('', 'a', 'ab', 'aB', 'b', 'ba', '__proto__', 'toString', 'ü😀');
const metadataKey = fc.constantFrom('a', 'a.b', '__proto__', 'constructor', 'tier');
const someOf = <Value>(value: fc.Arbitrary<Value>) => fc.array(value, { minLength: 1, maxLength: 4 });

const anyFacts: fc.Arbitrary<RuleFacts> = fc.record({
  amount: cents,
  currency: fc.constantFrom('USD', 'EUR'),
  environment: fc.constantFrom(...ENVIRONMENTS),
  preferredKind: fc.constantFrom(null, ...ROUTE_KINDS),
  product: word,
  customer: word,
  clientReferenceId: fc.option(word),
  metadata: fc
    .array(fc.tuple(metadataKey, word), { maxLength: 3 })
    .map((pairs) => Object.fromEntries(pairs) as Record<string, string>),
  at: fc.integer({ min: -1e13, max: 1e13 }),
  sessionId: fc.string(),
});

interface FieldCase {
  name: string;
  value: unknown;
  values: unknown[];
  pick: 'ordered' | 'choice' | 'text';
  optional: boolean;
}

const fieldCase = (names: string[], value: fc.Arbitrary<unknown>, pick: FieldCase['pick'], optional = false) =>
  fc.record({
    name: fc.constantFrom(...names),
    value,
    values: someOf(value),
    pick: fc.constant(pick),
    optional: fc.constant(optional),
  });
const metadataName = metadataKey.map((key) => `metadata.${key}`);
const anyField: fc.Arbitrary<FieldCase> = fc.oneof(
  fieldCase(['amount'], dollars, 'ordered'),
  fieldCase(['hour'], fc.integer({ min: 0, max: 23 }), 'ordered'),
  fieldCase(['currency'], fc.constantFrom('USD', 'EUR'), 'choice'),
  fieldCase(['environment'], fc.constantFrom(...ENVIRONMENTS), 'choice'),
  fieldCase(['weekday'], fc.constantFrom(...WEEKDAYS), 'choice'),
  fieldCase(['preferredKind'], fc.constantFrom(...ROUTE_KINDS), 'choice', true),
  fieldCase(['product', 'customer'], word, 'text'),
  fieldCase(['clientReferenceId'], word, 'text', true),
  fc.tuple(metadataName, fieldCase(['x'], word, 'text', true)).map(([name, field]) => ({ ...field, name })),
);

const anyTest = anyField.chain(({ name, value, values, pick, optional }) => {
  const operators: fc.Arbitrary<unknown>[] = [
    fc.constantFrom(value, values, { eq: value }, { ne: value }, { in: values }, { nin: values }),
  ];
  if (pick === 'ordered') operators.push(fc.constantFrom({ gt: value }, { gte: value }, { lt: value }, { lte: value }));
  if (pick === 'text') {
    const part = fc.constantFrom('a', 'A', 'b', 'ü');
    operators.push(
      part.map((prefix) => ({ prefix })),
      part.map((suffix) => ({ suffix, ne: value })),
    );
  }
  if (optional) operators.push(fc.boolean().map((exists) => ({ exists })));
  return fc.oneof(...operators).map((test): Condition => ({ [name]: test as string }));
});

const anyCondition: fc.Arbitrary<Condition> = fc.letrec<{ condition: Condition; inner: Condition }>((tie) => ({
  condition: fc.oneof({ maxDepth: 3 }, anyTest, tie('inner')),
  inner: fc.oneof(
    fc.tuple(anyTest, anyTest).map(([left, right]) => ({ ...left, ...right })),
    someOf(tie('condition')).map((all) => ({ all })),
    someOf(tie('condition')).map((any) => ({ any })),
    tie('condition').map((not) => ({ not })),
    fc.tuple(anyTest, tie('condition')).map(([field, not]) => ({ ...field, not })),
  ),
})).condition;

const anySelector = fc.oneof(
  fc.constantFrom(...routes.map(({ id }) => id)),
  fc.uniqueArray(fc.constantFrom(...routes.map(({ id }) => id)), { minLength: 1, maxLength: 4 }),
  fc.constantFrom(...ROUTE_KINDS).map((kind) => ({ kind })),
  fc.constant({ kind: ['card', 'local'], network: 'a' }),
);
const anyModifiers = fc.record(
  {
    exclude: anySelector,
    only: anySelector,
    explore: fc.boolean(),
    maxAttempts: fc.integer({ min: 1, max: 3 }),
    failover: fc.constantFrom('same_kind', 'any', 'none'),
    margin: fc.constantFrom(0.15, 1),
    objective: fc.constantFrom('merchant', 'total', 'operator'),
  },
  { requiredKeys: [] },
);
const anyOrdering = fc.oneof(
  anySelector.map((priority) => ({ priority })),
  anySelector.map((prefer) => ({ prefer })),
  fc.constant({ smart: true }),
  fc
    .tuple(fc.integer({ min: 1, max: 99 }), fc.constantFrom(...ENVIRONMENTS), fc.constantFrom('session', 'customer'))
    .map(([pct, environment, by]) => ({
      split: [
        { route: `${environment}_card_a`, pct },
        { route: `${environment}_local_b`, pct: 100 - pct },
      ],
      by,
    })),
);
const anyActions = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.tuple(anyModifiers, fc.option(anyOrdering, { nil: {} })).map(([a, b]) => ({ ...a, ...b })),
  },
  { weight: 1, arbitrary: fc.constantFrom('no', 'blocked_customer').map((reject) => ({ reject })) },
);
const anyRules = fc
  .array(fc.tuple(fc.option(anyCondition, { nil: undefined }), anyActions), { maxLength: 8 })
  .map((pairs) =>
    pairs.map(([when, then], index) => ({
      id: `r${index}`,
      ...(when && { when }),
      then: Object.keys(then).length === 0 ? { smart: true } : then,
    })),
  );

/** The rules as they are saved; undefined if they leave no route, the only fault that these rules can have. */
function saved(rules: unknown[]): Rule[] | undefined {
  try {
    return checkRules({ version: 1, rules }, routes).ruleSet.rules;
  } catch (error) {
    assert.ok(error instanceof GatewayError, String(error));
    const codes = new Set(error.details.issues?.map(({ code }) => code));
    assert.deepEqual(codes, new Set(['no_route_left']), error.message);
    return undefined;
  }
}

const evaluate = (rules: Rule[], facts: RuleFacts): RuleEffect =>
  evaluateRules(compileRules({ version: 1, rules }, routes), facts);
const holds = (condition: Condition, facts: RuleFacts): boolean => {
  assert.deepEqual(conditionFaults(condition), []);
  return matcherOf(condition)(facts);
};

describe('conditions', () => {
  const always = (claim: (one: Condition, other: Condition, facts: RuleFacts) => void) =>
    fc.assert(fc.property(anyCondition, anyCondition, anyFacts, claim), { numRuns: 200 });

  test('not of not is the condition itself', () => {
    always((one, _, facts) => assert.equal(holds({ not: { not: one } }, facts), holds(one, facts)));
  });

  test('all and any obey De Morgan', () => {
    always((one, other, facts) => {
      const none = holds({ not: { any: [one, other] } }, facts);
      assert.equal(none, holds({ all: [{ not: one }, { not: other }] }, facts));
      const some = holds({ not: { all: [one, other] } }, facts);
      assert.equal(some, holds({ any: [{ not: one }, { not: other }] }, facts));
      assert.equal(holds({ all: [one, other] }, facts), holds(one, facts) && holds(other, facts));
      assert.equal(holds({ any: [one, other] }, facts), holds(one, facts) || holds(other, facts));
    });
  });

  test('fields of one condition are joined by and', () => {
    fc.assert(
      fc.property(anyTest, anyTest, anyFacts, (one, other, facts) => {
        const [name] = Object.keys(one);
        fc.pre(name !== Object.keys(other)[0]);
        assert.equal(holds({ ...one, ...other }, facts), holds(one, facts) && holds(other, facts));
      }),
    );
  });

  test('eq and ne, in and nin, gt and lte, gte and lt are complements', () => {
    fc.assert(
      fc.property(anyField, anyFacts, ({ name, value, values, pick }, facts) => {
        const says = (operator: string, operand: unknown) => holds({ [name]: { [operator]: operand } }, facts);
        assert.notEqual(says('eq', value), says('ne', value));
        assert.notEqual(says('in', values), says('nin', values));
        assert.equal(
          says('in', values),
          values.some((each) => says('eq', each)),
        );
        assert.equal(holds({ [name]: value as string }, facts), says('eq', value));
        assert.equal(holds({ [name]: values as string[] }, facts), says('in', values));
        if (pick !== 'ordered') return;
        assert.notEqual(says('gt', value), says('lte', value));
        assert.notEqual(says('gte', value), says('lt', value));
        assert.equal(says('gte', value), says('gt', value) || says('eq', value));
      }),
      { numRuns: 200 },
    );
  });
});

describe('evaluation', () => {
  test('every rule set has a deterministic effect and key on every session, with existing routes only', () => {
    let evaluated = 0;
    const effects = new Map([[effectKey(NO_EFFECT), JSON.stringify(NO_EFFECT)]]);
    fc.assert(
      fc.property(anyRules, anyFacts, (input, facts) => {
        const rules = saved(input);
        if (!rules) return;
        evaluated += 1;
        const effect = evaluate(rules, facts);
        const again = evaluate(rules, facts);
        assert.deepEqual(again, effect);
        assert.equal(effectKey(again), effectKey(effect));
        const json = JSON.stringify(effect);
        assert.deepEqual(JSON.parse(json), effect);
        assert.equal(effects.get(effectKey(effect)) ?? json, json, 'different effects have different keys');
        effects.set(effectKey(effect), json);
        const own = routes.filter(({ environment }) => environment === facts.environment).map(({ id }) => id);
        const { ordering, excluded } = effect;
        const named = ordering.type === 'split' ? [ordering.head] : ordering.type === 'smart' ? [] : ordering.routes;
        for (const id of [...named, ...excluded.map(({ route }) => route)]) assert.ok(own.includes(id), id);
        assert.equal(new Set(excluded.map(({ route }) => route)).size, excluded.length);
        assert.equal(new Set(named).size, named.length);
      }),
      { numRuns: 500 },
    );
    assert.ok(evaluated > 150 && effects.size > 20, `${evaluated} rule sets could be saved`);
  });

  test('reject stops the evaluation, exclusions add up, the last modifier and the first ordering apply', () => {
    fc.assert(
      fc.property(anyRules, anyFacts, (input, facts) => {
        const rules = saved(input);
        if (!rules) return;
        const effect = evaluate(rules, facts);
        const matching = rules.filter(({ when }) => !when || holds(when, facts));
        const stop = matching.findIndex(({ then }) => then.reject !== undefined);
        const asked = stop === -1 ? matching : matching.slice(0, stop + 1);
        const alone = asked.map((rule) => evaluate([{ ...rule, when: { amount: { gte: 0 } } }], facts));

        assert.equal(effect.rejected, asked.at(-1)?.then.reject ?? null);
        if (stop !== -1) assert.equal(effect.matched.at(-1)?.id, asked.at(-1)!.id);
        for (const name of ['explore', 'maxAttempts', 'failover', 'margin', 'objective'] as const) {
          assert.equal(
            effect[name],
            asked.findLast(({ then }) => then[name] !== undefined)?.then[name] ?? NO_EFFECT[name],
          );
        }
        const orders = alone.find(({ matched }) =>
          matched.some((each) => /(^|; )(priority|prefer|split|smart)\b/.test(each.effect)),
        );
        assert.deepEqual(effect.ordering, orders?.ordering ?? { type: 'smart' });
        assert.deepEqual(
          new Map(effect.excluded.map(({ route, rule }) => [route, rule])),
          new Map(alone.toReversed().flatMap(({ excluded }) => excluded.map(({ route, rule }) => [route, rule]))),
        );
      }),
      { numRuns: 400 },
    );
  });

  test('a rule that does not match changes nothing', () => {
    fc.assert(
      fc.property(anyRules, anyCondition, anyActions, anyFacts, (input, when, then, facts) => {
        fc.pre(!holds(when, facts) && Object.keys(then).length > 0);
        const rules = saved(input);
        const more = saved([{ id: 'first', when, then }, ...input]);
        if (rules && more) assert.deepEqual(evaluate(more, facts), evaluate(rules, facts));
      }),
    );
  });
});

describe('shares of a split', () => {
  const SESSIONS = 10_000;
  const heads = (id: string, pcts: number[], by: 'session' | 'customer') => {
    const split = pcts.map((pct, index) => ({ route: routes[index]!.id, pct }));
    const { ruleSet } = checkRules({ version: 1, rules: [{ id, then: { split, by } }] }, routes);
    const compiled = compileRules(ruleSet, routes);
    const [facts] = fc.sample(anyFacts, { numRuns: 1, seed: 1 });
    return Array.from({ length: SESSIONS }, (_, number) => {
      const who = { sessionId: `chk_${number}`, customer: `buyer${number}@example.com` };
      const { ordering } = evaluateRules(compiled, { ...facts!, ...who, environment: 'sandbox' });
      return ordering.type === 'split' ? split.findIndex(({ route }) => route === ordering.head) : -1;
    });
  };

  for (const [id, pcts, by] of [
    ['halves', [50, 50], 'session'],
    ['canary', [1, 99], 'session'],
    ['three', [70, 20, 10], 'customer'],
  ] as const) {
    test(`${pcts.join('/')} by ${by}, over ${SESSIONS} sessions within four standard deviations`, () => {
      const drawn = heads(id, [...pcts], by);
      for (const [index, pct] of pcts.entries()) {
        const count = drawn.filter((head) => head === index).length;
        const expected = (SESSIONS * pct) / 100;
        const deviation = Math.sqrt(expected * (1 - pct / 100));
        assert.ok(Math.abs(count - expected) < 4 * deviation, `${count} of ${expected}`);
      }
    });
  }

  test('two rules draw independently of each other', () => {
    const [one, other] = [heads('one', [50, 50], 'session'), heads('other', [50, 50], 'session')];
    const same = one.filter((head, index) => head === other[index]).length;
    assert.ok(Math.abs(same - SESSIONS / 2) < 4 * Math.sqrt(SESSIONS / 4), String(same));
  });
});

describe('reading', () => {
  function isAcceptedOrRefused(input: unknown): boolean {
    try {
      checkRules(input, routes);
      return true;
    } catch (error) {
      assert.ok(error instanceof GatewayError, String(error));
      assert.equal(error.code, 'invalid_input');
      const { issues = [], field, suggestion = '' } = error.details;
      assert.ok(issues.length > 0 && issues.length <= 50);
      assert.equal(field, issues[0]?.path);
      for (const { path, code, message } of issues) assert.ok(path !== '' && code !== '' && message !== '');
      assert.match(suggestion, /; then resend\.$/);
      return false;
    }
  }

  test('any JSON is accepted, or rejected with issues; no other error is thrown', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 5 }), (text) => {
        isAcceptedOrRefused(JSON.parse(text));
      }),
      { numRuns: 200 },
    );
  });

  test('a valid set with any value at any place is accepted, or rejected with issues', () => {
    const counts = { accepted: 0, refused: 0 };
    const odd = fc.oneof(
      fc.jsonValue({ maxDepth: 2 }),
      fc.constantFrom(null, -1, Number.NaN, '__proto__', [], {}, 'rt'),
    );
    fc.assert(
      fc.property(anyRules, fc.infiniteStream(fc.nat()), odd, fc.boolean(), (rules, choices, value, isAdded) => {
        const set = structuredClone({ version: 1, rules }) as unknown;
        let place = set as Record<string, unknown>;
        for (;;) {
          const keys = Object.keys(place);
          const key = keys[choices.next().value! % Math.max(1, keys.length)];
          const inner = key === undefined ? undefined : place[key];
          if (key !== undefined && typeof inner === 'object' && inner !== null && choices.next().value! % 4 > 0) {
            place = inner as Record<string, unknown>;
            continue;
          }
          if (isAdded && !Array.isArray(place)) place['extra'] = value;
          else if (key !== undefined) place[key] = value;
          break;
        }
        counts[isAcceptedOrRefused(set) ? 'accepted' : 'refused'] += 1;
      }),
      { numRuns: 800 },
    );
    assert.ok(counts.accepted > 0 && counts.refused > 500, JSON.stringify(counts));
  });

  test('accepted rules are stored unchanged and match the published schema', () => {
    const fits = createValidator().compile(jsonSchemaOf(ruleSetSchema, 'input'));
    fc.assert(
      fc.property(anyRules, (rules) => {
        const accepted = saved(rules);
        if (!accepted) return;
        assert.deepEqual(accepted, rules);
        assert.ok(fits({ version: 1, rules }), JSON.stringify(fits.errors));
      }),
    );
  });

  test('the sample of the published schema is accepted', () => {
    const sample = sampleOf(jsonSchemaOf(ruleSetSchema, 'input'));
    assert.ok(isAcceptedOrRefused(sample), JSON.stringify(sample));
  });
});
