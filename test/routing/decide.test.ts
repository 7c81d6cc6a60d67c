import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { decide } from '../../src/routing/decide.ts';
import type { DecisionInput, DecisionOutput, RouteFacts } from '../../src/routing/decision.ts';
import type { RuleOrdering } from '../../src/routing/evaluate-rules.ts';
import { DEFAULT_POLICY, type Policy } from '../../src/routing/routing-policy.ts';
import { NOW, idOf } from '../fixtures/checkout-records.ts';
import { anAttemptAt, anEffect, anOffer, facts, snapshotOf } from '../fixtures/routing-records.ts';

const { exploration } = DEFAULT_POLICY;
const policyWith = (rates: Partial<Policy['exploration']>): Policy => ({
  ...DEFAULT_POLICY,
  exploration: { ...exploration, floorEvery: 1e9, sharpening: 1e9, ...rates },
});
const WITHOUT_EXPLORING = policyWith({});
const ONLY_FLOOR = policyWith({ floorEvery: 1 });

const GOOD = facts({ id: 'good', p: 0.95 });
const FAIR = facts({ id: 'fair', p: 0.9 });
const POOR = facts({ id: 'poor', p: 0.6 });
const WALLET = facts({ id: 'wallet', kind: 'wallet', p: 0.8 });
const DISABLED = 'disabled by the operator: maintenance';
const UNCONNECTED = 'no provider is connected for acquirer';
const disabled = (route: RouteFacts): RouteFacts => ({ ...route, health: 'standby', off: DISABLED });
const inStandby = (route: RouteFacts, fields: Partial<RouteFacts> = {}): RouteFacts => ({
  ...route,
  health: 'standby',
  words: 'standby: 3 handoff errors in a row',
  ...fields,
});

function decided(routes: RouteFacts[], input: DecisionInput = anOffer(), policy = WITHOUT_EXPLORING): DecisionOutput {
  return decide(snapshotOf(routes), input, policy);
}

function ruled(ordering: RuleOrdering, purpose = anOffer): DecisionInput {
  return purpose({ effect: anEffect({ ordering }) });
}

const WITHOUT_GOOD = anEffect({ excluded: [{ route: 'good', rule: 'no-such-card' }] });

/** Reason for which a route was excluded. */
function excludedFrom({ candidates }: DecisionOutput, id: string): string | null {
  return candidates.find(({ route }) => route === id)!.excluded;
}

describe('the choice among routes that can take a payment', () => {
  test('the router chooses the route with the highest expected value less its cost', () => {
    const { mode, chosen, greedy } = decided([FAIR, GOOD, POOR]);
    assert.deepEqual([mode, chosen, greedy], ['exploit', 'good', 'good']);
    assert.equal(decided([FAIR, { ...GOOD, buyerFeeRate: 90_000 }]).chosen, 'fair');
    assert.equal(decided([facts({ id: 'b' }), facts({ id: 'a' })]).chosen, 'a', 'the smaller id of equal routes');
  });

  test('the router deducts 2 points from the value of a degraded route', () => {
    const degraded: RouteFacts = { ...GOOD, health: 'degraded' };
    const nearly = (points: number) => facts({ ...GOOD, id: 'nearly', p: GOOD.p - points / 100 });
    assert.equal(decided([degraded, nearly(1)]).chosen, 'nearly');
    assert.equal(decided([degraded, nearly(3)]).chosen, 'good');
  });

  test('a route on which an earlier payment of the session failed comes last among routes that are nearly as good', () => {
    const again = anOffer({ failed: ['good'] });
    assert.equal(decided([GOOD, facts({ ...GOOD, id: 'nearly', p: GOOD.p - 0.04 })], again).chosen, 'nearly');
    assert.equal(decided([GOOD, facts({ ...GOOD, id: 'nearly', p: GOOD.p - 0.06 })], again).chosen, 'good');
  });

  test('the router chooses by the expected success in the contexts of the payment', () => {
    const offsets = { good: [{ context: 'amount', value: '200-500', ratio: 4 }] };
    assert.equal(decided([GOOD, FAIR]).chosen, 'good');
    assert.equal(decided([GOOD, FAIR], anOffer({ offsets })).chosen, 'fair');
  });

  test('the router compares routes by the objective and the margin of a matching rule', () => {
    const cheap = facts({ id: 'cheap', p: 0.93, providerCostRate: 1_000 });
    assert.equal(decided([GOOD, cheap]).chosen, 'good');
    const byTotalCost = anOffer({ effect: anEffect({ objective: 'total', margin: 0.15 }) });
    assert.equal(decided([GOOD, cheap], byTotalCost).chosen, 'cheap');
  });

  test('the reason of a decision contains the compared numbers', () => {
    const { reason } = decided([FAIR, { ...GOOD, buyerFeeRate: 6_000 }]);
    assert.equal(reason, 'good over fair: expected success 95 % against 90 %, cost 3.5 % against 3.4 %');
  });

  test('a decision reports the score, cost and value of each route, and the rank of each route that could be chosen', () => {
    const { candidates, gapTop2 } = decided([FAIR, POOR, GOOD]);
    const good = { score: 91.8, cost: 0.034, value: 0.917692, index: null, rank: 1, excluded: null };
    assert.deepEqual(candidates[2], { route: 'good', ...good });
    const ranks = candidates.map(({ route, rank }) => `${route} ${rank}`);
    assert.deepEqual(ranks, ['fair 2', 'poor 3', 'good 1']);
    assert.equal(gapTop2, 0.0483);
  });
});

