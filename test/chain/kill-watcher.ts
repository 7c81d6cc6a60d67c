import { setTimeout as sleep } from 'node:timers/promises';
import { createSharedDatabase } from '../faults/instances.ts';
import { NO_LOAD_PROBLEM } from '../faults/load.ts';
import { type Scenario, createProblems } from '../faults/scenario.ts';
import { brokenInvariants } from '../support/sound.ts';
import { until } from '../support/until.ts';
import { startUsdcService, usdcVariables } from '../support/usdc-service.ts';

const PAYMENTS_PER_CYCLE = 5;
/** Longest life of a process after it is ready. */
const LIFE_MS = 1500;
const PATIENCE_MS = 30_000;

/** Each cycle pays several payments and kills the process that watches the chain, at a random moment or at its first report. */
export const KILLED_WATCHER: Scenario = {
  name: 'the process that watches a chain is killed',
  injected: 'a store that answers before it commits',
  cycles: 1,
  injectedCycles: 5,
  async run({ cycles, injected }) {
    const problems = createProblems();
    await using database = await createSharedDatabase();
    // This process only creates the payments, without a worker.
    await using world = await startUsdcService({
      live: true,
      background: false,
      beside: { databaseUrl: database.url },
    });
    const { begin, chain, payment, send } = world;
    const watcher = await database.start(
      injected ? 'early-answer' : undefined,
      usdcVariables(chain.token, [chain.url]),
    );
    const count = async (condition: string) =>
      Number((await database.query(`SELECT count(*) AS n FROM chain_addresses WHERE ${condition}`))[0]!['n']);
    // The next process does not wait for the end of the lease of the process before.
    const endLease = () => database.query('UPDATE chain_cursors SET lease_until = 0');
    await endLease();
    const sessions: string[] = [];
    let interrupted = 0;
    for (let cycle = 0; cycle < cycles; cycle++) {
      const reported = await count('reported_units > 0');
      for (let paid = 0; paid < PAYMENTS_PER_CYCLE; paid++) {
        const session = await begin();
        sessions.push(session);
        await send(session);
      }
      await chain.finalize();
      if (cycle % 2 === 0) await sleep(Math.random() * LIFE_MS);
      else await until(async () => (await count('reported_units > 0')) > reported, undefined, PATIENCE_MS);
      await watcher.kill();
      if ((await count('settled = 0')) > 0) interrupted++;
      await endLease();
      await watcher.start();
    }
    await until(async () => (await count('settled = 0')) === 0, undefined, PATIENCE_MS).catch(() => undefined);
    await watcher.kill();
    for (const session of sessions) {
      const { status, ledgerStatus } = await payment(session);
      if (status !== 'paid' || ledgerStatus !== 'settled') problems.add(`${session} is ${status} and ${ledgerStatus}`);
    }
    const discrepancies = await database.query('SELECT kind, payment_id FROM discrepancies');
    problems.add(
      ...discrepancies.map(({ kind, payment_id: id }) => `${String(id)} has the discrepancy ${String(kind)}`),
    );
    problems.add(...(await brokenInvariants(database.settings)));
    if (interrupted === 0) problems.add(NO_LOAD_PROBLEM);
    return { cycles, load: `${sessions.length} payments, ${interrupted} polls interrupted`, problems: problems.list() };
  },
};
