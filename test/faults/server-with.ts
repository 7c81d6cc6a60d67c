import { pino } from 'pino';
import { readConfig } from '../../src/config.ts';
import { createRandomBytes, systemClock } from '../../src/runtime.ts';
import { startService } from '../../src/service.ts';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';

/** Runs the service in this process with some methods of its store replaced. */
export async function serveOver(replace: (store: Store) => Partial<Store>): Promise<void> {
  await startService(readConfig(process.env), {
    clock: systemClock,
    randomBytes: createRandomBytes(),
    log: pino({ level: 'silent' }),
    background: true,
    onFatal: () => process.exit(1),
    async openStore(settings, options) {
      const store = await openStore(settings, options);
      return { ...store, ...replace(store) };
    },
  });
}
