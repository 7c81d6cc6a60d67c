import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { type Candidate, type ChooseOptions, choose, greedy, publishedScoreOf } from '../../src/routing/choose.ts';
import { drawsOf } from '../../src/routing/draw.ts';
import { DEFAULT_POLICY, type Policy } from '../../src/routing/routing-policy.ts';

const { exploration } = DEFAULT_POLICY;

/** Published numbers: few of them, so that ties are common. */
const anyCandidate: fc.Arbitrary<Candidate> = fc.record({
  id: fc.constantFrom(...Array.from({ length: 12 }, (_, i) => `rt_${i}`)),
  eligible: fc.oneof({ weight: 4, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
  health: fc.constantFrom('live', 'live', 'live', 'degraded', 'standby'),
  p: fc.integer({ min: 0, max: 20 }).map((share) => share / 20),
  n: fc.constantFrom(4, 34.5, 400, 1300),
  cost: fc.constantFrom(-0.01, 0, 0.02, 0.039, 1.2),
  etaMinutes: fc.constantFrom(0, 1, 30, 600),
  triedAt: fc.constantFrom(null, 1000, 2000, 3000),
});
const anyCandidates = fc.uniqueArray(anyCandidate, { selector: ({ id }) => id, minLength: 1, maxLength: 12 });
const anyPolicy: fc.Arbitrary<Policy> = fc
  .record({
    margin: fc.constantFrom(0.15, 1),
    sharpening: fc.constantFrom(0.01, 12),
    floorEvery: fc.constantFrom(2, 200),
  })
  .map(({ margin, sharpening, floorEvery }) => ({
    ...DEFAULT_POLICY,
    objective: { ...DEFAULT_POLICY.objective, margin },
    exploration: { ...exploration, sharpening, floorEvery },
  }));
const anyOptions: fc.Arbitrary<ChooseOptions> = fc.record({
  policy: anyPolicy,
  draws: fc.integer({ min: 0, max: 100_000 }).map((session) => drawsOf('seed', `chk_${session}`, 1)),
  amount: fc.constantFrom(100, exploration.maxAmount, exploration.maxAmount + 1),
  explore: fc.oneof({ weight: 5, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
  tokens: fc.double({ min: 0, max: exploration.budgetCap, noNaN: true }),
});
const RUNS = { numRuns: 800 };

/** Candidates that can be chosen: eligible, and not in standby unless all are. */
function rivalsAmong(candidates: readonly Candidate[]): (id: string) => boolean {
  const eligible = candidates.filter((candidate) => candidate.eligible);
  const working = eligible.filter(({ health }) => health !== 'standby');
  const rivals = new Set((working.length > 0 ? working : eligible).map(({ id }) => id));
  return (id) => rivals.has(id);
}

function holds(property: (candidates: Candidate[], options: ChooseOptions) => void): void {
  fc.assert(fc.property(anyCandidates, anyOptions, property), RUNS);
}

test('the order of the candidates does not change the choice', () => {
  fc.assert(
    fc.property(anyCandidates, anyOptions, fc.integer(), (candidates, options, rotation) => {
      const turned = candidates.map((_, i) => candidates.at((i + rotation) % candidates.length)!).toReversed();
      const [one, other] = [choose(candidates, options), choose(turned, options)];
      const sorted = one?.standings.toSorted((a, b) => (a.id < b.id ? -1 : 1));
      const otherSorted = other?.standings.toSorted((a, b) => (a.id < b.id ? -1 : 1));
      assert.deepEqual({ ...other, standings: otherSorted }, { ...one, standings: sorted });
    }),
    RUNS,
  );
});

test('candidates that went through JSON give the same choice', () => {
  holds((candidates, options) => {
    const kept = JSON.parse(JSON.stringify(candidates)) as Candidate[];
    assert.deepEqual(choose(kept, options), choose(candidates, options));
  });
});

test('an eligible candidate is chosen if there is one', () => {
  holds((candidates, options) => {
    const eligible = candidates.filter((candidate) => candidate.eligible).map(({ id }) => id);
    const choice = choose(candidates, options);
    if (eligible.length === 0) assert.equal(choice, undefined);
    else assert.ok(choice && eligible.includes(choice.chosen) && eligible.includes(choice.greedy));
    assert.equal(greedy(candidates, options.policy)?.id, choice?.greedy);
  });
});

test('removing a candidate does not change the draws of the others', () => {
  fc.assert(
    fc.property(anyCandidates, anyOptions, fc.nat(), (candidates, options, out) => {
      const all = choose(candidates, options);
      const without = candidates.filter((_, i) => i !== out % candidates.length);
      const standings = new Map(all?.standings.map((standing) => [standing.id, standing]));
      const fewer = choose(without, options);
      for (const standing of fewer?.standings ?? []) assert.deepEqual(standing, standings.get(standing.id));
    }),
    RUNS,
  );
});

test('removing a candidate that is neither chosen nor greedy does not change the choice', () => {
  fc.assert(
    fc.property(anyCandidates, anyOptions, fc.nat(), (candidates, options, out) => {
      const choice = choose(candidates, options);
      const { id } = candidates[out % candidates.length]!;
      if (!choice || id === choice.chosen || id === choice.greedy) return;
      const again = choose(
        candidates.filter((candidate) => candidate.id !== id),
        options,
      );
      const isRival = rivalsAmong(candidates);
      // Without the winner of the draws, the next one may come into the money; all else stays.
      const winner = choice.standings
        .filter(({ id }) => isRival(id))
        .toSorted((a, b) => b.index - a.index || b.score - a.score || (a.id < b.id ? -1 : 1))[0]!;
      if (winner.id === id) return;
      assert.deepEqual([again?.chosen, again?.mode, again?.loss], [choice.chosen, choice.mode, choice.loss]);
    }),
    RUNS,
  );
});

test('the greedy choice has the highest published score, and draws do not change scores', () => {
  fc.assert(
    fc.property(anyCandidates, anyOptions, anyOptions, (candidates, options, other) => {
      const best = greedy(candidates, options.policy);
      if (!best) return;
      const isRival = rivalsAmong(candidates);
      const scores = candidates
        .filter(({ id }) => isRival(id))
        .map((candidate) => publishedScoreOf(candidate, options.policy));
      assert.equal(publishedScoreOf(best, options.policy), Math.max(...scores));
      const scoresOf = (draws: ChooseOptions['draws']) =>
        choose(candidates, { ...options, draws })!.standings.map(({ score }) => score);
      assert.deepEqual(scoresOf(options.draws), scoresOf(other.draws));
    }),
    RUNS,
  );
});

test('the budget stays between zero and its cap, and pays for the loss of exploring', () => {
  holds((candidates, options) => {
    const choice = choose(candidates, options);
    if (!choice) return;
    const { mode, loss, tokensAfter } = choice;
    assert.ok(tokensAfter >= 0 && tokensAfter <= exploration.budgetCap);
    assert.ok(loss >= 0);
    const earned = Math.min(exploration.budgetCap, options.tokens + exploration.budgetPerDecision);
    assert.equal(tokensAfter, mode === 'explore' ? earned - loss : earned);
    assert.equal(loss > 0 && choice.chosen === choice.greedy, false);
  });
});

test('only the greedy choice is made for large payments, or if exploring is forbidden', () => {
  holds((candidates, options) => {
    if (options.explore && options.amount <= exploration.maxAmount) return;
    const choice = choose(candidates, options);
    assert.ok(!choice || (choice.mode === 'exploit' && choice.chosen === choice.greedy));
  });
});

test('a route in standby is chosen only if all are in standby', () => {
  holds((candidates, options) => {
    const choice = choose(candidates, options);
    const working = candidates.filter(({ eligible, health }) => eligible && health !== 'standby').map(({ id }) => id);
    if (!choice || working.length === 0) return;
    assert.ok(working.includes(choice.chosen) && working.includes(choice.greedy));
  });
});
