import type { DecisionCandidate, DecisionInput, Verdict } from './decision.ts';

/** The reason of a decision in one sentence, with the numbers that it rests on. */
export function reasonOf(verdict: Verdict, second: DecisionCandidate | undefined, input: DecisionInput): string {
  const { mode, chosen, greedy, rule, choice } = verdict;
  if (input.effect.rejected !== null) return `a rule refuses this checkout: ${input.effect.rejected}`;
  if (mode === 'none' || !chosen) return 'no route can take this payment';
  switch (mode) {
    case 'probe':
      return `${chosen.id} is in standby, and this payment tests whether it is back`;
    case 'panic':
      return chosen.off === null
        ? `all routes are in standby, and ${chosen.id} is the best of them`
        : `no route can take a payment now; ${chosen.id} is what is quoted (${chosen.off})`;
    case 'rule':
      return `${chosen.id} comes first by rule ${rule}`;
    case 'floor':
      return `${chosen.id} was tried least recently, and one decision in many looks there`;
    case 'explore':
      return `${chosen.id} instead of ${greedy!.id}, to learn how it does: it gives up ${percent(choice!.loss)} of the amount in expected value`;
    case 'exploit':
      return best(chosen, second, rule) + unavailable(chosen, input);
  }
}

function best(chosen: DecisionCandidate, second: DecisionCandidate | undefined, rule: string | undefined): string {
  const among = rule === undefined ? '' : ` among those that rule ${rule} prefers`;
  if (!second) return `${chosen.id} is the only route that can take it${among}`;
  const terms = [
    `expected success ${percent(chosen.p)} against ${percent(second.p)}`,
    `cost ${percent(chosen.cost)} against ${percent(second.cost)}`,
    ...(chosen.health === second.health ? [] : [`${chosen.health} against ${second.health}`]),
  ];
  return `${chosen.id} over ${second.id}${among}: ${terms.join(', ')}`;
}

function unavailable(chosen: DecisionCandidate, { preferredKind, kind }: DecisionInput): string {
  if (preferredKind === null || kind !== null || chosen.kind === preferredKind) return '';
  return `; the preferred kind ${preferredKind} has no route that can take it`;
}

/** A fraction as a percentage, such as `91.2 %`. */
function percent(fraction: number): string {
  return `${Math.round(fraction * 10_000) / 100} %`;
}
