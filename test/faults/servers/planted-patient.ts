import { setTimeout as sleep } from 'node:timers/promises';
import { GatewayError } from '../../../src/domain/errors.ts';
import { openStore } from '../../../src/store/open.ts';
import { serveWith } from '../server-with.ts';

// The planted fault: the same service over a store that waits until the database is back, however long that takes.
const PAUSE_MS = 100;

await serveWith({
  async openStore(database, options) {
    const store = await openStore(database, options);
    return {
      ...store,
      commit: (changes) => patiently(() => store.commit(changes)),
      session: (id) => patiently(() => store.session(id)),
      ping: () => patiently(() => store.ping()),
    };
  },
});

async function patiently<Result>(attempt: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof GatewayError) || error.code !== 'unavailable') throw error;
      await sleep(PAUSE_MS);
    }
  }
}
