import { setTimeout as sleep } from 'node:timers/promises';
import { createTestDatabase } from '../../support/database.ts';
import { type Rig, startRig } from '../instances.ts';
import { concluded, startLoad, untilAcknowledged, untilAnswered, untilBusy } from '../load.ts';
import type { FaultReport, Scenario } from '../scenario.ts';

const CLIENTS = 12;
const LIFE_SPREAD_MS = 300;

export const EARLY_ANSWER = new URL('../servers/faulty-early-answer.ts', import.meta.url);

/** One of two instances is killed, and started again, while the other goes on. */
export const scenario: Scenario = {
  name: 'one of two instances killed',
  cycles: 1,
  injected: 'a store that answers before it commits',
  injectedCycles: 1,
  async run({ cycles, injected }) {
    await using database = await createTestDatabase('postgres');
    await using rig = await startRig({
      databaseUrl: database.url,
      ways: [database.url, database.url],
      ...(injected && { entry: EARLY_ANSWER }),
    });
    return await surviveKills(rig, cycles);
  },
};

/**
 * Kills an instance chosen at random with SIGKILL, some time or other, just after it has acknowledged something, and starts
 * it again, `cycles` times under load.
 */
export async function surviveKills(rig: Rig, cycles: number): Promise<FaultReport> {
  const load = startLoad(rig, { clients: CLIENTS, mayBeUnavailable: false });
  for (let cycle = 0; cycle < cycles; cycle++) {
    await untilBusy(rig, load);
    await sleep(Math.random() * LIFE_SPREAD_MS);
    const victim = rig.instances[Math.floor(Math.random() * rig.instances.length)]!;
    const others = rig.instances.filter((instance) => instance !== victim);
    await untilAcknowledged(victim, load);
    await victim.kill();
    await untilAnswered(others, load);
    await victim.start();
  }
  return await concluded(rig, load, cycles);
}
