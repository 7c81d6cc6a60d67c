import { setTimeout as sleep } from 'node:timers/promises';
import { openSqlite } from '../../src/store/sqlite.ts';
import { serveWith } from './server-with.ts';

// The planted fault: the same service over a store that answers first and commits afterwards.
const LATE_MS = 40;

await serveWith({
  async openStore(options) {
    const store = await openSqlite(options);
    return {
      ...store,
      async commit(changes) {
        void sleep(LATE_MS).then(() => store.commit(changes));
        return { done: true };
      },
    };
  },
});
