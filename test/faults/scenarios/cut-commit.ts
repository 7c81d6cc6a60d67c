import { createServiceDatabase } from '../../support/database.ts';
import { sharedPostgres } from '../../support/postgres.ts';
import { type TcpProxy, startProxy } from '../../support/tcp-proxy.ts';
import { type InstanceRig, startRig, urlThroughProxy } from '../instances.ts';
import { type ClientLoad, concludeRun, startLoad } from '../load.ts';
import { CALLBACKS, SESSIONS, ask, askInstance, callbackBody, sessionBody } from '../requests.ts';
import type { Scenario } from '../scenario.ts';

const CLIENTS = 3;

type Query = (sql: string, key: string) => Promise<Record<string, unknown>[]>;

/** Resources of one cycle. */
interface Stage {
  rig: InstanceRig;
  load: ClientLoad;
  proxy: TcpProxy;
  query: Query;
}

/** The proxy closes the connection after the database has committed and before its response reaches the service. */
export const cutCommit: Scenario = {
  name: 'a lost response to a commit',
  cycles: 6,
  injected: 'a store that keeps idempotency keys in memory',
  injectedCycles: 2,
  async run({ cycles, injected }) {
    const postgres = await sharedPostgres();
    await using database = await createServiceDatabase('postgres');
    await using proxy = await startProxy(postgres.port);
    const cut = urlThroughProxy(proxy.port, database.url);
    // All instances receive the repeated requests. The injected fault uses one instance, because instances share no memory.
    const ways = injected ? [cut] : [cut, database.url];
    await using rig = await startRig(database.url, ways, injected ? 'key-in-memory' : undefined);
    const name = new URL(database.url).pathname.slice(1);
    const query: Query = (sql, key) => postgres.query(name, sql, [key]);
    const load = startLoad(rig, CLIENTS);
    for (let cycle = 0; cycle < cycles; cycle++) {
      const stage = { rig, load, proxy, query };
      const id = await loseSession(stage, cycle);
      if (id !== undefined) await losePayment(stage, cycle, id);
    }
    return await concludeRun(rig, load, cycles);
  },
};

/** Creates a session whose response is lost, and repeats the request; returns the id of the session. */
async function loseSession(stage: Stage, cycle: number): Promise<string | undefined> {
  const { rig, load, query } = stage;
  // Only the commit contains this key, for known and for new buyers, so the proxy cuts no read.
  const key = `cut-${cycle % 2 === 0 ? 'buyer' : cycle}--${cycle}-`;
  const body = sessionBody(key);
  await askWithCut(stage, key, SESSIONS, body);
  const stored = await query('SELECT id FROM sessions WHERE client_reference_id = $1', key);
  if (stored.length !== 1) load.problems.add(`key ${key} has ${stored.length} sessions after one request`);
  const id = stored[0]?.['id'] as string | undefined;
  load.journal.keys.set(key, id);
  for (const { url } of inTurn(rig, cycle)) {
    const again = await ask(url + SESSIONS, body);
    if (again.status !== 200) load.problems.add(`key ${key} was answered again with ${again.status}`);
    else if (again.body.id !== id) load.problems.add(`key ${key} has ${id}, and then gave ${again.body.id}`);
  }
  const now = await query('SELECT id FROM sessions WHERE client_reference_id = $1', key);
  if (now.length !== 1) load.problems.add(`key ${key} has ${now.length} sessions`);
  return id;
}

/** Sends a callback whose response is lost, and repeats the callback at every instance. */
async function losePayment(stage: Stage, cycle: number, id: string): Promise<void> {
  const { rig, load, query } = stage;
  const eventId = `cut-event-${cycle}-`;
  const body = callbackBody(eventId, id);
  await askWithCut(stage, eventId, CALLBACKS, body);
  for (const { url } of inTurn(rig, cycle)) {
    const again = await ask(url + CALLBACKS, body);
    if (again.status !== 200) load.problems.add(`${eventId} was answered again with ${again.status}`);
    else if (again.body.result?.merchantWebhookQueued) load.problems.add(`${eventId} was applied twice`);
  }
  load.journal.paid.add(id);
  for (const table of ['payments', 'invoices', 'provider_messages', 'events']) {
    const rows = await query(`SELECT 1 FROM ${table} WHERE session_id = $1`, id);
    if (rows.length !== 1) load.problems.add(`${eventId} has ${rows.length} ${table}`);
  }
  const sql = `SELECT kind, account, COUNT(*) AS count FROM ledger_entries
    WHERE payment_id IN (SELECT id FROM payments WHERE session_id = $1) GROUP BY kind, account`;
  const entries = await query(sql, id);
  const twice = entries.filter(({ count }) => Number(count) !== 1);
  if (entries.length === 0 || twice.length > 0) load.problems.add(`${eventId} has postings ${JSON.stringify(entries)}`);
}

/** Sends a request to the first instance, whose commit with this text succeeds without a response from the database. */
async function askWithCut({ rig, load, proxy }: Stage, text: string, path: string, body: unknown): Promise<void> {
  let isCut = false;
  void proxy.cutAnswerTo(text).then(() => (isCut = true));
  const answer = await askInstance(rig.instances[0]!, load.problems, path, body);
  if (!isCut) load.problems.add(`no commit of ${text} was cut: ${answer.status} ${JSON.stringify(answer.body)}`);
}

/** All instances, in alternating order. */
function inTurn({ instances }: InstanceRig, cycle: number) {
  return cycle % 2 === 0 ? instances : instances.toReversed();
}
