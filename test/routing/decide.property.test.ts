import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { ROUTE_KINDS } from '../../src/domain/route.ts';
import { decide } from '../../src/routing/decide.ts';
import type { DecisionInput, DecisionOutput, RouteFacts, Snapshot } from '../../src/routing/decision.ts';
import { readDecision, writeDecision } from '../../src/routing/decision-record.ts';
import { NO_EFFECT, type RuleEffect, type RuleOrdering } from '../../src/routing/evaluate-rules.ts';
import { DEFAULT_POLICY, type Policy } from '../../src/routing/routing-policy.ts';
import { NOW, idOf } from '../fixtures/checkout-records.ts';
import { anEffect, anOffer, facts, snapshotOf } from '../fixtures/routing-records.ts';

const { exploration } = DEFAULT_POLICY;
const RUNS = { numRuns: 1000 };

// The last one is a property of every object.
const IDS = ['rt_a', 'rt_b', 'rt_c', 'rt_d', 'rt_e', 'rt_f', 'rt_g', 'constructor'];
const anyId = fc.constantFrom(...IDS);
const anyKind = fc.constantFrom(...ROUTE_KINDS);
const seldom = <Value>(arbitrary: fc.Arbitrary<Value>) =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, { weight: 1, arbitrary });

/** Few numbers, so that ties are common; one of four is in standby, one of six is off. */
const anyFacts: fc.Arbitrary<RouteFacts> = fc
  .record({
    id: anyId,
    kind: anyKind,
    health: fc.constantFrom('live' as const, 'live' as const, 'degraded' as const, 'standby' as const),
    off: fc.constantFrom(null, null, null, null, null, 'disabled by the operator: maintenance'),
    probe: fc.boolean(),
    p: fc.integer({ min: 0, max: 20 }).map((share) => share / 20),
    n: fc.constantFrom(4, 34.5, 1300),
    buyerFeeRate: fc.constantFrom(0, 5_000, 500_000),
    gatewayFeeRate: fc.constantFrom(0, 29_000, 500_000),
    providerCostRate: fc.constantFrom(0, 19_000),
    etaMinutes: fc.constantFrom(0, 0.1, 30, 600),
    triedAt: fc.constantFrom(null, NOW - 1, NOW),
  })
  .map(({ off, probe, health, ...known }) => {
    const state = off === null ? health : 'standby';
    return facts({
      ...known,
      off,
      health: state,
      words: `${state}: why`,
      probe: probe && off === null && state === 'standby',
    });
  });
const anySnapshot: fc.Arbitrary<Snapshot> = fc
  .uniqueArray(anyFacts, { selector: ({ id }) => id, maxLength: IDS.length })
  .map(snapshotOf);

const someRoutes = fc.uniqueArray(anyId, { minLength: 1, maxLength: 3 });
const anyOrdering: fc.Arbitrary<RuleOrdering> = fc.oneof(
  { weight: 3, arbitrary: fc.constant<RuleOrdering>({ type: 'smart' }) },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constantFrom('priority' as const, 'prefer' as const),
      routes: someRoutes,
      rule: fc.constant('order'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('split' as const), head: anyId, rule: fc.constant('order') }) },
);
const anyEffect: fc.Arbitrary<RuleEffect> = fc
  .record({
    excluded: fc.uniqueArray(anyId, { maxLength: 2 }),
    explore: fc.constantFrom(true, true, false),
    margin: seldom(fc.constantFrom(0.02, 0.15)),
    objective: seldom(fc.constantFrom('total' as const, 'operator' as const)),
    ordering: anyOrdering,
  })
  .map(({ excluded, ...fields }) =>
    anEffect({ ...fields, excluded: excluded.map((route) => ({ route, rule: 'not' })) }),
  );

interface Wish extends Pick<DecisionInput, 'kind' | 'preferredKind' | 'effect'> {
  amount: number;
  barred: string[];
  session: number;
  tokens: number;
  mayProbe: boolean;
}

