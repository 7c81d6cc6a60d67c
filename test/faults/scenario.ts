/** What a fault did: `problems` is empty where every promise was kept. */
export interface FaultReport {
  cycles: number;
  /** What was acknowledged under the fault, in a few words: "1204 sessions, 311 of them paid". */
  load: string;
  problems: string[];
}

/** One kind of fault, survived in cycles; with its injected fault it must be caught. */
export interface Scenario {
  name: string;
  /** Cycles that belong to every run of the tests. */
  cycles: number;
  /** What the injected fault is, in a few words. */
  injected: string;
  /** Cycles that suffice for the injected fault to be caught. */
  injectedCycles: number;
  /** Why it cannot be run on this machine; undefined where it can. */
  unavailable?(): Promise<string | undefined>;
  run(options: { cycles: number; injected: boolean }): Promise<FaultReport>;
}
