import { setImmediate as turn } from 'node:timers/promises';

/**
 * Runs tasks one at a time, in the order in which they arrive, with a turn of the event loop between two of them; a task that
 * fails holds up no other.
 */
export function createTurns(): <Result>(task: () => Promise<Result>) => Promise<Result> {
  let last: Promise<unknown> = Promise.resolve();
  return (task) => {
    const result = last.then(task);
    last = result.catch(() => undefined).then(() => turn());
    return result;
  };
}
