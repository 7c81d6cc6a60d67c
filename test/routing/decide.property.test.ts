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
import { forAll } from '../support/for-all.ts';

const { exploration } = DEFAULT_POLICY;
/** Policy under which the rare decision modes are frequent. */
const EAGER: Policy = { ...DEFAULT_POLICY, exploration: { ...exploration, floorEvery: 4, sharpening: 0.05 } };
const RUNS = 500;

// `constructor` tests a route id that is also a property of every object.
const IDS = ['rt_a', 'rt_b', 'rt_c', 'rt_d', 'rt_e', 'rt_f', 'rt_g', 'constructor'];
const anyId = fc.constantFrom(...IDS);
const someIds = (most: number, least = 0) => fc.uniqueArray(anyId, { minLength: least, maxLength: most });
const kind = fc.constantFrom(...ROUTE_KINDS);
const seldom = <Value>(arbitrary: fc.Arbitrary<Value>) =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, { weight: 1, arbitrary });

/** Routes from few different values, so that ties are common; one in four is in standby, one in six disabled. */
const anyFacts: fc.Arbitrary<RouteFacts> = fc
  .record({
    id: anyId,
    kind,
    health: fc.constantFrom('live' as const, 'live' as const, 'degraded' as const, 'standby' as const),
    off: fc.constantFrom(null, null, null, null, null, 'disabled by the operator: maintenance'),
    probe: fc.boolean(),
    p: fc.integer({ min: 0, max: 20 }).map((share) => share / 20),
    n: fc.constantFrom(4, 34.5, 1300),
    buyerFeeRate: fc.constantFrom(0, 5_000, 500_000),
    gatewayFeeRate: fc.constantFrom(0, 29_000, 500_000),
    providerCostRate: fc.constantFrom(0, 19_000),
    etaMinutes: fc.constantFrom(0, 0.1, 30, 600),
    triedAt: fc.constantFrom(null, NOW - 300_000, NOW),
  })
  .map((route) => {
    const health = route.off === null ? route.health : 'standby';
    const probe = route.probe && route.off === null && health === 'standby';
    return facts({ ...route, health, words: `${health}: why`, probe });
  });
const anySnapshot = fc.uniqueArray(anyFacts, { selector: ({ id }) => id, maxLength: IDS.length }).map(snapshotOf);

const rule = fc.constant('order');
const anyOrdering: fc.Arbitrary<RuleOrdering> = fc.oneof(
  { weight: 3, arbitrary: fc.constant<RuleOrdering>({ type: 'smart' }) },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constantFrom('priority' as const, 'prefer' as const),
      routes: someIds(3, 1),
      rule,
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('split' as const), head: anyId, rule }) },
);
const anyEffect: fc.Arbitrary<RuleEffect> = fc
  .record({
    excluded: someIds(2).map((routes) => routes.map((route) => ({ route, rule: 'not' }))),
    explore: fc.constantFrom(true, true, false),
    margin: seldom(fc.constantFrom(0.02, 0.15)),
    objective: seldom(fc.constantFrom('total' as const, 'operator' as const)),
    ordering: anyOrdering,
  })
  .map(anEffect);
const anyOffset = fc.record({
  context: fc.constant('amount'),
  value: fc.constant('20-50'),
  ratio: fc.constantFrom(0.1, 0.6, 2, 9),
});
const anyOffsets = fc.dictionary(anyId, fc.array(anyOffset, { minLength: 1, maxLength: 2 }), { maxKeys: 3 });
const anyOffer = fc
  .record({ kind: seldom(kind), preferredKind: seldom(kind), effect: anyEffect, offsets: anyOffsets })
  .map(anOffer);
/** Input of an attempt, apart from the offer. */
const anyStart = fc.record({
  amount: fc.constantFrom(100, exploration.maxAmount, exploration.maxAmount + 1),
  failed: someIds(2),
  barred: someIds(2).map((ids) => Object.fromEntries(ids.map((id) => [id, 'refused this payment']))),
  draw: fc.record({
    seed: fc.constant('seed'),
    sessionId: fc.nat(100_000).map((number) => idOf('chk', number)),
    attempt: fc.constant(1),
    tokens: fc.double({ min: 0, max: exploration.budgetCap, noNaN: true }),
    mayProbe: fc.boolean(),
  }),
});
type Start = typeof anyStart extends fc.Arbitrary<infer T> ? T : never;

function attemptOf(offer: DecisionInput, start: Start): DecisionInput {
  return { ...offer, purpose: 'attempt', ...start };
}

