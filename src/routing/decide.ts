import { byValue, choose, isWorking, meanIndexOf, publishedScoreOf } from './choose.ts';
import type { DecisionCandidate, DecisionInput, DecisionOutput, RouteFacts, Snapshot, Verdict } from './decision.ts';
import { withOffsets } from './context-offsets.ts';
import { drawsOf } from './draw.ts';
import { type RuleEffect, routesIn } from './evaluate-rules.ts';
import { costOf } from './objective.ts';
import { OBJECTIVES, type Policy } from './routing-policy.ts';
import { reasonOf } from './reasons.ts';

const DECIMALS = 1_000_000;

/**
 * Chooses a route and gives the reason. A pure function: the same snapshot and input give the same bytes. The precedence is:
 * operator and rules, the merchant's preferred kind, health, orderings by rules, exploration.
 */
export function decide(snapshot: Snapshot, input: DecisionInput, base: Policy): DecisionOutput {
  const policy = policyOf(base, input.effect);
  const contestants = snapshot.routes.map((facts) => contestantOf(facts, input, policy));
  const verdict = verdictOf(contestants, input, policy);
  return describe(contestants, verdict, input, policy);
}

/** The policy `base` with the margin and the objective that the rules set, if any. */
export function policyOf(base: Policy, { margin, objective }: RuleEffect): Policy {
  const weights = objective === null ? base.objective.weights : OBJECTIVES[objective];
  return { ...base, objective: { ...base.objective, weights, margin: margin ?? base.objective.margin } };
}

function contestantOf(facts: RouteFacts, input: DecisionInput, policy: Policy): DecisionCandidate {
  const { p } = expectedOf(facts, input);
  const cost = rounded(costOf(facts, policy.objective.weights, input.amount));
  const excluded = exclusionOf(facts, input);
  return { ...facts, p, cost, failed: input.failed.includes(facts.id), eligible: excluded === null, excluded };
}

/** Expected success of a route in the contexts of the payment, the bounds of its interval, and the offsets that they include. */
export function expectedOf({ id, p, low, high }: RouteFacts, input: DecisionInput) {
  const offsets = Object.hasOwn(input.offsets, id) ? input.offsets[id]! : [];
  return { p: withOffsets(p, offsets), low: withOffsets(low, offsets), high: withOffsets(high, offsets), offsets };
}

function exclusionOf(facts: RouteFacts, { effect, barred, kind }: DecisionInput): string | null {
  if (effect.rejected !== null) return `a rule refuses the checkout: ${effect.rejected}`;
  if (facts.off !== null) return facts.off;
  const rule = effect.excluded.find(({ route }) => route === facts.id);
  if (rule) return `excluded by rule ${rule.rule}`;
  if (Object.hasOwn(barred, facts.id)) return barred[facts.id]!;
  if (kind !== null && facts.kind !== kind) return `the buyer chose to pay by ${kind}`;
  return null;
}

function verdictOf(contestants: DecisionCandidate[], input: DecisionInput, policy: Policy): Verdict {
  preferKind(contestants, input);
  const probed = probeOf(contestants, input, policy);
  const standby = contestants.filter(({ eligible, health }) => eligible && health === 'standby');
  const usable = contestants.some(isWorking);
  if (usable) for (const contestant of standby) exclude(contestant, contestant.words);
  if (probed) return { mode: 'probe', chosen: probed, greedy: bestOf(contestants, policy) };
  if (usable) return ordered(contestants, input, policy);
  // A payment then takes a route in standby. If there is none, a quote takes an unavailable route, because the route is
  // chosen again when the buyer starts.
  const pool = standby.length > 0 || input.purpose === 'attempt' ? standby : allowedUnavailable(contestants, input);
  const chosen = byValue(pool, policy)[0];
  return { mode: chosen ? 'panic' : 'none', chosen, greedy: chosen };
}

/** Routes that are unavailable now, but not excluded for another reason. A quote takes one of them if no other route is left. */
function allowedUnavailable(contestants: readonly DecisionCandidate[], input: DecisionInput): DecisionCandidate[] {
  const off = contestants.filter((one) => one.off !== null && exclusionOf({ ...one, off: null }, input) === null);
  const preferred = off.filter(({ kind }) => kind === input.preferredKind);
  return preferred.length > 0 ? preferred : off;
}

/** Excludes routes of other kinds if the merchant's preferred kind has an eligible route that is not in standby. */
function preferKind(contestants: DecisionCandidate[], { preferredKind, kind }: DecisionInput): void {
  if (preferredKind === null || kind !== null) return;
  const isPreferred = (one: DecisionCandidate) => one.kind === preferredKind;
  if (!contestants.some((one) => isWorking(one) && isPreferred(one))) return;
  for (const contestant of contestants) {
    if (contestant.eligible && !isPreferred(contestant)) exclude(contestant, `the merchant prefers ${preferredKind}`);
  }
}