const anyWish: fc.Arbitrary<Wish> = fc.record({
  kind: seldom(anyKind),
  preferredKind: seldom(anyKind),
  effect: anyEffect,
  amount: fc.constantFrom(100, exploration.maxAmount, exploration.maxAmount + 1),
  barred: fc.uniqueArray(anyId, { maxLength: 2 }),
  session: fc.nat(100_000),
  tokens: fc.double({ min: 0, max: exploration.budgetCap, noNaN: true }),
  mayProbe: fc.boolean(),
});

function offerOf({ kind, preferredKind, effect }: Wish): DecisionInput {
  return anOffer({ kind, preferredKind, effect });
}

function attemptOf(wish: Wish): DecisionInput {
  const { amount, barred, session, tokens, mayProbe } = wish;
  return {
    ...offerOf(wish),
    purpose: 'attempt',
    amount,
    barred: Object.fromEntries(barred.map((id) => [id, 'refused this payment'])),
    draw: { seed: 'seed', sessionId: idOf('chk', session), attempt: 1, tokens, mayProbe },
  };
}

/** A policy under which rare modes are frequent. */
const EAGER: Policy = { ...DEFAULT_POLICY, exploration: { ...exploration, floorEvery: 4, sharpening: 0.05 } };

/** Checks a property of every decision, for offers and for attempts. */
function holds(property: (snapshot: Snapshot, input: DecisionInput, output: DecisionOutput) => void): void {
  fc.assert(
    fc.property(anySnapshot, anyWish, (snapshot, wish) => {
      for (const input of [offerOf(wish), attemptOf(wish)]) property(snapshot, input, decide(snapshot, input, EAGER));
    }),
    RUNS,
  );
}

/** Tells whether operator, rules, this attempt and the buyer allow a route. */
function isAllowed({ id, kind, off }: RouteFacts, input: DecisionInput): boolean {
  if (off !== null || Object.keys(input.barred).includes(id)) return false;
  return isOfWish({ id, kind }, input);
}

function isOfWish({ id, kind }: Pick<RouteFacts, 'id' | 'kind'>, input: DecisionInput): boolean {
  if (input.effect.excluded.some(({ route }) => route === id)) return false;
  return input.kind === null || input.kind === kind;
}

function chosenFrom({ routes }: Snapshot, { chosen }: DecisionOutput): RouteFacts | undefined {
  return routes.find(({ id }) => id === chosen);
}

test('a decision modifies nothing, and copies that went through JSON give the same bytes, so it can be replayed', () => {
  const copied = <Value>(value: Value) => JSON.parse(JSON.stringify(value)) as Value;
  holds((snapshot, input, output) => {
    const before = JSON.stringify([snapshot, input]);
    const again = decide(copied(snapshot), copied(input), EAGER);
    decide(snapshot, input, EAGER);
    assert.equal(JSON.stringify([snapshot, input]), before);
    assert.equal(JSON.stringify(again), JSON.stringify(output));
    assert.equal(JSON.stringify(copied(output)), JSON.stringify(output));
  });
});

test('a written decision is read back with the same fields in the same order', () => {
  holds((_snapshot, input, output) => {
    const { effect } = input;
    const given = effect.matched.length === 0 && effect.excluded.length === 0 ? { ...input, effect: NO_EFFECT } : input;
    const read = readDecision(writeDecision(given, output));
    assert.equal(JSON.stringify(read), JSON.stringify({ input: given, output }));
  });
});

test('the order of the catalogue does not change a decision', () => {
  const sorted = (output: DecisionOutput) => ({
    ...output,
    candidates: output.candidates.toSorted((a, b) => (a.route < b.route ? -1 : 1)),
  });
  fc.assert(
    fc.property(anySnapshot, anyWish, fc.nat(IDS.length), (snapshot, wish, rotation) => {
      const { routes } = snapshot;
      const turned = routes.map((_, i) => routes[(i + rotation) % routes.length]!).toReversed();
      for (const input of [offerOf(wish), attemptOf(wish)]) {
        const other = decide({ ...snapshot, routes: turned }, input, EAGER);
        assert.deepEqual(sorted(other), sorted(decide(snapshot, input, EAGER)));
      }
    }),
    RUNS,
  );
});

