import { setTimeout as sleep } from 'node:timers/promises';
import { serveOver } from '../server-with.ts';

// The injected fault: what a payment teaches about its route is written by a transaction of its own, after the payment's.
const LATER_MS = 30;

await serveOver((store) => {
  return {
    async commit(changes) {
      const outcomes = changes.filter(({ type }) => type === 'outcome_recorded');
      const result = await store.commit(changes.filter((change) => !outcomes.includes(change)));
      if (result.done && outcomes.length > 0) {
        await sleep(LATER_MS);
        await store.commit(outcomes);
      }
      return result;
    },
  };
});
