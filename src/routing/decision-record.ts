import type { DecidedCandidate, DecisionInput, DecisionOutput } from './decision.ts';
import { NO_EFFECT, type RuleEffect } from './evaluate-rules.ts';

const FIELDS = ['route', 'score', 'cost', 'value', 'index', 'rank', 'excluded'] as const;

/** The values of a candidate, in the order of `FIELDS`. */
type Packed = DecidedCandidate[(typeof FIELDS)[number]][];

/** Fields that decisions of the algorithm sdts/1 do not have. */
type Newer = 'offsets' | 'failed';

interface Stored {
  /** `effect` is null for `NO_EFFECT`. */
  input: Omit<DecisionInput, 'effect' | Newer> & Partial<Pick<DecisionInput, Newer>> & { effect: RuleEffect | null };
  output: Omit<DecisionOutput, 'candidates'> & { candidates: Packed[] };
}

/** Encodes a decision for storage. Each payment stores a decision, so the text leaves out repeated field names to save space. */
export function writeDecision(input: DecisionInput, output: DecisionOutput): string {
  const stored: Stored = {
    input: { ...input, effect: input.effect === NO_EFFECT ? null : input.effect },
    output: { ...output, candidates: output.candidates.map((candidate) => FIELDS.map((name) => candidate[name])) },
  };
  return JSON.stringify(stored);
}

/** Reads a stored decision. The fields have their original order, so that the JSON of a replay can be compared byte by byte. */
export function readDecision(text: string): { input: DecisionInput; output: DecisionOutput } {
  const { input, output } = JSON.parse(text) as Stored;
  const candidates = output.candidates.map((values) =>
    Object.fromEntries(FIELDS.map((name, index) => [name, values[index]])),
  ) as unknown as DecidedCandidate[];
  const { offsets = {}, failed = [], effect } = input;
  return { input: { ...input, offsets, failed, effect: effect ?? NO_EFFECT }, output: { ...output, candidates } };
}