test('the chosen route is allowed; only a quote may name a route that is off', () => {
  holds((snapshot, input, output) => {
    const chosen = chosenFrom(snapshot, output);
    if (!chosen) return assert.equal(output.chosen, null);
    if (input.purpose === 'offer' && chosen.off !== null) {
      assert.equal(output.mode, 'panic');
      assert.ok(isOfWish(chosen, input));
      assert.ok(!snapshot.routes.some((route) => isAllowed(route, input)), 'there was one');
    } else {
      assert.ok(isAllowed(chosen, input));
    }
  });
});

test('a route is chosen if one is allowed', () => {
  holds((snapshot, input, output) => {
    const allowed = snapshot.routes.some((route) => isAllowed(route, input));
    if (allowed) assert.notEqual(output.mode, 'none');
    assert.equal(output.mode === 'none', output.chosen === null);
    if (input.purpose === 'attempt') assert.equal(output.chosen === null, !allowed);
  });
});

test('a route in standby is chosen only as a probe, or if there is no other', () => {
  holds((snapshot, input, output) => {
    const chosen = chosenFrom(snapshot, output);
    const usable = snapshot.routes.some((route) => route.health !== 'standby' && isAllowed(route, input));
    if (chosen?.health === 'standby' && output.mode !== 'probe') {
      assert.equal(output.mode, 'panic');
      assert.ok(!usable);
    }
    if (output.mode === 'panic') assert.ok(!usable);
    const { greedy } = output;
    if (usable) assert.notEqual(snapshot.routes.find(({ id }) => id === greedy)?.health, 'standby');
  });
});

test('the merchant’s preferred kind is chosen if it has a usable route', () => {
  holds((snapshot, input, output) => {
    const { kind, preferredKind } = input;
    if (kind !== null || preferredKind === null) return;
    const works = (route: RouteFacts) => route.kind === preferredKind && route.health !== 'standby';
    if (!snapshot.routes.some((route) => works(route) && isAllowed(route, input))) return;
    assert.equal(chosenFrom(snapshot, output)?.kind, preferredKind);
  });
});

test('the first usable route of a priority is chosen', () => {
  holds((snapshot, input, output) => {
    const { kind, preferredKind, effect } = input;
    if (effect.ordering.type !== 'priority' || (preferredKind !== null && kind === null)) return;
    const works = (id: string) =>
      snapshot.routes.some((route) => route.id === id && route.health !== 'standby' && isAllowed(route, input));
    const first = effect.ordering.routes.find(works);
    if (output.mode === 'probe') {
      const { routes } = effect.ordering;
      assert.ok(first === undefined || routes.indexOf(output.chosen!) < routes.indexOf(first));
    } else if (first !== undefined) assert.deepEqual([output.mode, output.chosen], ['rule', first]);
    else assert.notEqual(output.mode, 'rule');
  });
});

test('an offer draws and explores nothing, whatever the amount', () => {
  fc.assert(
    fc.property(anySnapshot, anyWish, (snapshot, wish) => {
      const output = decide(snapshot, offerOf(wish), EAGER);
      assert.ok(['exploit', 'rule', 'panic', 'none'].includes(output.mode), output.mode);
      assert.ok(output.candidates.every(({ index }) => index === null));
      assert.deepEqual([output.exploreLoss, output.tokensAfter], [0, null]);
      if (output.mode !== 'rule') assert.equal(output.greedy, output.chosen);
      assert.deepEqual(decide(snapshot, { ...offerOf(wish), amount: wish.amount }, EAGER), output);
    }),
    RUNS,
  );
});

