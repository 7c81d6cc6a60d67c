import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { type Candidate, type ChooseOptions, choose, publishedScoreOf } from '../../src/routing/choose.ts';
import { drawsOf } from '../../src/routing/draw.ts';
import { DEFAULT_POLICY, type Policy } from '../../src/routing/routing-policy.ts';
import { forAll } from '../support/for-all.ts';

const { exploration } = DEFAULT_POLICY;
const RUNS = 700;

/** Candidates from few different values, so that ties are common. */
const anyCandidate: fc.Arbitrary<Candidate> = fc.record({
  id: fc.constantFrom(...Array.from({ length: 12 }, (_, i) => `rt_${i}`)),
  eligible: fc.constantFrom(true, true, true, true, false),
  health: fc.constantFrom('live', 'live', 'live', 'degraded', 'standby'),
  failed: fc.boolean(),
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
  .map(({ margin, ...rates }) => ({
    ...DEFAULT_POLICY,
    objective: { ...DEFAULT_POLICY.objective, margin },
    exploration: { ...exploration, ...rates },
  }));
const anyOptions: fc.Arbitrary<ChooseOptions> = fc.record({
  policy: anyPolicy,
  draws: fc.nat(100_000).map((session) => drawsOf('seed', `chk_${session}`, 1)),
  amount: fc.constantFrom(100, exploration.maxAmount, exploration.maxAmount + 1),
  explore: fc.constantFrom(true, true, true, true, true, false),
  now: fc
    .tuple(fc.constantFrom('floorAfterSeconds', 'busyWithinSeconds'), fc.constantFrom(0, 500, 1500, 2500))
    .map(([limit, ms]) => exploration[limit] * 1000 + ms),
  // fc.double would give mostly values near 0.
  tokens: fc.nat(100).map((percent) => (percent / 100) * exploration.budgetCap),
});

function byId(a: { id: string }, b: { id: string }): number {
  return a.id < b.id ? -1 : 1;
}

/** Candidates that can be chosen: the eligible ones, without those in standby unless all are in standby. */
function rivalsAmong(candidates: readonly Candidate[]): Candidate[] {
  const eligible = candidates.filter((candidate) => candidate.eligible);
  const working = eligible.filter(({ health }) => health !== 'standby');
  return working.length > 0 ? working : eligible;
}

test('without eligible candidates there is no choice, otherwise the greedy choice has the highest score', () => {
  forAll(RUNS, anyCandidates, anyOptions, (candidates, options) => {
    const rivals = rivalsAmong(candidates);
    const choice = choose(candidates, options);
    assert.equal(choice === undefined, rivals.length === 0);
    if (!choice) return;
    const scores = new Map(rivals.map((candidate) => [candidate.id, publishedScoreOf(candidate, options.policy)]));
    assert.equal(scores.get(choice.greedy), Math.max(...scores.values()));
  });
});

test('the exploration floor chooses the least recently tried candidate if that was long ago; otherwise the highest draw wins if the budget covers it', () => {
  const modes = new Set<string>();
  forAll(RUNS, anyCandidates, anyOptions, (candidates, options) => {
    const choice = choose(candidates, options);
    if (!choice) return;
    const { policy, draws, amount, explore, tokens, now } = options;
    const rivals = rivalsAmong(candidates);
    const standings = choice.standings.filter(({ id }) => rivals.some((rival) => rival.id === id));
    const [winner] = standings.toSorted((a, b) => b.index - a.index || b.score - a.score || byId(a, b));
    const [oldest] = rivals
      .filter(({ health }) => health !== 'standby')
      .toSorted((a, b) => (a.triedAt ?? 0) - (b.triedAt ?? 0) || byId(a, b));
    const valueOf = (id: string) => standings.find((standing) => standing.id === id)!.value;
    const lossOf = (id: string) => Math.max(0, valueOf(choice.greedy) - valueOf(id));
    const earned = Math.min(exploration.budgetCap, tokens + exploration.budgetPerDecision);

    const lastTried = Math.max(...candidates.map(({ triedAt }) => triedAt ?? 0));
    const isBusy = lastTried === 0 || now - lastTried <= exploration.busyWithinSeconds * 1000;
    const mayExplore = explore && amount <= exploration.maxAmount && isBusy;
    const isDue = oldest !== undefined && Math.abs(now - (oldest.triedAt ?? 0)) >= exploration.floorAfterSeconds * 1000;
    const isFloor = mayExplore && draws.uniform < 1 / policy.exploration.floorEvery && isDue;
    const isExploring = mayExplore && !isFloor && winner!.id !== choice.greedy && lossOf(winner!.id) <= earned;
    const chosen = isFloor ? oldest.id : isExploring ? winner!.id : choice.greedy;
    const loss = lossOf(chosen);
    assert.deepEqual(
      [choice.mode, choice.chosen, choice.loss, choice.tokensAfter],
      [isFloor ? 'floor' : isExploring ? 'explore' : 'exploit', chosen, loss, isExploring ? earned - loss : earned],
    );
    assert.ok(choice.tokensAfter >= 0);
    modes.add(choice.mode);
  });
  assert.equal(modes.size, 3, 'each mode occurs');
});

test('other candidates change neither the draw nor the score of a candidate, and draws change no score', () => {
  forAll(RUNS, anyCandidates, anyOptions, anyOptions, fc.nat(), (candidates, options, { draws }, removed) => {
    const fewer = candidates.filter((_, i) => i !== removed % candidates.length).toReversed();
    const all = choose(candidates, options)?.standings;
    for (const standing of choose(fewer, options)?.standings ?? []) {
      assert.deepEqual(
        standing,
        all?.find(({ id }) => id === standing.id),
      );
    }
    const redrawn = choose(candidates, { ...options, draws })?.standings;
    assert.deepEqual(
      redrawn?.map(({ score }) => score),
      all?.map(({ score }) => score),
    );
  });
});
