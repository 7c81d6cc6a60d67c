import { setTimeout as sleep } from 'node:timers/promises';
import { GatewayError } from '../../../src/domain/gateway-error.ts';
import { serveOver } from '../server-with.ts';

// The injected fault: the same service over a store that waits until the database is available again, however long that takes.
const PAUSE_MS = 100;

await serveOver((store) => {
  return {
    commit: (changes) => patiently(() => store.commit(changes)),
    session: (id) => patiently(() => store.session(id)),
    ping: () => patiently(() => store.ping()),
  };
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