test('an attempt without exploring chooses the quoted route', () => {
  fc.assert(
    fc.property(anySnapshot, anyWish, (snapshot, wish) => {
      const offer = decide(snapshot, offerOf(wish), EAGER);
      const attempt = decide(snapshot, attemptOf({ ...wish, barred: [] }), EAGER);
      if (attempt.chosen === null) return;
      // During a probe, the choice that a rule would have made is not reported.
      const isTest = attempt.mode === 'probe' && wish.effect.ordering.type !== 'smart';
      if (!isTest) assert.equal(attempt.mode === 'rule' ? attempt.chosen : attempt.greedy, offer.chosen);
      const settled = attemptOf({ ...wish, barred: [], effect: { ...wish.effect, explore: false } });
      assert.equal(decide(snapshot, settled, EAGER).chosen, offer.chosen);
    }),
    RUNS,
  );
});

test('an attempt explores only as amount, rules and budget allow', () => {
  holds((snapshot, input, { mode, chosen, exploreLoss, tokensAfter }) => {
    const { draw, amount, effect } = input;
    if (!draw) return;
    assert.ok(tokensAfter! >= 0 && tokensAfter! <= exploration.budgetCap + 1e-6);
    assert.ok(exploreLoss >= 0);
    if (mode === 'explore') assert.ok(exploreLoss <= draw.tokens + exploration.budgetPerDecision + 1e-6);
    if (mode !== 'explore') assert.ok(tokensAfter! >= draw.tokens - 1e-6, 'only exploring is paid for');
    if (mode !== 'explore' && mode !== 'floor' && mode !== 'probe') return assert.equal(exploreLoss, 0);
    assert.ok(effect.explore && amount! <= exploration.maxAmount);
    if (mode !== 'probe') return;
    assert.ok(draw.mayProbe);
    const { ordering } = effect;
    if (ordering.type === 'split') assert.equal(chosen, ordering.head);
    else if (ordering.type !== 'smart') assert.ok(ordering.routes.includes(chosen!));
    assert.ok(snapshot.routes.find(({ id }) => id === chosen)!.probe);
  });
});

test('every route has a rank or a reason for having none; the chosen route has rank 1', () => {
  holds((snapshot, _, output) => {
    const { candidates, chosen, reason } = output;
    assert.deepEqual(
      candidates.map(({ route }) => route),
      snapshot.routes.map(({ id }) => id),
    );
    for (const { rank, excluded, score, index } of candidates) {
      assert.equal(rank === null, excluded !== null && excluded !== '');
      assert.ok(score >= 0 && score <= 100);
      if (rank === null) assert.equal(index, null);
    }
    const ranked = candidates.filter(({ rank }) => rank !== null).toSorted((a, b) => a.rank! - b.rank!);
    assert.deepEqual(
      ranked.map(({ rank }) => rank),
      ranked.map((_one, place) => place + 1),
    );
    assert.equal(ranked[0]?.route ?? null, chosen);
    const [, ...others] = ranked.map(({ value }) => value);
    assert.deepEqual(
      others,
      others.toSorted((a, b) => b - a),
      'the others follow by value',
    );
    if (output.mode === 'exploit') assert.ok(ranked.every(({ value }) => value <= ranked[0]!.value));
    assert.ok(reason.includes(chosen ?? 'no route can take this payment'));
  });
});

test('every mode occurs, so no property above is vacuous', () => {
  const met = new Set<string>();
  fc.assert(
    fc.property(anySnapshot, anyWish, (snapshot, wish) => {
      for (const input of [offerOf(wish), attemptOf(wish)]) {
        const output = decide(snapshot, input, EAGER);
        met.add(`${input.purpose} ${output.mode}`);
        if (chosenFrom(snapshot, output)?.off) met.add(`${input.purpose} off`);
      }
    }),
    { numRuns: 3000, seed: 1 },
  );
  const offers = ['exploit', 'none', 'off', 'panic', 'rule'].map((mode) => `offer ${mode}`);
  const attempts = ['exploit', 'explore', 'floor', 'none', 'panic', 'probe', 'rule'].map((mode) => `attempt ${mode}`);
  assert.deepEqual([...met].toSorted(), [...attempts, ...offers]);
});