describe('precedence of operator, rules and preferences', () => {
  test('a route that an operator has disabled is excluded before any rule applies', () => {
    const output = decided([disabled(GOOD), FAIR], ruled({ type: 'priority', routes: ['good'], rule: 'vip' }));
    assert.deepEqual([output.mode, output.chosen], ['exploit', 'fair']);
    assert.equal(excludedFrom(output, 'good'), DISABLED);
    assert.equal(excludedFrom(decided([disabled(GOOD), FAIR], anOffer({ effect: WITHOUT_GOOD })), 'good'), DISABLED);
  });

  test('a rule that excludes a route overrides the kind that the merchant prefers', () => {
    const output = decided([GOOD, WALLET], anOffer({ preferredKind: 'card', effect: WITHOUT_GOOD }));
    assert.equal(output.chosen, 'wallet');
    assert.equal(excludedFrom(output, 'good'), 'excluded by rule no-such-card');
    assert.match(output.reason, /; the preferred kind card has no route that can take it$/);
  });

  test('a preferred kind with all its routes in standby is ignored', () => {
    const output = decided([GOOD, inStandby(WALLET)], anOffer({ preferredKind: 'wallet' }));
    assert.deepEqual([output.mode, output.chosen], ['exploit', 'good']);
    assert.equal(excludedFrom(output, 'wallet'), 'standby: 3 handoff errors in a row');
    assert.match(output.reason, /^good is the only route that can take it; the preferred kind wallet has no route/);
  });

  test('an ordering by rules overrides exploration', () => {
    const order = ruled({ type: 'priority', routes: ['fair'], rule: 'vip' }, anAttemptAt);
    const { mode, chosen, tokensAfter } = decided([GOOD, FAIR, POOR], order, ONLY_FLOOR);
    assert.deepEqual([mode, chosen, tokensAfter], ['rule', 'fair', 1]);
    const untried = { ...POOR, triedAt: null };
    assert.equal(decided([GOOD, FAIR, untried], anAttemptAt(), ONLY_FLOOR).mode, 'floor');
  });

  test('other routes are considered only if no preferred route can take the payment', () => {
    const preference = ruled({ type: 'prefer', routes: ['fair', 'poor'], rule: 'local-first' });
    const output = decided([GOOD, FAIR, POOR], preference);
    assert.deepEqual([output.mode, output.chosen], ['exploit', 'fair']);
    assert.equal(excludedFrom(output, 'good'), 'rule local-first prefers other routes');
    assert.match(output.reason, /^fair over poor among those that rule local-first prefers: /);
    assert.equal(decided([GOOD, inStandby(FAIR), disabled(POOR)], preference).chosen, 'good');
  });
});

