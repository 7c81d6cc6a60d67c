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
  compileRules,
  effectKey,
  evaluateRules,
  routesIn,
} from '../../src/routing/evaluate-rules.ts';
import { type Condition, conditionFaults } from '../../src/routing/rule-conditions.ts';
import { type RuleFacts, WEEKDAYS, fieldNamed } from '../../src/routing/rule-fields.ts';
import { matcherOf } from '../../src/routing/rule-matching.ts';
import { type Rule, ruleSetSchema } from '../../src/routing/rule-set.ts';
import { aRoute } from '../fixtures/checkout-records.ts';
import { forAll, runs } from '../support/for-all.ts';
import { createValidator } from '../support/schemas.ts';

const routes: Route[] = ENVIRONMENTS.flatMap((environment) =>
  ROUTE_KINDS.flatMap((kind) =>
    ['a', 'b'].map((name) => aRoute({ id: `${environment}_${kind}_${name}`, kind, environment, network: name })),
  ),
);

// Few values, so that conditions often hold.
const cents = fc.constantFrom(0, 1, 999, 1000, 1001, 4999, 1_000_000);
const word = fc.constantFrom('', 'a', 'ab', 'aB', 'b', 'ba', '__proto__', 'toString', 'ü😀');
const METADATA_KEYS = ['a', 'a.b', '__proto__', 'constructor', 'tier'];
const metadataKey = fc.constantFrom(...METADATA_KEYS);
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

