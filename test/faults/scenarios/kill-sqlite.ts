import { createTestDatabase } from '../../support/database.ts';
import { startRig } from '../instances.ts';
import type { Scenario } from '../scenario.ts';
import { EARLY_ANSWER, surviveKills } from './kill-instance.ts';

/** The one instance that there can be is killed, and started again. */
export const scenario: Scenario = {
  name: 'the one process of SQLite killed',
  cycles: 4,
  injected: 'a store that answers before it commits',
  injectedCycles: 1,
  async run({ cycles, injected }) {
    await using database = await createTestDatabase('sqlite');
    await using rig = await startRig({
      databaseUrl: database.url,
      ways: [database.url],
      ...(injected && { entry: EARLY_ANSWER }),
    });
    return await surviveKills(rig, cycles);
  },
};