describe('an attempt', () => {
  test('the routing of an attempt uses the kind that the buyer chose, whatever the merchant prefers', () => {
    const output = decided([GOOD, WALLET], anAttemptAt({ kind: 'wallet', preferredKind: 'card' }));
    assert.equal(output.chosen, 'wallet');
    assert.equal(output.reason, 'wallet is the only route that can take it');
    assert.equal(excludedFrom(output, 'good'), 'the buyer chose to pay by wallet');
  });

  test('the routing of an attempt does not use a barred route, and reports the reason', () => {
    const barred = { good: 'would cost the buyer more than was shown' };
    const output = decided([GOOD, FAIR], anAttemptAt({ barred }));
    assert.equal(output.chosen, 'fair');
    assert.equal(excludedFrom(output, 'good'), 'would cost the buyer more than was shown');
    assert.equal(decided([GOOD], anAttemptAt({ barred })).mode, 'none');
  });

  test('an attempt explores when a random draw favors another route, and charges the expected loss to the exploration budget', () => {
    const close = facts({ id: 'close', p: 0.94, n: 30 });
    const outputs = Array.from({ length: 50 }, (_, number) => {
      const draw = { seed: 'seed', sessionId: idOf('chk', number), attempt: 1, tokens: 0.5, mayProbe: false };
      return decided([GOOD, close], anAttemptAt({ draw }), policyWith({ sharpening: 0.01 }));
    });
    const explored = outputs.find(({ mode }) => mode === 'explore')!;
    assert.deepEqual([explored.chosen, explored.greedy, explored.exploreLoss], ['close', 'good', 0.00966]);
    assert.equal(
      explored.reason,
      'close instead of good, to learn how it does: it gives up 0.97 % of the amount in expected value',
    );
    assert.ok(Math.abs(explored.tokensAfter! - (0.5 + exploration.budgetPerDecision - 0.00966)) < 1e-9);
    assert.ok(explored.candidates.every(({ index }) => index !== null));
    assert.ok(outputs.some(({ mode }) => mode === 'exploit'));
  });

  test('a small share of attempts goes to the route that was tried least recently, if that was 5 minutes ago', () => {
    const forgotten: RouteFacts = { ...POOR, triedAt: NOW - 300_000 };
    const recent: RouteFacts = { ...GOOD, triedAt: NOW };
    const output = decided([recent, forgotten], anAttemptAt(), ONLY_FLOOR);
    assert.deepEqual([output.mode, output.chosen, output.greedy], ['floor', 'poor', 'good']);
    assert.equal(output.reason, 'poor was tried least recently, and one decision in many looks there');
    const settled = anAttemptAt({ effect: anEffect({ explore: false }) });
    assert.equal(decided([recent, forgotten], settled, ONLY_FLOOR).mode, 'exploit');
    const tried: RouteFacts = { ...POOR, triedAt: NOW - 299_999 };
    assert.equal(decided([recent, tried], anAttemptAt(), ONLY_FLOOR).mode, 'exploit');
    const later = [recent, forgotten].map((route) => ({ ...route, triedAt: NOW + 3_600_000 }));
    assert.equal(decided(later, anAttemptAt(), ONLY_FLOOR).mode, 'floor', 'the clock was set back');
  });

  test('an attempt explores only if there was a payment in the last 15 minutes, or none ever', () => {
    const modeAfter = (ms: number | null) => {
      const triedAt = ms === null ? null : NOW - ms;
      return decided(
        [GOOD, POOR].map((route) => ({ ...route, triedAt })),
        anAttemptAt(),
        ONLY_FLOOR,
      ).mode;
    };
    assert.deepEqual([900_000, 900_001, null].map(modeAfter), ['floor', 'exploit', 'floor']);
  });
});

describe('a route in standby', () => {
  const due = inStandby(GOOD, { probe: true });

  test('a route in standby is probed with one payment when its back-off is over', () => {
    const output = decided([due, FAIR], anAttemptAt());
    assert.deepEqual([output.mode, output.chosen, output.greedy, output.tokensAfter], ['probe', 'good', 'fair', 1]);
    assert.equal(output.reason, 'good is in standby, and this payment tests whether it is back');
  });

  test('a route in standby is probed if a rule would send the payment to it', () => {
    for (const ordering of [
      { type: 'prefer', routes: ['good', 'fair'], rule: 'vip' },
      { type: 'priority', routes: ['good', 'fair'], rule: 'vip' },
      { type: 'split', head: 'good', rule: 'half' },
    ] as const) {
      const output = decided([due, FAIR], anAttemptAt({ effect: anEffect({ ordering }) }));
      assert.deepEqual([output.mode, output.chosen], ['probe', 'good'], ordering.type);
    }
  });

  test('a route in standby takes the payment if all routes are in standby and it is the best of them', () => {
    const output = decided([inStandby(FAIR), inStandby(GOOD)], anAttemptAt());
    assert.deepEqual([output.mode, output.chosen], ['panic', 'good']);
    assert.equal(output.reason, 'all routes are in standby, and good is the best of them');
  });
});

describe('a quote', () => {
  const unconnected = (route: RouteFacts): RouteFacts => ({ ...route, health: 'standby', off: UNCONNECTED });

  test('a quote names a route even if no provider is connected, and its reason says so', () => {
    const output = decided([unconnected(FAIR), unconnected(GOOD), unconnected(WALLET)]);
    assert.deepEqual([output.mode, output.chosen], ['panic', 'good']);
    assert.equal(
      output.reason,
      'no route can take a payment now; good is what is quoted (no provider is connected for acquirer)',
    );
    const preferred = anOffer({ preferredKind: 'wallet' });
    assert.equal(decided([unconnected(GOOD), unconnected(WALLET)], preferred).chosen, 'wallet');
  });
});
