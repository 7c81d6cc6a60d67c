import type { DecidedCandidate, DecisionInput, DecisionOutput } from './decision.ts';
import { NO_EFFECT } from './evaluate-rules.ts';

/** A candidate without the names of its fields, in their order. */
type Packed = [
  route: string,
  score: number,
  cost: number,
  value: number,
  index: number | null,
  rank: number | null,
  excluded: string | null,
];

interface Stored {
  /** The effect of no rule is left out. */
  input: Omit<DecisionInput, 'effect'> & { effect: DecisionInput['effect'] | null };
  output: Omit<DecisionOutput, 'candidates'> & { candidates: Packed[] };
}

/** A decision as text to keep: there is one for each payment, and most of it would be names of fields. */
export function writeDecision(input: DecisionInput, output: DecisionOutput): string {
  const stored: Stored = {
    input: { ...input, effect: input.effect === NO_EFFECT ? null : input.effect },
    output: {
      ...output,
      candidates: output.candidates.map(({ route, score, cost, value, index, rank, excluded }) => [
        route,
        score,
        cost,
        value,
        index,
        rank,
        excluded,
      ]),
    },
  };
  return JSON.stringify(stored);
}

/** What was written, with its fields in the same order: as JSON both are the same bytes. */
export function readDecision(text: string): { input: DecisionInput; output: DecisionOutput } {
  const { input, output } = JSON.parse(text) as Stored;
  const candidates = output.candidates.map(([route, score, cost, value, index, rank, excluded]): DecidedCandidate => ({
    route,
    score,
    cost,
    value,
    index,
    rank,
    excluded,
  }));
  return { input: { ...input, effect: input.effect ?? NO_EFFECT }, output: { ...output, candidates } };
}
