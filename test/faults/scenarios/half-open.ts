import { setTimeout as sleep } from 'node:timers/promises';
import { createServiceDatabase } from '../../support/database.ts';
import { sharedPostgres } from '../../support/postgres.ts';
import { startProxy } from '../../support/tcp-proxy.ts';
import { type Instance, startRig, urlThroughProxy } from '../instances.ts';
import { type ClientLoad, concludeRun, startLoad, untilBusy } from '../load.ts';
import { SESSIONS, ask, askInstance, sessionBody } from '../requests.ts';
import type { Scenario } from '../scenario.ts';

const CLIENTS = 6;
const POOL_SIZE = 10;
const SHORTLY_MS = 30;
const LIFE_SPREAD_MS = 300;
const PROBES = 3;
const PROBE_EVERY_MS = 300;
const REGULAR = 'half-open-regular';
let probes = 0;

/** All connections of two busy instances to the database, including new connections, stay open without a response. */
export const halfOpen: Scenario = {
  name: 'database connections that stay open without a response',
  cycles: 1,
  injected: 'a store that waits until the database is available again',
  injectedCycles: 1,
  async run({ cycles, injected }) {
    const postgres = await sharedPostgres();
    await using database = await createServiceDatabase('postgres');
    await using proxy = await startProxy(postgres.port);
    const way = urlThroughProxy(proxy.port, database.url);
    await using rig = await startRig(database.url, [way, way], injected ? 'patient' : undefined);
    for (const { url } of rig.instances) await ask(url + SESSIONS, sessionBody(`${REGULAR}--first`));
    const load = startLoad(rig, CLIENTS);
    for (let cycle = 0; cycle < cycles; cycle++) {
      await untilBusy(rig, load);
      await sleep(Math.random() * LIFE_SPREAD_MS);
      await Promise.all(rig.instances.map(openPool));
      proxy.blackHole();
      // These requests occupy all writers: later requests have to wait.
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
    return await concludeRun(rig, load, cycles);
  },
};

/** Makes an instance open all connections of its pool. */
async function openPool({ url }: Instance): Promise<void> {
  await Promise.all(Array.from({ length: POOL_SIZE * 2 }, () => ask(`${url}${SESSIONS}?limit=1`)));
}

/** Creates a session for a known buyer, and one for a new buyer, which needs a read before the commit. */
async function write(instance: Instance, load: ClientLoad): Promise<void> {
  const keys = [`${REGULAR}--${probes}`, `half-open-${probes}`];
  probes++;
  for (const key of keys) load.journal.keys.set(key, undefined);
  await Promise.all(keys.map((key) => probeAt(instance, load, SESSIONS, sessionBody(key))));
}

function readAll(instance: Instance, load: ClientLoad): Promise<void>[] {
  const known = [...load.journal.keys.values()].find((id) => id !== undefined);
  return ['/readyz', `${SESSIONS}/${known}`, `${SESSIONS}?limit=3`].map((path) => probeAt(instance, load, path));
}

/** Checks that a request without a database gets a 503 in time. */
async function probeAt(instance: Instance, { problems }: ClientLoad, path: string, body?: unknown): Promise<void> {
  const answer = await askInstance(instance, problems, path, body);
  if (answer.status === 200) problems.add(`${path} was answered with 200 although the database was unavailable`);
}
