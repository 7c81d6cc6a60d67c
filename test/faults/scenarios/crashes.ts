import { setTimeout as sleep } from 'node:timers/promises';
import { type DatabaseKind, createServiceDatabase } from '../../support/database.ts';
import { startPostgres } from '../../support/postgres.ts';
import { type InstanceRig, startRig } from '../instances.ts';
import { type ClientLoad, concludeRun, startLoad, untilAcknowledged, untilAnswered, untilBusy } from '../load.ts';
import type { FaultReport, Scenario } from '../scenario.ts';

// Scenarios in which an instance or the database crashes and restarts under load.

const CLIENTS = 12;
const LIFE_SPREAD_MS = 300;
const LONGEST_OUTAGE_MS = 500;

const CRASH = { injected: 'a store that answers before it commits', injectedCycles: 1 };

function killScenario(name: string, kind: DatabaseKind, instances: number, cycles: number): Scenario {
  return {
    ...CRASH,
    name,
    cycles,
    async run({ cycles, injected }) {
      await using database = await createServiceDatabase(kind);
      await using rig = await rigOn(database.url, instances, injected);
      return await survive(rig, cycles, killOne);
    },
  };
}

export const killInstance = killScenario('one of two instances killed', 'postgres', 2, 1);
export const killSqlite = killScenario('the only process on SQLite killed', 'sqlite', 1, 4);

export const postgresRestart: Scenario = {
  ...CRASH,
  name: 'PostgreSQL crashes and restarts',
  cycles: 1,
  async run({ cycles, injected }) {
    await using postgres = await startPostgres();
    await using rig = await rigOn(postgres.url(await postgres.createDatabase()), 2, injected);
    const restart = async (load: ClientLoad): Promise<void> => {
      const before = rig.instances.map((instance) => load.answers(instance).unavailable);
      await untilAcknowledged(rig.instances[0]!, load);
      await postgres.restart('immediate', Math.random() * LONGEST_OUTAGE_MS);
      await untilBusy(rig, load);
      for (const [index, instance] of rig.instances.entries()) {
        if (load.answers(instance).unavailable === before[index])
          load.problems.add('an instance did not respond with 503 during the restart');
      }
    };
    return await survive(rig, cycles, restart, true);
  },
};

function rigOn(databaseUrl: string, instances: number, injected: boolean): Promise<InstanceRig> {
  const ways = Array.from({ length: instances }, () => databaseUrl);
  return startRig(databaseUrl, ways, injected ? 'early-answer' : undefined);
}

/** Causes `cycles` crashes under load, each at a random moment. */
async function survive(
  rig: InstanceRig,
  cycles: number,
  crash: (load: ClientLoad, rig: InstanceRig) => Promise<void>,
  mayBeUnavailable = false,
): Promise<FaultReport> {
  const load = startLoad(rig, CLIENTS, mayBeUnavailable);
  for (let cycle = 0; cycle < cycles; cycle++) {
    await untilBusy(rig, load);
    await sleep(Math.random() * LIFE_SPREAD_MS);
    await crash(load, rig);
  }
  return await concludeRun(rig, load, cycles);
}

/** Kills a random instance with SIGKILL, just after an acknowledgement, and starts it again. */
async function killOne(load: ClientLoad, { instances }: InstanceRig): Promise<void> {
  const victim = instances[Math.floor(Math.random() * instances.length)]!;
  const others = instances.filter((instance) => instance !== victim);
  await untilAcknowledged(victim, load);
  await victim.kill();
  await untilAnswered(others, load);
  await victim.start();
}
