import { runWithoutOrigin } from '../telemetry/origin.ts';
import type { Change, CommitListener, CommitResult, Store } from './store.ts';

/** Creates `commit` and `onCommit` of a store from the function that queues a change set. */
export function announcedCommits(
  queue: (changes: Change[]) => Promise<CommitResult>,
): Pick<Store, 'commit' | 'onCommit'> {
  const listeners: CommitListener[] = [];
  return {
    commit(changes) {
      const committed = queue(changes);
      // The listeners do work of their own, so it does not belong to the request of the commit.
      runWithoutOrigin(() => {
        for (const listener of listeners) listener(changes, committed);
      });
      return committed;
    },
    onCommit(listener) {
      listeners.push(listener);
    },
  };
}
