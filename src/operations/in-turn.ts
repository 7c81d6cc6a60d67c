import { setImmediate as turn } from 'node:timers/promises';

/** A queue that runs one task per turn of the event loop, in order of arrival. A failed task does not stop the queue. */
export function createTurns(): <Result>(task: () => Promise<Result>) => Promise<Result> {
  let last: Promise<unknown> = Promise.resolve();
  return (task) => {
    const result = last.then(task);
    last = result.catch(() => undefined).then(() => turn());
    return result;
  };
}