/** A route in standby whose probe is due. The probe risks a buyer's payment, so the payment must be small. */
function probeOf(
  contestants: readonly DecisionCandidate[],
  input: DecisionInput,
  policy: Policy,
): DecisionCandidate | undefined {
  const { draw, effect, amount } = input;
  if (!draw?.mayProbe || !effect.explore || (amount ?? 0) > policy.exploration.maxAmount) return undefined;
  return byValue(contestants, policy).find(
    (one) => one.eligible && one.probe && wouldBeFirst(one, contestants, effect),
  );
}

/** True if an ordering by rules would choose the route if it were not in standby. */
function wouldBeFirst(
  { id }: DecisionCandidate,
  contestants: readonly DecisionCandidate[],
  { ordering }: RuleEffect,
): boolean {
  if (ordering.type !== 'priority') return routesIn(ordering)?.includes(id) ?? true;
  const working = contestants.filter(isWorking).map((one) => one.id);
  return ordering.routes.find((route) => route === id || working.includes(route)) === id;
}

/** The choice by the rules, or without an ordering by rules the smart choice. At least one route works. */
function ordered(contestants: DecisionCandidate[], input: DecisionInput, policy: Policy): Verdict {
  const { ordering } = input.effect;
  const eligible = contestants.filter((contestant) => contestant.eligible);
  if (ordering.type === 'priority' || ordering.type === 'split') {
    const [chosen] = routesIn(ordering)!.flatMap((name) => eligible.filter(({ id }) => id === name));
    if (chosen) return { mode: 'rule', chosen, greedy: bestOf(eligible, policy), rule: ordering.rule };
  }
  if (ordering.type === 'prefer' && eligible.some(({ id }) => ordering.routes.includes(id))) {
    const { routes, rule } = ordering;
    for (const one of eligible) if (!routes.includes(one.id)) exclude(one, `rule ${rule} prefers other routes`);
    return { ...smart(contestants, input, policy), rule };
  }
  return smart(contestants, input, policy);
}

/** The choice by expected value and random draws. At least one route works. */
function smart(contestants: DecisionCandidate[], input: DecisionInput, policy: Policy): Verdict {
  const { draw, effect, amount } = input;
  const best = bestOf(contestants, policy);
  if (!draw) return { mode: 'exploit', chosen: best, greedy: best };
  const choice = choose(contestants, {
    policy,
    draws: drawsOf(draw.seed, draw.sessionId, draw.attempt),
    amount: amount ?? 0,
    explore: effect.explore,
    now: input.at,
    tokens: draw.tokens,
  })!;
  const chosen = contestants.find(({ id }) => id === choice.chosen);
  return { mode: choice.mode, chosen, greedy: best, choice };
}

function exclude(contestant: DecisionCandidate, words: string): void {
  contestant.eligible = false;
  contestant.excluded = words;
}

function bestOf(contestants: readonly DecisionCandidate[], policy: Policy): DecisionCandidate | undefined {
  return byValue(contestants, policy).find(({ eligible }) => eligible);
}

/** Rounds to six decimals, so that JSON does not change the number. */
function rounded(value: number): number {
  return Math.round(value * DECIMALS) / DECIMALS;
}

function describe(
  contestants: readonly DecisionCandidate[],
  verdict: Verdict,
  input: DecisionInput,
  policy: Policy,
): DecisionOutput {
  const { mode, chosen, greedy, choice } = verdict;
  const tokensAfter = choice?.tokensAfter ?? input.draw?.tokens;
  const indexes = new Map(choice?.standings.map(({ id, index }) => [id, index]));
  const others = byValue(contestants, policy).filter((one) => one.eligible && one !== chosen);
  const ranked = chosen ? [chosen, ...others] : others;
  const second = others[0];
  return {
    mode,
    chosen: chosen?.id ?? null,
    greedy: greedy?.id ?? null,
    reason: reasonOf(verdict, second, input),
    candidates: contestants.map((one) => ({
      route: one.id,
      score: publishedScoreOf(one, policy),
      cost: one.cost,
      value: rounded(meanIndexOf(one, policy)),
      index: indexes.has(one.id) && one.eligible ? rounded(indexes.get(one.id)!) : null,
      rank: ranked.includes(one) ? ranked.indexOf(one) + 1 : null,
      excluded: one === chosen ? null : one.excluded,
    })),
    gapTop2: chosen && second ? rounded(meanIndexOf(chosen, policy) - meanIndexOf(second, policy)) : null,
    exploreLoss: rounded(choice?.loss ?? 0),
    tokensAfter: tokensAfter === undefined ? null : rounded(tokensAfter),
  };
}
