import type { RouteHealth } from '../domain/route.ts';
import type { Draws } from './draw.ts';
import { indexOf, scoreOf, valueOf } from './objective.ts';
import type { Policy } from './routing-policy.ts';

/** A route in one decision. It is stored with the decision, so that a replay makes the same choice. */
export interface Candidate {
  id: string;
  /** False if rules, health or the buyer's choice exclude it. */
  eligible: boolean;
  health: RouteHealth;
  /** True if an earlier payment of the session failed on the route. */
  failed: boolean;
  /** Expected success rate; `n` is the number of outcomes behind it. */
  p: number;
  n: number;
  /** Cost as a fraction of the amount; see `costOf`. */
  cost: number;
  etaMinutes: number;
  /** Time of the last handoff or outcome in ms since 1970, or null. It may be the end of the current bucket. */
  triedAt: number | null;
}

export interface ChooseOptions {
  policy: Policy;
  draws: Draws;
  /** Cents. */
  amount: number;
  /** True if rules and the session allow exploring. */
  explore: boolean;
  /** Time of the decision, ms since 1970. */
  now: number;
  /** Exploration budget of this instance before the decision, in multiples of one payment's amount. */
  tokens: number;
}

/** Scores of one candidate in a decision. */
interface Standing {
  id: string;
  eligible: boolean;
  score: number;
  /** Expected value less the penalties, as a fraction of the amount. The score is derived from this value. */
  value: number;
  /** Like `value`, but computed from a randomly drawn success rate. Exploration takes the candidate with the highest index. */
  index: number;
}

/** Result of a choice among candidates. */
export interface Choice {
  /** `exploit`: best expected value. `explore`: highest drawn index. `floor`: least recently tried candidate, in a small share of decisions. */
  mode: 'exploit' | 'explore' | 'floor';
  chosen: string;
  /** The candidate with the best expected value. */
  greedy: string;
  /** Loss of expected value against the greedy choice, as a fraction of the amount: 0 or more. */
  loss: number;
  tokensAfter: number;
  standings: Standing[];
}

/** The candidates sorted by expected value, highest first. Candidates with equal values are in the order of their ids. */
export function byValue<T extends Candidate>(candidates: readonly T[], policy: Policy): T[] {
  const values = new Map(candidates.map((candidate) => [candidate, meanIndexOf(candidate, policy)]));
  return candidates.toSorted((a, b) => values.get(b)! - values.get(a)! || (a.id < b.id ? -1 : 1));
}

/** Score of a candidate from 0 to 100, as the API shows it. */
export function publishedScoreOf(candidate: Candidate, policy: Policy): number {
  return scoreOf(meanIndexOf(candidate, policy), policy.objective);
}

/**
 * Chooses one of the eligible candidates; undefined if there is none. The choice is the candidate with the best expected value,
 * unless the random draws favour another one and the exploration budget covers the expected loss. One decision in `floorEvery`
 * takes the least recently tried candidate, unless every candidate was tried in the last `floorAfterSeconds`. Both need a
 * candidate that was tried in the last `busyWithinSeconds`, or none that was ever tried.
 */
export function choose(candidates: readonly Candidate[], options: ChooseOptions): Choice | undefined {
  const { policy, draws, tokens, now } = options;
  const { exploration } = policy;
  const standings = candidates.map((candidate) => standingOf(candidate, options));
  const working = standings.filter((_, i) => isWorking(candidates[i]!));
  const open = working.length > 0 ? working : standings.filter(({ eligible }) => eligible);
  const best = firstOf(open, (a, b) => b.value - a.value);
  if (!best) return undefined;
  const earned = Math.min(exploration.budgetCap, tokens + exploration.budgetPerDecision);
  const mayExplore = options.explore && options.amount <= exploration.maxAmount;
  const greedy = best.id;
  const exploit: Choice = { mode: 'exploit', chosen: greedy, greedy, loss: 0, tokensAfter: earned, standings };
  const lastTried = Math.max(...candidates.map(({ triedAt }) => triedAt ?? 0));
  // Before the first payment, all routes are equally good guesses.
  const isBusy = lastTried === 0 || now - lastTried <= exploration.busyWithinSeconds * 1000;
  if (!mayExplore || !isBusy) return exploit;
  const lossOf = ({ value }: Standing) => Math.max(0, best.value - value);
  if (draws.uniform < 1 / exploration.floorEvery) {
    const oldest = firstOf(candidates.filter(isWorking), (a, b) => (a.triedAt ?? 0) - (b.triedAt ?? 0));
    // After the clock was set back, times in the future are not recent.
    if (oldest && Math.abs(now - (oldest.triedAt ?? 0)) >= exploration.floorAfterSeconds * 1000) {
      const chosen = standings.find(({ id }) => id === oldest.id)!;
      return { ...exploit, mode: 'floor', chosen: chosen.id, loss: lossOf(chosen) };
    }
  }
  const winner = firstOf(open, (a, b) => b.index - a.index || b.score - a.score)!;
  const loss = lossOf(winner);
  if (winner === best || loss > earned) return exploit;
  return { ...exploit, mode: 'explore', chosen: winner.id, loss, tokensAfter: earned - loss };
}

/** Expected value less the penalties for the candidate's health and earlier failure, as a fraction of the amount. */
export function meanIndexOf(candidate: Candidate, { objective }: Policy): number {
  return indexOf(valueOf(candidate.p, candidate.cost, candidate.etaMinutes, objective), candidate, objective);
}

function standingOf(candidate: Candidate, { policy, draws }: ChooseOptions): Standing {
  const { id, eligible, p, n, cost, etaMinutes } = candidate;
  const value = meanIndexOf(candidate, policy);
  const spread = Math.sqrt((p * (1 - p)) / (policy.exploration.sharpening * n));
  const drawn = Math.min(1, Math.max(0, p + draws.gaussianOf(id) * spread));
  const index = indexOf(valueOf(drawn, cost, etaMinutes, policy.objective), candidate, policy.objective);
  return { id, eligible, score: scoreOf(value, policy.objective), value, index };
}

/** True for an eligible candidate that is not in standby. Without one, candidates in standby can be chosen. */
export function isWorking({ eligible, health }: Candidate): boolean {
  return eligible && health !== 'standby';
}

/** The first item in the order of `compare`, with equal items in the order of their ids; undefined if there is none. */
function firstOf<T extends { id: string }>(items: readonly T[], compare: (a: T, b: T) => number): T | undefined {
  let first = items[0];
  for (const item of items) if ((compare(item, first!) || (item.id < first!.id ? -1 : 1)) < 0) first = item;
  return first;
}