/** Checks a property of every decision, for offers and for attempts. */
function holds(property: (snapshot: Snapshot, input: DecisionInput, output: DecisionOutput) => void): void {
  forAll(RUNS, anySnapshot, anyOffer, anyStart, (snapshot, offer, start) => {
    for (const input of [offer, attemptOf(offer, start)]) property(snapshot, input, decide(snapshot, input, EAGER));
  });
}

/** Returns whether the operator, the rules, this attempt and the buyer allow a route. */
function isAllowed(route: RouteFacts, input: DecisionInput): boolean {
  return route.off === null && !Object.keys(input.barred).includes(route.id) && isRequested(route, input);
}

function isRequested({ id, kind }: RouteFacts, input: DecisionInput): boolean {
  if (input.effect.excluded.some(({ route }) => route === id)) return false;
  return input.kind === null || input.kind === kind;
}

function isUsable(route: RouteFacts, input: DecisionInput): boolean {
  return route.health !== 'standby' && isAllowed(route, input);
}

function routeNamed({ routes }: Snapshot, name: string | null): RouteFacts | undefined {
  return routes.find(({ id }) => id === name);
}

test('a decision is deterministic to the byte, also after its input was stored as JSON, and does not modify its input', () => {
  const copied = <Value>(value: Value) => JSON.parse(JSON.stringify(value)) as Value;
  holds((snapshot, input, output) => {
    const before = JSON.stringify([snapshot, input]);
    assert.equal(JSON.stringify(decide(snapshot, input, EAGER)), JSON.stringify(output));
    assert.equal(JSON.stringify([snapshot, input]), before);
    assert.equal(JSON.stringify(decide(copied(snapshot), copied(input), EAGER)), JSON.stringify(output));
    assert.equal(JSON.stringify(copied(output)), JSON.stringify(output));
  });
});

test('a stored decision of the algorithm sdts/1, which has no offsets and no failed routes, can be read', () => {
  const input = anOffer();
  const stored = JSON.parse(writeDecision(input, decide(snapshotOf([facts({})]), input, DEFAULT_POLICY))) as {
    input: Partial<DecisionInput>;
  };
  delete stored.input.offsets;
  delete stored.input.failed;
  assert.deepEqual(readDecision(JSON.stringify(stored)).input, input);
});

test('a stored decision is read with the same fields in the same order', () => {
  holds((_snapshot, input, output) => {
    const { effect } = input;
    const given = effect.matched.length === 0 && effect.excluded.length === 0 ? { ...input, effect: NO_EFFECT } : input;
    const read = readDecision(writeDecision(given, output));
    assert.equal(JSON.stringify(read), JSON.stringify({ input: given, output }));
  });
});

test('the order of the catalogue does not change a decision', () => {
  holds((snapshot, input, output) => {
    const reversed = decide({ ...snapshot, routes: snapshot.routes.toReversed() }, input, EAGER);
    assert.deepEqual({ ...reversed, candidates: reversed.candidates.toReversed() }, output);
  });
});

test('an allowed route is chosen if there is one; only a quote may name a disabled route', () => {
  holds((snapshot, input, output) => {
    const chosen = routeNamed(snapshot, output.chosen);
    assert.equal(chosen === undefined, output.chosen === null);
    assert.equal(output.mode === 'none', output.chosen === null);
    const isOneAllowed = snapshot.routes.some((route) => isAllowed(route, input));
    if (isOneAllowed) assert.ok(chosen && isAllowed(chosen, input));
    else if (input.purpose === 'attempt') assert.equal(output.mode, 'none');
    else if (chosen) assert.ok(output.mode === 'panic' && isRequested(chosen, input));
  });
});

test('a route in standby is chosen only as a probe, or if all usable routes are in standby', () => {
  holds((snapshot, input, output) => {
    const { chosen, greedy, mode } = output;
    if (snapshot.routes.some((route) => isUsable(route, input))) {
      assert.notEqual(mode, 'panic');
      assert.notEqual(routeNamed(snapshot, greedy)?.health, 'standby');
      if (mode !== 'probe') assert.notEqual(routeNamed(snapshot, chosen)?.health, 'standby');
    } else if (chosen !== null && mode !== 'probe') assert.equal(mode, 'panic');
  });
});

test('a usable route of the preferred kind is chosen; among the usable routes, a priority or split decides by its order', () => {
  holds((snapshot, input, { mode, chosen }) => {
    const usable = snapshot.routes.filter((route) => isUsable(route, input));
    const preferred = usable.filter(({ kind }) => input.kind === null && kind === input.preferredKind);
    if (preferred.length > 0) assert.equal(routeNamed(snapshot, chosen)?.kind, input.preferredKind);
    const { ordering } = input.effect;
    const named = ordering.type === 'priority' ? ordering.routes : ordering.type === 'split' ? [ordering.head] : [];
    const pool = preferred.length > 0 ? preferred : usable;
    const first = named.find((name) => pool.some(({ id }) => id === name));
    if (mode === 'probe') {
      if (first !== undefined) assert.ok(named.indexOf(chosen!) < named.indexOf(first));
    } else if (first !== undefined) assert.deepEqual([mode, chosen], ['rule', first]);
    else assert.notEqual(mode, 'rule');
  });
});

