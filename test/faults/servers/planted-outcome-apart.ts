import { setTimeout as sleep } from 'node:timers/promises';
import { openStore } from '../../../src/store/open.ts';
import { serveWith } from '../server-with.ts';

// The planted fault: what a payment teaches about its route is written by a transaction of its own, after the payment's.
const LATER_MS = 30;

await serveWith({
  async openStore(database, options) {
    const store = await openStore(database, options);
    return {
      ...store,
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
  },
});
