// @run on=postgres needs=process
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { type Postgres, startPostgres } from './postgres.ts';
import { type TcpProxy, startProxy } from './tcp-proxy.ts';
import { until } from './until.ts';

// The tests of the PostgreSQL driver inject faults with these tools. A plain `pg` client shows that the tools themselves work.

let postgres: Postgres;
// With this delay, an asynchronous commit stays in memory long enough for a crash to lose it.
before(async () => (postgres = await startPostgres({ settings: { wal_writer_delay: '10s' } })));
after(() => postgres.stop());

interface Session extends AsyncDisposable {
  client: Client;
  /** Resolves with the reason why the connection was lost. */
  lost: Promise<Error>;
}

async function connected(url: string, config: object = {}): Promise<Session> {
  const client = new Client({ connectionString: url, ...config });
  const lost = new Promise<Error>((resolve) => client.once('error', resolve));
  client.on('error', () => undefined);
  await client.connect();
  return { client, lost, [Symbol.asyncDispose]: () => client.end() };
}

async function withTable(): Promise<string> {
  const name = await postgres.createDatabase();
  await using session = await connected(postgres.url(name));
  await session.client.query('CREATE TABLE notes (text text)');
  return name;
}

async function notesOf(database: string): Promise<unknown[]> {
  return (await postgres.query(database, 'SELECT text FROM notes ORDER BY text')).map(({ text }) => text);
}

describe('the PostgreSQL server of the tests', () => {
  it('the PostgreSQL server of the tests loses an unsynced commit in a crash', async () => {
    const database = await withTable();
    await using session = await connected(postgres.url(database));
    await session.client.query('SET synchronous_commit = off');
    await session.client.query(`INSERT INTO notes VALUES ('hasty')`);
    assert.deepEqual(await notesOf(database), ['hasty']);
    await postgres.restart('immediate');
    assert.deepEqual(await notesOf(database), []);
  });

  it('the PostgreSQL server of the tests stops when the test process exits or is killed', async () => {
    const program = `
      const { startPostgres } = await import(${JSON.stringify(new URL('postgres.ts', import.meta.url).href)});
      const { port, folder } = await startPostgres();
      console.log(JSON.stringify({ port, folder }));
      await new Promise(() => setInterval(() => undefined, 1000));`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    const { port, folder } = JSON.parse(String(line)) as { port: number; folder: string };
    assert(await answers(port));
    child.kill('SIGKILL');
    await until(async () => !existsSync(folder) && !(await answers(port)));
  });
});

function answers(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  return once(socket, 'connect').then(
    () => {
      socket.destroy();
      return true;
    },
    () => false,
  );
}

describe('the proxy in front of PostgreSQL', () => {
  let database: string;
  before(async () => (database = await withTable()));

  const through = (proxy: TcpProxy, config?: object) => connected(postgres.url(database, proxy.port), config);

  it('the proxy counts statements, round trips and commits, but not connections', async () => {
    await using proxy = await startProxy(postgres.port);
    await using session = await through(proxy);
    const { client } = session;
    assert.deepEqual(proxy.takeCounts(), { statements: 0, roundTrips: 0, commits: 0 });
    assert.deepEqual((await client.query('SELECT $1::int AS one', [1])).rows, [{ one: 1 }]);
    assert.deepEqual(proxy.takeCounts(), { statements: 1, roundTrips: 1, commits: 0 });
    for (let times = 0; times < 3; times++) await client.query({ name: 'two', text: 'SELECT $1::int', values: [2] });
    assert.deepEqual(proxy.takeCounts(), { statements: 3, roundTrips: 3, commits: 0 });
    await client.query('BEGIN');
    await client.query('SELECT 1; SELECT 2');
    await client.query('COMMIT');
    assert.deepEqual(proxy.takeCounts(), { statements: 3, roundTrips: 3, commits: 1 });
    await assert.rejects(client.query('SELECT $1::int / 0', [1]), /division by zero/);
    assert.deepEqual(proxy.takeCounts(), { statements: 1, roundTrips: 1, commits: 0 });
  });

  it('the proxy counts correctly if the bytes arrive in chunks of any size', async () => {
    await using proxy = await startProxy(postgres.port);
    const stream = () => {
      const socket = connect({ port: proxy.port, host: '127.0.0.1', noDelay: true });
      const write = socket.write.bind<(bytes: Buffer) => boolean>(socket);
      socket.connect = () => socket;
      socket.write = (bytes: string | Uint8Array) => {
        for (const byte of Buffer.from(bytes as Uint8Array)) write(Buffer.from([byte]));
        return true;
      };
      return socket;
    };
    await using session = await through(proxy, { stream });
    const { rows } = await session.client.query('SELECT repeat($1, 300000) AS long, $2::text AS code', ['x', 'SQEZ']);
    assert.deepEqual(rows, [{ long: 'x'.repeat(300_000), code: 'SQEZ' }]);
    assert.deepEqual(proxy.takeCounts(), { statements: 1, roundTrips: 1, commits: 0 });
  });

  it('the proxy cuts one response after the server has executed the statement', async () => {
    await using proxy = await startProxy(postgres.port);
    await using session = await through(proxy);
    const cut = proxy.cutAnswerTo('needle');
    await session.client.query('INSERT INTO notes VALUES ($1)', ['hay']);
    // The server has not executed a rejected statement.
    await assert.rejects(
      session.client.query('INSERT INTO nowhere VALUES ($1)', ['needle']),
      /"nowhere" does not exist/,
    );
    await assert.rejects(session.client.query('INSERT INTO notes VALUES ($1)', ['needle']), /ECONNRESET|terminated/);
    await cut;
    assert.deepEqual(await notesOf(database), ['hay', 'needle']);
    await using next = await through(proxy);
    await next.client.query('INSERT INTO notes VALUES ($1)', ['needle']);
  });

  it('the proxy cuts the response to a COMMIT after the server has committed', async () => {
    await using proxy = await startProxy(postgres.port);
    await using session = await through(proxy);
    await session.client.query('BEGIN');
    await session.client.query(`INSERT INTO notes VALUES ('in doubt')`);
    assert(!(await notesOf(database)).includes('in doubt'));
    const cut = proxy.cutAnswerTo('COMMIT');
    await assert.rejects(session.client.query('COMMIT'));
    await cut;
    assert((await notesOf(database)).includes('in doubt'));
  });

  it('a proxy in black-hole mode keeps connections open and silent, and then resets the connections that lost bytes', async () => {
    await using proxy = await startProxy(postgres.port);
    await using asking = await through(proxy);
    await using idle = await through(proxy);
    proxy.blackHole();
    const insertion = asking.client.query(`INSERT INTO notes VALUES ('into the void')`);
    const outcomes = [insertion, through(proxy), asking.lost, idle.lost].map((each) =>
      each.then(() => 'answer', String),
    );
    assert.equal(await Promise.race([...outcomes, sleep(200, 'silence')]), 'silence');
    proxy.heal();
    assert.match(await outcomes[0]!, /ECONNRESET/);
    assert.match(await outcomes[1]!, /ECONNRESET/);
    assert.ok(!(await notesOf(database)).includes('into the void'));
    assert.deepEqual((await idle.client.query('SELECT 1 AS one')).rows, [{ one: 1 }]);
  });
});