test('an offer never explores and makes no draw, for any amount', () => {
  forAll(RUNS, anySnapshot, anyOffer, anyStart, (snapshot, offer, { amount }) => {
    const output = decide(snapshot, offer, EAGER);
    assert.ok(['exploit', 'rule', 'panic', 'none'].includes(output.mode), output.mode);
    assert.ok(output.candidates.every(({ index }) => index === null));
    assert.deepEqual([output.exploreLoss, output.tokensAfter], [0, null]);
    if (output.mode !== 'rule') assert.equal(output.greedy, output.chosen);
    assert.deepEqual(decide(snapshot, { ...offer, amount }, EAGER), output);
  });
});

test('an attempt without exploration chooses the quoted route', () => {
  forAll(RUNS, anySnapshot, anyOffer, anyStart, (snapshot, offer, start) => {
    const quoted = decide(snapshot, offer, EAGER).chosen;
    const unbarred = { ...start, barred: {}, failed: [] };
    const attempt = decide(snapshot, attemptOf(offer, unbarred), EAGER);
    if (attempt.chosen === null) return;
    // A probe replaces the choice of a rule, and the decision does not report that choice.
    const isUnreported = attempt.mode === 'probe' && offer.effect.ordering.type !== 'smart';
    if (!isUnreported) assert.equal(attempt.mode === 'rule' ? attempt.chosen : attempt.greedy, quoted);
    const unexploring = { ...offer, effect: { ...offer.effect, explore: false } };
    assert.equal(decide(snapshot, attemptOf(unexploring, unbarred), EAGER).chosen, quoted);
  });
});

test('an attempt explores only as amount, rules and budget allow', () => {
  holds((snapshot, input, { mode, chosen, exploreLoss, tokensAfter }) => {
    const { draw, amount, effect } = input;
    if (!draw) return;
    assert.ok(tokensAfter! >= 0 && tokensAfter! <= exploration.budgetCap + 1e-6);
    assert.ok(exploreLoss >= 0);
    if (mode === 'explore') assert.ok(exploreLoss <= draw.tokens + exploration.budgetPerDecision + 1e-6);
    if (mode !== 'explore')
      assert.ok(tokensAfter! >= draw.tokens - 1e-6, 'another mode than `explore` used the budget');
    if (mode !== 'explore' && mode !== 'floor' && mode !== 'probe') return assert.equal(exploreLoss, 0);
    assert.ok(effect.explore && amount! <= exploration.maxAmount);
    if (mode !== 'probe') return;
    assert.ok(draw.mayProbe && routeNamed(snapshot, chosen)!.probe);
    const { ordering } = effect;
    if (ordering.type === 'split') assert.equal(chosen, ordering.head);
    else if (ordering.type !== 'smart') assert.ok(ordering.routes.includes(chosen!));
  });
});

test('every route has a rank or a reason for its exclusion; the chosen route has rank 1', () => {
  holds((snapshot, _, { mode, candidates, chosen, reason }) => {
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
    for (const [place, { rank }] of ranked.entries()) assert.equal(rank, place + 1);
    const [first, ...others] = ranked;
    assert.equal(first?.route ?? null, chosen);
    for (const [place, { value }] of others.entries()) assert.ok(value <= (others[place - 1]?.value ?? Infinity));
    if (mode === 'exploit') assert.ok(others.every(({ value }) => value <= first!.value));
    assert.ok(reason.includes(chosen ?? 'no route can take this payment'));
  });
});

test('the generated decisions contain every mode, so no property above is vacuous', () => {
  const met = new Set<string>();
  for (const [snapshot, offer, start] of fc.sample(fc.tuple(anySnapshot, anyOffer, anyStart), {
    numRuns: 2000,
    seed: 1,
  })) {
    for (const input of [offer, attemptOf(offer, start)]) {
      const { mode, chosen } = decide(snapshot, input, EAGER);
      met.add(`${input.purpose} ${mode}`);
      if (routeNamed(snapshot, chosen)?.off) met.add(`${input.purpose} off`);
    }
  }
  const offers = ['exploit', 'none', 'off', 'panic', 'rule'].map((mode) => `offer ${mode}`);
  const attempts = ['exploit', 'explore', 'floor', 'none', 'panic', 'probe', 'rule'].map((mode) => `attempt ${mode}`);
  assert.deepEqual([...met].toSorted(), [...attempts, ...offers]);
});
