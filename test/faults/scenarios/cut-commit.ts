import { createTestDatabase } from '../../support/database.ts';
import { sharedPostgres } from '../../support/postgres.ts';
import { type TcpProxy, startProxy } from '../../support/tcp-proxy.ts';
import { type Rig, startRig, through } from '../instances.ts';
import { type Load, concluded, startLoad } from '../load.ts';
import { CALLBACKS, SESSIONS, ask, callbackBody, complaintOf, sessionBody } from '../requests.ts';
import type { Scenario } from '../scenario.ts';

const CLIENTS = 3;
const KEY_IN_MEMORY = new URL('../servers/faulty-key-in-memory.ts', import.meta.url);

type Query = (sql: string, key: string) => Promise<Record<string, unknown>[]>;

/** Resources of one cycle. */
interface Stage {
  rig: Rig;
  load: Load;
  proxy: TcpProxy;
  query: Query;
}

/** The connection ends when a commit has been sent and done, and before its answer. */
export const scenario: Scenario = {
  name: 'answer to a commit cut off',
  cycles: 6,
  injected: 'a store that keeps idempotency keys in memory',
  injectedCycles: 2,
  async run({ cycles, injected }) {
    const postgres = await sharedPostgres();
    await using database = await createTestDatabase('postgres');
    await using proxy = await startProxy(postgres.port);
    const cut = through(proxy.port, database.url);
    await using rig = await startRig({
      databaseUrl: database.url,
      // The first is asked what will be cut, and both are asked again. One memory alone forgets nothing but by the cut.
      ways: injected ? [cut] : [cut, database.url],
      ...(injected && { entry: KEY_IN_MEMORY }),
    });
    const name = new URL(database.url).pathname.slice(1);
    const query: Query = (sql, key) => postgres.query(name, sql, [key]);
    const load = startLoad(rig, { clients: CLIENTS, mayBeUnavailable: true });
    for (let cycle = 0; cycle < cycles; cycle++) {
      const stage = { rig, load, proxy, query };
      const id = await loseSession(stage, cycle);
      if (id !== undefined) await losePayment(stage, cycle, id);
    }
    return await concluded(rig, load, cycles);
  },
};

/** Loses the answer to the creation of a session; answers its id. */
async function loseSession({ rig, load, proxy, query }: Stage, cycle: number): Promise<string | undefined> {
  // A buyer who is known, or is not: in either case the key is in nothing but the commit, so that no read is cut.
  const key = `cut-${cycle % 2 === 0 ? 'buyer' : cycle}--${cycle}-`;
  const body = sessionBody(key);
  const first = await askUnderTrap(rig, proxy, key, SESSIONS, body);
  load.problems.add(...first.problems);
  const kept = await query('SELECT id FROM sessions WHERE client_reference_id = $1', key);
  if (kept.length !== 1) load.problems.add(`key ${key} has ${kept.length} sessions after one request`);
  const id = kept[0]?.['id'] as string | undefined;
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

/** Loses the answer to a callback, which is then sent again. */
async function losePayment({ rig, load, proxy, query }: Stage, cycle: number, id: string): Promise<void> {
  const eventId = `cut-event-${cycle}-`;
  const body = callbackBody(eventId, id);
  const first = await askUnderTrap(rig, proxy, eventId, CALLBACKS, body);
  load.problems.add(...first.problems);
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

/** Asks the first instance, whose commit with this text is done and never answered. */
async function askUnderTrap({ instances }: Rig, proxy: TcpProxy, text: string, path: string, body: unknown) {
  let sprung = false;
  void proxy.cutAnswerTo(text).then(() => (sprung = true));
  const answer = await ask(instances[0]!.url + path, body);
  const complaint = complaintOf(answer, { unavailable: true, dropped: false });
  const problems = complaint === undefined ? [] : [`${path} ${complaint}; the server: ${instances[0]!.lastWords()}`];
  if (!sprung) problems.push(`no commit of ${text} was cut: ${answer.status} ${JSON.stringify(answer.body)}`);
  return { problems };
}

/** Both instances, the other one first every second time. */
function inTurn({ instances }: Rig, cycle: number) {
  return cycle % 2 === 0 ? instances : instances.toReversed();
}
