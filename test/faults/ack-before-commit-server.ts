import { setTimeout as sleep } from 'node:timers/promises';
import { openStore } from '../../src/store/open.ts';
import { serveWith } from './server-with.ts';

// The planted fault: the same service over a store that answers first and commits afterwards.
const LATE_MS = 40;

await serveWith({
  async openStore(database, options) {
    const store = await openStore(database, options);
    return {
      ...store,
      async commit(changes) {
        void sleep(LATE_MS).then(() => store.commit(changes));
        return { done: true };
      },
    };
  },
});
