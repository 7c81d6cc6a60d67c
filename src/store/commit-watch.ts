import { currentOrigin } from '../telemetry/origin.ts';
import { type Tracing, traced } from '../telemetry/tracing.ts';
import type { Change, CommitResult, Conflict, Store } from './store.ts';

/** Receiver of the measurements of commits, such as the metrics of the service. */
export interface CommitObserver {
  /** `seconds`: time from the call until the commit is durable, including the wait in the queue. */
  commit(changes: readonly Change[], outcome: 'done' | 'failed' | Conflict, seconds: number): void;
  /** Number of change sets in one transaction. */
  batch(sets: number): void;
}

/** Called with the change sets of each transaction when it is durable, before the callers of `commit` continue. */
export type OnBatch = (sets: readonly unknown[]) => void;

/** Result of {@link watchCommits}: a callback for the database driver, and a wrapper of the opened store. */
export interface CommitWatch {
  onBatch: OnBatch;
  /** Returns the store with a `commit` that is measured and traced. */
  observed<Opened extends Store>(store: Opened): Opened;
}

/** Measures the commits of a store, and traces each commit that is part of a trace. */
export function watchCommits(
  database: 'sqlite' | 'postgresql',
  tracing: Tracing | undefined,
  observer: CommitObserver | undefined,
): CommitWatch {
  async function measured(store: Store, changes: Change[]): Promise<CommitResult> {
    const began = performance.now();
    let outcome: 'done' | 'failed' | Conflict = 'failed';
    try {
      const result = await store.commit(changes);
      outcome = result.done ? 'done' : result.conflict;
      return result;
    } finally {
      observer?.commit(changes, outcome, (performance.now() - began) / 1000);
    }
  }

  return {
    onBatch: (sets) => observer?.batch(sets.length),
    observed: (store) => ({
      ...store,
      commit(changes) {
        // A commit outside a trace, such as one of a worker, starts no new trace.
        if (!tracing || currentOrigin().traceParent === null) return measured(store, changes);
        const attributes = { 'db.system.name': database, 'tillway.commit.changes': changes.length };
        return traced(tracing, { name: 'commit', kind: 'client', attributes }, async (span) => {
          const result = await measured(store, changes);
          if (!result.done) span?.set({ 'tillway.commit.conflict': result.conflict });
          return result;
        });
      },
    }),
  };
}
