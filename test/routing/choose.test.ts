import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Candidate, type ChooseOptions, choose } from '../../src/routing/choose.ts';
import { drawsOf } from '../../src/routing/draw.ts';
import { DEFAULT_POLICY } from '../../src/routing/routing-policy.ts';

const { exploration } = DEFAULT_POLICY;

function candidate(id: string, p: number, more: Partial<Candidate> = {}): Candidate {
  return { id, p, n: 400, eligible: true, health: 'live', cost: 0.02, etaMinutes: 0, triedAt: null, ...more };
}

/** Options with given draws, for a decision that is not one of the floor. */
function drawn(gaussians: Record<string, number>, more: Partial<ChooseOptions> = {}): ChooseOptions {
  const draws = { gaussianOf: (id: string) => gaussians[id] ?? 0, uniform: 0.5 };
  return { policy: DEFAULT_POLICY, draws, amount: 5000, explore: true, tokens: 1, ...more };
}

/** Modes of many sessions one after another, the tokens handed on. */
function run(candidates: Candidate[], sessions: number): Record<string, number> {
  const modes: Record<string, number> = { exploit: 0, explore: 0, floor: 0, loss: 0 };
  let tokens = exploration.budgetCap;
  for (let session = 0; session < sessions; session += 1) {
    const draws = drawsOf('seed', `chk_${session}`, 1);
    const choice = choose(candidates, { ...drawn({}), draws, tokens })!;
    tokens = choice.tokensAfter;
    modes[choice.mode]! += 1;
    if (choice.mode === 'explore') modes['loss']! += choice.loss;
  }
  return modes;
}

test('the higher score wins among equal draws, and the smaller id among equal scores', () => {
  const sure = candidate('rt_b', 1);
  const lucky = candidate('rt_a', 0.98);
  const same = candidate('rt_c', 1);
  for (const candidates of [
    [sure, lucky, same],
    [same, lucky, sure],
  ]) {
    const choice = choose(candidates, drawn({ rt_a: 100 }))!;
    assert.equal(new Set(choice.standings.map(({ index }) => index)).size, 1);
    assert.deepEqual([choice.mode, choice.chosen], ['exploit', 'rt_b']);
  }
});

test('a lucky draw explores, and the budget pays the difference in expected value', () => {
  const choice = choose([candidate('rt_a', 0.8), candidate('rt_b', 0.81)], drawn({ rt_a: 3 }, { tokens: 0.5 }))!;
  assert.deepEqual([choice.mode, choice.chosen, choice.greedy], ['explore', 'rt_a', 'rt_b']);
  assert.ok(Math.abs(choice.loss - 0.01 * 0.98) < 1e-12);
  assert.equal(choice.tokensAfter, 0.5 + exploration.budgetPerDecision - choice.loss);
});

test('a loss beyond the budget is not explored', () => {
  const choice = choose([candidate('rt_a', 0.8), candidate('rt_b', 0.81)], drawn({ rt_a: 3 }, { tokens: 0.001 }))!;
  assert.deepEqual([choice.mode, choice.chosen], ['exploit', 'rt_b']);
  assert.equal(choice.tokensAfter, 0.001 + exploration.budgetPerDecision);
});

test('the draw of a route is wider the fewer outcomes it has', () => {
  const options = drawn({ rt_a: 1, rt_b: 1 });
  const { standings } = choose([candidate('rt_a', 0.8, { n: 40 }), candidate('rt_b', 0.8, { n: 4000 })], options)!;
  const [few, many] = standings.map(({ index, value }) => index - value);
  assert.ok(few! > many! * 9 && many! > 0);
});

test('the floor chooses the route that was tried least recently, except those in standby', () => {
  const options = drawn({}, { draws: { gaussianOf: () => 0, uniform: 0 }, tokens: 0 });
  const candidates = [
    candidate('rt_a', 0.9, { triedAt: 3000 }),
    candidate('rt_b', 0.5, { triedAt: 1000 }),
    candidate('rt_c', 0.8, { triedAt: 500, eligible: false }),
    candidate('rt_d', 0.8, { triedAt: null, health: 'standby' }),
  ];
  const choice = choose(candidates, options)!;
  assert.deepEqual([choice.mode, choice.chosen, choice.greedy], ['floor', 'rt_b', 'rt_a']);
  assert.equal(choice.tokensAfter, exploration.budgetPerDecision);
  const never = choose([...candidates, candidate('rt_e', 0.1)], options)!;
  assert.equal(never.chosen, 'rt_e');
});

test('about one decision in two hundred is of the floor, and exploring stays within its budget', () => {
  const sessions = 40_000;
  const routes = Array.from({ length: 5 }, (_, i) => candidate(`rt_${i}`, 0.9 - i * 0.005, { n: 40 }));
  const modes = run(routes, sessions);
  assert.ok(Math.abs(modes['floor']! - sessions / exploration.floorEvery) < 50, `${modes['floor']}`);
  assert.ok(modes['explore']! > 1000);
  assert.ok(modes['loss']! <= exploration.budgetCap + sessions * exploration.budgetPerDecision);
});
