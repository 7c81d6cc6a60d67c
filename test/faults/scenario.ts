/** Result of a run; `problems` is empty if the service behaved correctly. */
export interface FaultReport {
  cycles: number;
  /** Summary of the acknowledgements under the fault: "1204 sessions, 311 of them paid". */
  load: string;
  problems: string[];
}

/** One kind of fault. The service must survive it; with an injected fault, the service must fail the scenario. */
export interface Scenario {
  name: string;
  /** Number of cycles in `npm test`. */
  cycles: number;
  /** Short description of the injected fault. */
  injected: string;
  /** Number of cycles that detect the injected fault. */
  injectedCycles: number;
  /** The reason why this machine cannot run the scenario; undefined if it can. */
  unavailable?(): Promise<string | undefined>;
  run(options: { cycles: number; injected: boolean }): Promise<FaultReport>;
}

/** The problems of a run. Only the first ones are listed, because a fault causes the same problem many times. */
export interface RunProblems {
  add(...problems: string[]): void;
  list(): string[];
}

const MOST_LISTED = 20;

export function createProblems(): RunProblems {
  const problems: string[] = [];
  return {
    add: (...added) => void problems.push(...added),
    list: () =>
      problems.length > MOST_LISTED
        ? [...problems.slice(0, MOST_LISTED), `and ${problems.length - MOST_LISTED} more`]
        : problems,
  };
}
