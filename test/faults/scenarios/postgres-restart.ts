import { setTimeout as sleep } from 'node:timers/promises';
import { startPostgres } from '../../support/postgres.ts';
import { startRig } from '../instances.ts';
import { concluded, startLoad, untilAcknowledged, untilBusy } from '../load.ts';
import type { Scenario } from '../scenario.ts';
import { EARLY_ANSWER } from './kill-instance.ts';

const CLIENTS = 12;
const LIFE_SPREAD_MS = 300;
const LONGEST_OUTAGE_MS = 500;

/** The database ends as in a crash and comes back, while two instances are at work. */
export const scenario: Scenario = {
  name: 'PostgreSQL crashed and restarted',
  cycles: 1,
  injected: 'a store that answers before it commits',
  injectedCycles: 1,
  async run({ cycles, injected }) {
    await using postgres = await startPostgres();
    const url = postgres.url(await postgres.createDatabase());
    await using rig = await startRig({
      databaseUrl: url,
      ways: [url, url],
      ...(injected && { entry: EARLY_ANSWER }),
    });
    const load = startLoad(rig, { clients: CLIENTS, mayBeUnavailable: true });
    for (let cycle = 0; cycle < cycles; cycle++) {
      await untilBusy(rig, load);
      await sleep(Math.random() * LIFE_SPREAD_MS);
      const before = rig.instances.map((instance) => load.answers(instance).unavailable);
      await untilAcknowledged(rig.instances[0]!, load);
      await postgres.restart('immediate', Math.random() * LONGEST_OUTAGE_MS);
      await untilBusy(rig, load);
      for (const [index, instance] of rig.instances.entries()) {
        if (load.answers(instance).unavailable === before[index]) load.problems.add('nobody noticed the restart');
      }
    }
    return await concluded(rig, load, cycles);
  },
};
