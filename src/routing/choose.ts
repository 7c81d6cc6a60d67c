import type { RouteHealth } from '../domain/route.ts';
import type { Draws } from './draw.ts';
import { indexOf, scoreOf, valueOf } from './objective.ts';
import type { Policy } from './policy.ts';

/** A route as one decision sees it. Kept with the decision: choosing again from the same numbers gives the same choice. */
export interface Candidate {
  id: string;
  /** Whether it may be chosen at all: rules, health and the buyer's wish have been asked. */
  eligible: boolean;
  health: RouteHealth;
  /** Expected success rate, and how many outcomes it rests on. */
  p: number;
  n: number;
  /** Fraction of the amount, see `costOf`. */
  cost: number;
  etaMinutes: number;
  /** Milliseconds since 1970 when an attempt over it was last seen, or null. */
  triedAt: number | null;
}

export interface ChooseOptions {
  policy: Policy;
  draws: Draws;
  /** Cents. */
  amount: number;
  /** Whether rules and the session permit another route than the best known. */
  explore: boolean;
  /** Exploration budget of this instance before the decision, as a share of a ticket. */
  tokens: number;
}

/** How one candidate fared, in the order of the candidates. */
export interface Standing {
  id: string;
  eligible: boolean;
  score: number;
  /** Expected value less the penalty of its health, as a fraction of the amount; the score is made of it. */
  value: number;
  /** The same of the success rate that was drawn: what the winner was chosen by. */
  index: number;
}

export type ChoiceMode = 'exploit' | 'explore' | 'floor';

export interface Choice {
  mode: ChoiceMode;
  chosen: string;
  greedy: string;
  /** What the choice gives up against the greedy one, as a fraction of the amount: 0 or more. */
  loss: number;
  tokensAfter: number;
  standings: Standing[];
}

/**
 * The eligible candidate of the highest value, no draw in it; the smaller id where two are equal. Routes in standby are
 * the last resort, whatever their value.
 */
export function greedy<T extends Candidate>(candidates: readonly T[], policy: Policy): T | undefined {
  const isOpen = openAmong(candidates);
  let best: T | undefined;
  let bestValue = Number.NEGATIVE_INFINITY;
  for (const candidate of candidates) {
    if (!isOpen(candidate)) continue;
    const value = meanIndexOf(candidate, policy);
    if (best && (value < bestValue || (value === bestValue && candidate.id > best.id))) continue;
    best = candidate;
    bestValue = value;
  }
  return best;
}

/** The published score of a candidate, 0 to 100. */
export function publishedScoreOf(candidate: Candidate, policy: Policy): number {
  return scoreOf(meanIndexOf(candidate, policy), policy.objective);
}

/**
 * Chooses one of the eligible candidates, or undefined where there is none. The best known is taken unless the draws
 * favour another and the budget can pay for the difference, or this decision is the one in `floorEvery` that looks
 * where nobody has looked for longest.
 */
export function choose(candidates: readonly Candidate[], options: ChooseOptions): Choice | undefined {
  const { policy, draws, tokens } = options;
  const { exploration } = policy;
  const best = greedy(candidates, policy);
  if (!best) return undefined;
  const earned = Math.min(exploration.budgetCap, tokens + exploration.budgetPerDecision);
  const standings = candidates.map((candidate) => standingOf(candidate, options));
  const mayExplore = options.explore && options.amount <= exploration.maxAmount;
  const exploit: Choice = {
    mode: 'exploit',
    chosen: best.id,
    greedy: best.id,
    loss: 0,
    tokensAfter: earned,
    standings,
  };
  if (!mayExplore) return exploit;
  const bestValue = meanIndexOf(best, policy);
  const lossOf = ({ value }: Standing) => Math.max(0, bestValue - value);
  if (draws.uniform < 1 / exploration.floorEvery) {
    const chosen = leastRecentlyTried(candidates, standings);
    if (chosen) return { ...exploit, mode: 'floor', chosen: chosen.id, loss: lossOf(chosen) };
  }
  const winner = highestIndex(candidates, standings);
  if (!winner || winner.id === best.id || lossOf(winner) > earned) return exploit;
  const loss = lossOf(winner);
  return { ...exploit, mode: 'explore', chosen: winner.id, loss, tokensAfter: earned - loss };
}

function meanIndexOf({ p, cost, etaMinutes, health }: Candidate, { objective }: Policy): number {
  return indexOf(valueOf(p, cost, etaMinutes, objective), health, objective);
}

function standingOf(candidate: Candidate, { policy, draws }: ChooseOptions): Standing {
  const { id, eligible, p, n, cost, etaMinutes, health } = candidate;
  const value = meanIndexOf(candidate, policy);
  const spread = Math.sqrt((p * (1 - p)) / (policy.exploration.sharpening * n));
  const drawn = Math.min(1, Math.max(0, p + draws.gaussianOf(id) * spread));
  const index = indexOf(valueOf(drawn, cost, etaMinutes, policy.objective), health, policy.objective);
  return { id, eligible, score: scoreOf(value, policy.objective), value, index };
}

/** Which candidates there are to choose from: those that are eligible, of them those in standby only for want of others. */
function openAmong(candidates: readonly Candidate[]): (candidate: Candidate) => boolean {
  const isWorking = ({ eligible, health }: Candidate) => eligible && health !== 'standby';
  return candidates.some(isWorking) ? isWorking : ({ eligible }) => eligible;
}

function highestIndex(candidates: readonly Candidate[], standings: readonly Standing[]): Standing | undefined {
  const isOpen = openAmong(candidates);
  let best: Standing | undefined;
  for (const [i, standing] of standings.entries()) {
    if (!isOpen(candidates[i]!)) continue;
    if (!best || standing.index > best.index || (standing.index === best.index && isBefore(standing, best))) {
      best = standing;
    }
  }
  return best;
}

function isBefore(a: Standing, b: Standing): boolean {
  return a.score > b.score || (a.score === b.score && a.id < b.id);
}

function leastRecentlyTried(candidates: readonly Candidate[], standings: readonly Standing[]): Standing | undefined {
  let chosen: number | undefined;
  for (const [i, candidate] of candidates.entries()) {
    if (!candidate.eligible || candidate.health === 'standby') continue;
    const other = chosen === undefined ? undefined : candidates[chosen]!;
    const [mine, others] = [candidate.triedAt ?? 0, other?.triedAt ?? 0];
    if (!other || mine < others || (mine === others && candidate.id < other.id)) chosen = i;
  }
  return chosen === undefined ? undefined : standings[chosen];
}
