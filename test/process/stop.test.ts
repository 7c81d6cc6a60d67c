import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type Socket, connect } from 'node:net';
import { describe, it } from 'node:test';
import { sessionBody } from '../support/service.ts';
import { type TestDatabase, createTestDatabase } from '../support/database.ts';
import { type RunningService, startServiceProgram, statusOf, until } from './program.ts';

const CLIENTS = 8;

describe('the process, told to stop,', { concurrency: 2 }, () => {
  it('is not ready at once, serves for SHUTDOWN_DELAY, finishes what is under way and ends with 0', async () => {
    await using database = await createTestDatabase();
    await using service = await startServiceProgram(variables(database, '1'));
    const idle = await openConnection(service);
    const early = await startSlowRequest(service);
    const half = await openConnection(service);
    half.write('GET /healthz HTTP/1.1\r\nhost: 127');
    service.signal('SIGTERM');
    const signalled = performance.now();
    await until(async () => (await statusOf(`${service.url}/readyz`)) === 503);
    // Some senders send it to a process and to its group.
    service.signal('SIGTERM');
    assert.equal(await statusOf(`${service.url}/healthz`), 200);
    const created = await createSession(service.url);
    assert.deepEqual([created.status, created.headers.get('connection')], [200, 'close']);
    for (const path of ['/nowhere', '/%zz']) {
      assert.equal((await fetch(service.url + path)).headers.get('connection'), 'close', path);
    }
    const late = await startSlowRequest(service);
    assert.match(await early.finish(), /^HTTP\/1\.1 200 [\s\S]*\r\nconnection: close\r\n/i);

    // Nothing new is taken any more, and the one request that is left is waited for.
    let refused = created;
    await until(async () => (refused = await createSession(service.url)).status === 503);
    assert.ok(performance.now() - signalled >= 1000);
    for (const { headers } of [refused, await fetch(`${service.url}/mcp`, { method: 'POST' })]) {
      assert.deepEqual([headers.get('connection'), headers.get('retry-after')], ['close', '1']);
    }
    const page = await fetch(`${service.url}/checkout/chk_1`);
    assert.deepEqual([page.status, page.headers.get('content-type')], [503, 'text/html; charset=utf-8']);
    assert.match(await late.finish(), /^HTTP\/1\.1 200 /);
    assert.equal(await service.exited, 0);
    // Neither an idle connection keeps it, nor one with half a request.
    assert.ok(performance.now() - signalled < 8000);
    for (const socket of [idle, half]) socket.destroy();
    assert.match(service.stdout(), /"signal":"SIGTERM","msg":"stopping"/);
    assert.equal(service.stderr(), '');
  });

  it('ends at once on SIGINT', async () => {
    await using database = await createTestDatabase();
    await using service = await startServiceProgram(variables(database, '60'));
    const slow = await startSlowRequest(service);
    // Nor does it wait for somebody who reads nothing of what he has asked for.
    const deaf = await openConnection(service);
    deaf.pause().write('GET /openapi.json HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n'.repeat(40));
    service.signal('SIGINT');
    // At `npm start` a Ctrl-C comes from the terminal and from npm.
    service.signal('SIGINT');
    await until(async () => (await createSession(service.url)).status === 503);
    assert.match(await slow.finish(), /^HTTP\/1\.1 200 /);
    assert.equal(await service.exited, 0);
    deaf.destroy();
  });

  it('under load, keeps everything that it acknowledged, and answers whoever has got a connection', async () => {
    await using database = await createTestDatabase();
    const acknowledged: string[] = [];
    const service = await startServiceProgram(variables(database, '0.2'));
    const clients = Array.from({ length: CLIENTS }, () => createUntilRefused(service.url, acknowledged));
    await until(() => acknowledged.length > 100);
    service.signal('SIGTERM');
    const ends = await Promise.all(clients);
    // The system resets whoever connects in the very moment in which the port is closed, which a busy machine can bring about.
    const broken = ends.filter((end) => end !== 'ECONNREFUSED');
    assert.ok(broken.length <= CLIENTS / 4, broken.join());
    assert.equal(await service.exited, 0);

    await using next = await startServiceProgram(variables(database, '0'));
    for (const id of acknowledged) assert.equal(await statusOf(`${next.url}/api/gateway/sessions/${id}`), 200, id);
  });

  it('gives up with 1 on a request that does not end within SHUTDOWN_TIMEOUT', async () => {
    await using database = await createTestDatabase();
    await using service = await startServiceProgram({ ...variables(database, '0'), SHUTDOWN_TIMEOUT: '1' });
    const stuck = await startSlowRequest(service);
    service.signal('SIGTERM');
    assert.equal(await service.exited, 1);
    assert.match(service.stdout(), /"level":40,.*SHUTDOWN_TIMEOUT; it is cut off/);
    stuck.socket.destroy();
  });
});

function variables({ url }: TestDatabase, delay: string): Record<string, string> {
  return { DATABASE_URL: url, SHUTDOWN_DELAY: delay };
}

/** Creates sessions until there is no answer any more; why not. */
async function createUntilRefused(url: string, acknowledged: string[]): Promise<string | undefined> {
  for (;;) {
    try {
      const answer = await createSession(url);
      const body = (await answer.json()) as { id: string };
      if (answer.status === 200) acknowledged.push(body.id);
      else assert.equal(answer.status, 503);
    } catch (error) {
      if (error instanceof TypeError) return (error.cause as NodeJS.ErrnoException).code;
      throw error;
    }
  }
}

function createSession(url: string): Promise<Response> {
  return fetch(`${url}/api/gateway/sessions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(sessionBody()),
  });
}

async function openConnection({ url }: RunningService): Promise<Socket> {
  const { port, hostname } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  return socket;
}

/** A request of which half is sent; `finish` sends the rest and answers what comes back. */
async function startSlowRequest(service: RunningService): Promise<{ socket: Socket; finish(): Promise<string> }> {
  const socket = await openConnection(service);
  const body = JSON.stringify(sessionBody());
  socket.write(
    `POST /api/gateway/sessions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`,
  );
  socket.write(body.slice(0, 10));
  // It is under way once the server has seen its head: the answer to a later request on another connection shows that.
  await statusOf(`${service.url}/healthz`);
  return {
    socket,
    async finish() {
      socket.write(body.slice(10));
      const [answer] = (await once(socket, 'data')) as [Buffer];
      socket.end();
      return answer.toString('utf8');
    },
  };
}
