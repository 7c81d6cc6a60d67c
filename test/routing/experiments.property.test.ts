/* oxlint-disable unicorn/no-thenable -- a keyword of the rule language */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { type RoutingExperiment, NO_RULES, compileRules, evaluateRules } from '../../src/routing/evaluate-rules.ts';
import type { RuleFacts } from '../../src/routing/rule-fields.ts';
import type { Rule } from '../../src/routing/rule-set.ts';
import { aRoute } from '../fixtures/checkout-records.ts';
import { forAll } from '../support/for-all.ts';

const ROUTES = ['a', 'b', 'c'].map((id) => aRoute({ id }));
const FACTS: Omit<RuleFacts, 'sessionId'> = {
  amount: 4999,
  currency: 'USD',
  environment: 'sandbox',
  preferredKind: null,
  product: 'Field guide',
  customer: 'buyer@example.com',
  clientReferenceId: null,
  metadata: {},
  at: 0,
};

const id = fc.uuid().map((text) => `exp_${text}`);
const share = fc.integer({ min: 1, max: 50 });

const compiled = (experiment: Partial<RoutingExperiment>, rules: Rule[] = []) =>
  compileRules({ version: 1, rules }, ROUTES, [
    { id: 'exp_1', environment: 'sandbox', share: 50, variant: { prefer: 'b' }, created: 0, ...experiment },
  ]);

/** Effect of the rules in each arm. */
function effectsByArm(rules: ReturnType<typeof compiled>) {
  const effects = Array.from({ length: 1000 }, (_, n) => evaluateRules(rules, { ...FACTS, sessionId: `order-${n}` }));
  const [variant, router] = (['variant', 'router'] as const).map((arm) =>
    effects.find(({ experiment }) => experiment?.arm === arm),
  );
  return { variant: variant!, router: router! };
}

describe('the arm of a session', () => {
  test('depends only on the experiment and the key of the session', () => {
    forAll(300, id, share, fc.string(), fc.integer({ min: 1 }), (experiment, percent, sessionId, amount) => {
      const arm = () => evaluateRules(compiled({ id: experiment, share: percent }), { ...FACTS, sessionId }).experiment;
      const rules = compiled({ id: experiment, share: percent }, [{ id: 'first', then: { maxAttempts: 1 } }]);
      const other = evaluateRules(rules, { ...FACTS, amount, at: amount, customer: 'b@example.com', sessionId });
      assert.deepEqual(arm(), arm());
      assert.deepEqual(other.experiment, arm());
    });
  });

  test('is the variant for the configured share of the sessions, independently of other experiments', () => {
    const sessions = 2000;
    forAll(40, id, id, share, (one, two, percent) => {
      const arms = [one, two].map((experiment) => {
        const rules = compiled({ id: experiment, share: percent });
        return Array.from({ length: sessions }, (_, n) => {
          const effect = evaluateRules(rules, { ...FACTS, sessionId: `${percent} order-${n}` });
          return effect.experiment?.arm === 'variant';
        });
      });
      const expected = percent / 100;
      const within = (found: number, wanted: number) =>
        assert.ok(Math.abs(found / sessions - wanted) < 5 * Math.sqrt((wanted * (1 - wanted)) / sessions), `${found}`);
      const [first, second] = arms;
      within(first!.filter(Boolean).length, expected);
      within(first!.filter((inVariant, n) => inVariant && second![n]).length, expected ** 2);
    });
  });
});

describe('the effect of a variant', () => {
  const rules: Rule[] = [
    { id: 'no-c', then: { exclude: 'c', margin: 0.5, maxAttempts: 1, explore: false, failover: 'none' } },
    { id: 'first', then: { priority: ['a', 'b'], objective: 'operator' } },
  ];

  test('replaces the ordering, the objective and the margin of the rules, and keeps everything else', () => {
    const variant = { priority: ['b', 'a'], objective: 'total', margin: 0.15 } as const;
    const arms = effectsByArm(compiled({ variant: { ...variant, priority: [...variant.priority] } }, rules));
    const kept = { excluded: [{ route: 'c', rule: 'no-c' }], maxAttempts: 1, explore: false, failover: 'none' };
    assert.partialDeepStrictEqual(arms.router, { ...kept, margin: 0.5, objective: 'operator' });
    assert.deepEqual(arms.router.ordering, { type: 'priority', routes: ['a', 'b'], rule: 'first' });
    assert.partialDeepStrictEqual(arms.variant, { ...kept, margin: 0.15, objective: 'total' });
    assert.deepEqual(arms.variant.ordering, { type: 'priority', routes: ['b', 'a'], rule: 'experiment exp_1' });
    // The rule `first` keeps its objective.
    assert.deepEqual(
      arms.variant.matched.map((rule) => `${rule.id}: ${rule.effect}`),
      [
        'no-c: exclude c; explore off; at most 1 attempt; failover none; margin 0.5',
        'first: objective operator',
        'experiment exp_1: variant; margin 0.15; objective total; priority b, a',
      ],
    );
  });

  test('does not name a rule whose ordering it replaces, and does not assign rejected sessions', () => {
    const ordered = effectsByArm(compiled({}, [{ id: 'first', then: { priority: 'a' } }]));
    assert.deepEqual(
      ordered.variant.matched.map((rule) => rule.id),
      ['experiment exp_1'],
    );
    const rejecting = compiled({}, [{ id: 'closed', then: { reject: 'closed' } }]);
    const effect = evaluateRules(rejecting, { ...FACTS, sessionId: 'order-1' });
    assert.deepEqual([effect.rejected, effect.experiment], ['closed', undefined]);
  });

  test('applies to the environment of the experiment only, and from its start on; without experiments, the rules are those of a service without rules', () => {
    const earlier = evaluateRules(compiled({ created: 1 }), { ...FACTS, sessionId: 'order-1' });
    assert.equal(earlier.experiment, undefined);
    const other = evaluateRules(compiled({}), { ...FACTS, environment: 'production', sessionId: 'order-1' });
    assert.equal(other.experiment, undefined);
    assert.equal(compileRules({ version: 1, rules: [] }, ROUTES, []), NO_RULES);
  });
});
