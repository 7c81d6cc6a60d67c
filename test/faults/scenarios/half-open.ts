import { setTimeout as sleep } from 'node:timers/promises';
import { createTestDatabase } from '../../support/database.ts';
import { sharedPostgres } from '../../support/postgres.ts';
import { startProxy } from '../../support/tcp-proxy.ts';
import { type Instance, startRig, through } from '../instances.ts';
import { type Load, concluded, startLoad, untilBusy } from '../load.ts';
import { SESSIONS, ask, complaintOf, sessionBody } from '../requests.ts';
import type { Scenario } from '../scenario.ts';

const CLIENTS = 6;
const POOL_SIZE = 10;
const SHORTLY_MS = 30;
const LIFE_SPREAD_MS = 300;
const PROBES = 3;
const PROBE_EVERY_MS = 300;
const PATIENT = new URL('../servers/faulty-patient.ts', import.meta.url);
const REGULAR = 'half-open-regular';
let probes = 0;

/** Every connection to the database stays open and silent, new ones too, while two instances are at work. */
export const scenario: Scenario = {
  name: 'connections open and silent',
  cycles: 1,
  injected: 'a store that waits until the database is available again',
  injectedCycles: 1,
  async run({ cycles, injected }) {
    const postgres = await sharedPostgres();
    await using database = await createTestDatabase('postgres');
    await using proxy = await startProxy(postgres.port);
    const way = through(proxy.port, database.url);
    await using rig = await startRig({
      databaseUrl: database.url,
      ways: [way, way],
      ...(injected && { entry: PATIENT }),
    });
    for (const { url } of rig.instances) await ask(url + SESSIONS, sessionBody(`${REGULAR}--first`));
    const load = startLoad(rig, { clients: CLIENTS, mayBeUnavailable: true });
    for (let cycle = 0; cycle < cycles; cycle++) {
      await untilBusy(rig, load);
      await sleep(Math.random() * LIFE_SPREAD_MS);
      await Promise.all(rig.instances.map(openPool));
      proxy.blackHole();
      // These are all that can be written at once: what comes after them has to wait.
      const answered = rig.instances.map((instance) => write(instance, load));
      await sleep(SHORTLY_MS);
      answered.push(...rig.instances.map((instance) => write(instance, load)));
      for (let probe = 0; probe < PROBES; probe++) {
        await sleep(PROBE_EVERY_MS);
        answered.push(...rig.instances.flatMap((instance) => [write(instance, load), ...readAll(instance, load)]));
      }
      await Promise.all(answered);
      proxy.heal();
      await untilBusy(rig, load);
    }
    return await concluded(rig, load, cycles);
  },
};

/** Has as many connections opened as there may be. */
async function openPool({ url }: Instance): Promise<void> {
  await Promise.all(Array.from({ length: POOL_SIZE * 2 }, () => ask(`${url}${SESSIONS}?limit=1`)));
}

/** For a buyer who is known nothing is read before the commit, and for one who is not, much is. */
async function write(instance: Instance, load: Load): Promise<void> {
  const keys = [`${REGULAR}--${probes}`, `half-open-${probes}`];
  probes++;
  for (const key of keys) load.journal.keys.set(key, undefined);
  await Promise.all(keys.map((key) => probeAt(instance, load, SESSIONS, sessionBody(key))));
}

function readAll(instance: Instance, load: Load): Promise<void>[] {
  const known = [...load.journal.keys.values()].find((id) => id !== undefined);
  return ['/readyz', `${SESSIONS}/${known}`, `${SESSIONS}?limit=3`].map((path) => probeAt(instance, load, path));
}

/** Nothing can be known now, and everybody is told so in time. */
async function probeAt(instance: Instance, { problems }: Load, path: string, body?: unknown): Promise<void> {
  const answer = await ask(instance.url + path, body);
  const complaint = complaintOf(answer, { unavailable: true, dropped: false });
  if (complaint !== undefined) problems.add(`${path} ${complaint}; the server: ${instance.lastWords()}`);
  if (answer.status === 200) problems.add(`${path} was answered with 200, and the database was away`);
}
