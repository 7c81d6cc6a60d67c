import { pino } from 'pino';
import { readConfig } from '../../src/config.ts';
import { createRandomBytes } from '../../src/runtime.ts';
import { type Surroundings, startService } from '../../src/service.ts';
import { openStore } from '../../src/store/open.ts';

/** Runs the service in this process with some of its surroundings changed. */
export async function serveWith(changed: Partial<Surroundings>): Promise<void> {
  await startService(readConfig(process.env), {
    clock: { now: () => Date.now() },
    randomBytes: createRandomBytes(),
    log: pino({ level: 'silent' }),
    background: true,
    onFatal: () => process.exit(1),
    openStore,
    ...changed,
  });
}