const TEXTS = ['product', 'customer', 'clientReferenceId', ...METADATA_KEYS.map((key) => `metadata.${key}`)];
/** Values to compare each field with. */
const VALUES: Record<string, fc.Arbitrary<string | number>> = {
  amount: cents.map((value) => value / 100),
  hour: fc.nat(23),
  currency: fc.constantFrom('USD', 'EUR'),
  environment: fc.constantFrom(...ENVIRONMENTS),
  weekday: fc.constantFrom(...WEEKDAYS),
  preferredKind: fc.constantFrom(...ROUTE_KINDS),
  ...Object.fromEntries(TEXTS.map((name) => [name, word])),
};
const anyField = fc.oneof(
  ...Object.entries(VALUES).map(([name, value]) =>
    fc.record({ name: fc.constant(name), value, values: someOf(value) }),
  ),
);
/** A comparison of one field: with a value, with several values, or by one or two operators. */
const anyTest = fc
  .tuple(anyField, fc.constantFrom('a', 'A', 'b', 'ü'), fc.boolean())
  .chain(([{ name, value, values }, part, exists]) => {
    const operands: Record<string, unknown> = { in: values, nin: values, prefix: part, suffix: part, exists };
    const byOperators = fc
      .subarray([...fieldNamed(name)!.operators], { minLength: 1, maxLength: 2 })
      .map((operators) => Object.fromEntries(operators.map((each) => [each, operands[each] ?? value])));
    return fc.oneof(fc.constantFrom(value, values), byOperators).map((test): Condition => ({ [name]: test as string }));
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

/** Checks a property of the effect of each saved rule set; returns the number of rule sets. */
function holdsForEffects(all: number, property: (effect: RuleEffect, rules: Rule[], facts: RuleFacts) => void): number {
  let evaluated = 0;
  forAll(all, anyRules, anyFacts, (input, facts) => {
    const rules = saved(input);
    if (!rules) return;
    evaluated += 1;
    property(evaluate(rules, facts), rules, facts);
  });
  return evaluated;
}

describe('conditions', () => {
  test('conditions are negated by "not", joined by and in "all" and between fields, and joined by or in "any"', () => {
    forAll(200, anyCondition, anyCondition, anyTest, anyTest, anyFacts, (one, other, test, another, facts) => {
      assert.equal(holds({ not: one }, facts), !holds(one, facts));
      assert.equal(holds({ all: [one, other] }, facts), holds(one, facts) && holds(other, facts));
      assert.equal(holds({ any: [one, other] }, facts), holds(one, facts) || holds(other, facts));
      if (Object.keys(test)[0] === Object.keys(another)[0]) return;
      assert.equal(holds({ ...test, ...another }, facts), holds(test, facts) && holds(another, facts));
    });
  });

  test('conditions with eq and ne, in and nin, gt and lte, or gte and lt are complements of each other', () => {
    forAll(200, anyField, anyFacts, ({ name, value, values }, facts) => {
      const compared = (operator: string, operand: unknown) => holds({ [name]: { [operator]: operand } }, facts);
      const isOneOf = values.some((each) => compared('eq', each));
      assert.notEqual(compared('eq', value), compared('ne', value));
      assert.deepEqual([compared('in', values), compared('nin', values)], [isOneOf, !isOneOf]);
      assert.equal(holds({ [name]: value }, facts), compared('eq', value));
      assert.equal(holds({ [name]: values }, facts), isOneOf);
      if (!fieldNamed(name)!.operators.includes('gt')) return;
      assert.notEqual(compared('gt', value), compared('lte', value));
      assert.notEqual(compared('gte', value), compared('lt', value));
      assert.equal(compared('gte', value), compared('gt', value) || compared('eq', value));
    });
  });
});

describe('the evaluation of rules', () => {
  test('the evaluation of rules is deterministic for every session, and its effect contains existing routes only', () => {
    const evaluated = holdsForEffects(1000, (effect, rules, facts) => {
      const again = evaluate(rules, facts);
      assert.deepEqual(again, effect);
      assert.equal(effectKey(again), effectKey(effect));
      const reordered = Object.fromEntries(Object.entries(effect).toReversed()) as unknown as RuleEffect;
      assert.equal(effectKey(reordered), effectKey(effect));
      assert.deepEqual(JSON.parse(JSON.stringify(effect)), effect);
      const own = new Set(routes.filter(({ environment }) => environment === facts.environment).map(({ id }) => id));
      const { ordering } = effect;
      const ordered = ordering.type === 'split' ? [ordering.head] : ordering.type === 'smart' ? [] : ordering.routes;
      for (const ids of [ordered, effect.excluded.map(({ route }) => route)]) {
        assert.equal(new Set(ids).size, ids.length);
        assert.ok(ids.every((id) => own.has(id)));
      }
    });
    assert.ok(evaluated > runs(300), `${evaluated} rule sets could be saved`);
  });

  test('the evaluation of rules stops at a reject, adds up exclusions, and applies the last modifier and the first ordering', () => {
    holdsForEffects(1000, (effect, rules, facts) => {
      const matching = rules.filter(({ when }) => !when || holds(when, facts));
      const stop = matching.findIndex(({ then }) => then.reject !== undefined);
      const consulted = stop === -1 ? matching : matching.slice(0, stop + 1);
      const alone = consulted.map((rule) => evaluate([{ ...rule, when: { amount: { gte: 0 } } }], facts));

      assert.equal(effect.rejected, consulted.at(-1)?.then.reject ?? null);
      if (stop !== -1) assert.equal(effect.matched.at(-1)?.id, consulted.at(-1)!.id);
      for (const name of ['explore', 'maxAttempts', 'failover', 'margin', 'objective'] as const) {
        const last = consulted.findLast(({ then }) => then[name] !== undefined);
        assert.equal(effect[name], last?.then[name] ?? NO_EFFECT[name]);
      }
      const orders = alone.find(({ matched }) =>
        matched.some((each) => /(^|; )(priority|prefer|split|smart)\b/.test(each.effect)),
      );
      assert.deepEqual(effect.ordering, orders?.ordering ?? { type: 'smart' });
      assert.deepEqual(
        new Map(effect.excluded.map(({ route, rule }) => [route, rule])),
        new Map(alone.toReversed().flatMap(({ excluded }) => excluded.map(({ route, rule }) => [route, rule]))),
      );
      // Neither a rule that does not match nor a rule after a reject changes anything.
      assert.deepEqual(evaluate(consulted, facts), effect);
    });
  });

  test('rule sets with different effects have different effect keys', () => {
    const seen = new Map<string, string>([[effectKey(NO_EFFECT), JSON.stringify(NO_EFFECT)]]);
    holdsForEffects(100, (effect) => {
      const json = JSON.stringify(effect);
      assert.equal(seen.get(effectKey(effect)) ?? json, json);
      seen.set(effectKey(effect), json);
    });
    assert.ok(seen.size > runs(20));
  });
});

describe('warnings about rules', () => {
  test('the removal of a rule or ordering without effect changes nothing, and rules that `rejects_all` names reject every session', () => {
    const seen: Record<string, number> = {};
    holdsForEffects(400, (_, rules, drawn) => {
      // Sessions have an amount of at least one cent, and only US dollars.
      const facts = { ...drawn, currency: 'USD', amount: Math.max(1, drawn.amount) };
      const effect = evaluate(rules, facts);
      for (const { code, path, message } of checkRules({ version: 1, rules }, routes).warnings) {
        seen[code] = (seen[code] ?? 0) + 1;
        const index = Number(path.split('.')[1]);
        if (code === 'never_applies' || code === 'dead_rule') {
          assert.deepEqual(evaluate(rules.toSpliced(index, 1), facts), effect, path);
        } else if (code === 'dead_ordering') {
          const { priority: _, prefer: __, split: ___, smart: ____, by: _____, ...modifiers } = rules[index]!.then;
          const unordered = { ...rules[index]!, then: modifiers };
          const isEmpty = Object.keys(modifiers).length === 0;
          assert.deepEqual(evaluate(rules.toSpliced(index, 1, ...(isEmpty ? [] : [unordered])), facts), effect, path);
        } else if (
          code === 'excluded_ordering' &&
          'rule' in effect.ordering &&
          effect.ordering.rule === rules[index]!.id
        ) {
          const excluded = new Set(effect.excluded.map(({ route }) => route));
          assert.ok(
            routesIn(effect.ordering)!.every((route) => excluded.has(route)),
            path,
          );
        } else if (code === 'rejects_all' && message.includes(facts.environment)) {
          const own = routes.filter(({ environment }) => environment === facts.environment);
          assert.ok(effect.rejected !== null || effect.excluded.length === own.length, path);
        }
      }
    });
    const codes = ['dead_ordering', 'dead_rule', 'excluded_ordering', 'never_applies', 'no_route_left', 'rejects_all'];
    assert.deepEqual(Object.keys(seen).toSorted(), codes);
  });
});

describe('reading rules', () => {
  function isAccepted(input: unknown): boolean {
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

  test('the rule check accepts any JSON, or rejects it with issues; it throws no other error', () => {
    forAll(200, fc.json({ maxDepth: 5 }), (text) => void isAccepted(JSON.parse(text)));
  });

  test('the rule check accepts a valid rule set with one random value changed, or rejects it with issues', () => {
    const counts = { accepted: 0, rejected: 0 };
    const value = fc.oneof(
      fc.jsonValue({ maxDepth: 2 }),
      fc.constantFrom(null, -1, Number.NaN, '__proto__', [], {}, 'rt'),
    );
    const property = fc.property(
      anyRules,
      fc.infiniteStream(fc.nat()),
      value,
      fc.boolean(),
      (rules, choices, value, isAdded) => {
        const set = structuredClone({ version: 1, rules }) as Record<string, unknown>;
        let place = set;
        let key: string | undefined;
        for (;;) {
          const keys = Object.keys(place);
          key = keys[choices.next().value! % Math.max(1, keys.length)];
          const inner = key === undefined ? undefined : place[key];
          if (typeof inner !== 'object' || inner === null || choices.next().value! % 4 === 0) break;
          place = inner as Record<string, unknown>;
        }
        if (isAdded && !Array.isArray(place)) place['extra'] = value;
        else if (key !== undefined) place[key] = value;
        counts[isAccepted(set) ? 'accepted' : 'rejected'] += 1;
      },
    );
    fc.assert(property, { numRuns: 400 });
    assert.ok(counts.accepted > 0 && counts.rejected > 250, JSON.stringify(counts));
  });

  test('the rule check returns accepted rules unchanged, and they match the published schema', () => {
    const fits = createValidator().compile(jsonSchemaOf(ruleSetSchema, 'input'));
    forAll(100, anyRules, (rules) => {
      const accepted = saved(rules);
      if (!accepted) return;
      assert.deepEqual(accepted, rules);
      assert.ok(fits({ version: 1, rules }), JSON.stringify(fits.errors));
    });
  });

  test('the rule check accepts the sample of the published schema', () => {
    const sample = sampleOf(jsonSchemaOf(ruleSetSchema, 'input'));
    assert.ok(isAccepted(sample), JSON.stringify(sample));
  });
});
