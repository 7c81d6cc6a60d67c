// @run on=sqlite,postgres needs=process
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type Socket, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { sessionBody } from '../support/service.ts';
import { type TestDatabase, createServiceDatabase } from '../support/database.ts';
import { type RunningService, startServiceProgram, httpStatusOf } from './program.ts';
import { until } from '../support/until.ts';

/** The largest SHUTDOWN_DELAY, in seconds. */
const LONGEST_DELAY = '300';
const CLIENTS = 8;

describe('the service process at a shutdown', { concurrency: 2 }, () => {
  it('at SIGTERM, the service is not ready, serves for SHUTDOWN_DELAY, completes requests in progress and exits with 0', async () => {
    await using database = await createServiceDatabase();
    await using service = await startServiceProgram({
      // SIGINT ends the delay below.
      ...variables(database, LONGEST_DELAY),
      SHUTDOWN_TIMEOUT: '30',
      // No open connection times out before SHUTDOWN_TIMEOUT.
      HEADERS_TIMEOUT: '90',
      REQUEST_TIMEOUT: '90',
    });
    const idle = await openConnection(service);
    const slow = await openConnection(service);
    const early = await startSlowRequest(service);
    const half = await openHalfRequest(service);
    service.signal('SIGTERM');
    await until(async () => (await httpStatusOf(`${service.url}/readyz`)) === 503);
    // Some programs send a signal twice: to a process and to its process group.
    service.signal('SIGTERM');
    assert.equal(await httpStatusOf(`${service.url}/healthz`), 200);
    const created = await createSession(service.url);
    assert.deepEqual([created.status, created.headers.get('connection')], [200, 'close']);
    for (const path of ['/nowhere', '/%zz']) {
      assert.equal((await fetch(service.url + path)).headers.get('connection'), 'close', path);
    }
    const late = await startSlowRequest(service);
    assert.match(await early.finish(), /^HTTP\/1\.1 200 [\s\S]*\r\nconnection: close\r\n/i);

    // SIGINT ends the delay: the service rejects new requests and waits for the request in progress.
    service.signal('SIGINT');
    await untilRefused(service);
    const refused = await createSession(service.url);
    assert.equal(refused.status, 503);
    for (const { headers } of [refused, await fetch(`${service.url}/mcp`, { method: 'POST' })]) {
      assert.deepEqual([headers.get('connection'), headers.get('retry-after')], ['close', '1']);
    }
    const page = await fetch(`${service.url}/checkout/chk_1`);
    assert.deepEqual([page.status, page.headers.get('content-type')], [503, 'text/html; charset=utf-8']);
    assert.match(await late.finish(), /^HTTP\/1\.1 200 /);
    await until(async () => !(await isListening(service)));
    // The client of `slow` connected before the service closed the port, and sends its request after that.
    slow.write('GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n');
    assert.match(await text(slow), /^HTTP\/1\.1 200 /);
    // An exit code of 0 means that neither the idle connection nor the incomplete request delayed the exit until SHUTDOWN_TIMEOUT.
    assert.equal(await service.exited, 0);
    for (const socket of [idle, slow, half]) socket.destroy();
    assert.match(service.stdout(), /"signal":"SIGTERM","msg":"stopping"/);
    assert.equal(service.stderr(), '');
  });

  it('at SIGINT, the service skips SHUTDOWN_DELAY', async () => {
    await using database = await createServiceDatabase();
    await using service = await startServiceProgram(variables(database, LONGEST_DELAY));
    const slow = await startSlowRequest(service);
    service.signal('SIGINT');
    // With `npm start`, the terminal and npm both forward a Ctrl-C.
    service.signal('SIGINT');
    await untilRefused(service);
    assert.match(await slow.finish(), /^HTTP\/1\.1 200 /);
    assert.equal(await service.exited, 0);
  });

  it('a shutdown under load loses no acknowledged session, and stores no session without an answer', async () => {
    await using database = await createServiceDatabase();
    const acknowledged: string[] = [];
    await using service = await startServiceProgram({
      ...variables(database, '1'),
      // No open connection times out before SHUTDOWN_TIMEOUT.
      HEADERS_TIMEOUT: '30',
    });
    const idle = await openConnection(service);
    const half = await openHalfRequest(service);
    const resets: string[] = [];
    const clients = Array.from({ length: CLIENTS }, () => createUntilClosed(service.url, acknowledged, resets));
    await until(() => acknowledged.length > 100);
    const before = acknowledged.length;
    service.signal('SIGTERM');
    await Promise.all(clients);
    assert.equal(await service.exited, 0);
    assert.ok(acknowledged.length > before, 'the service serves during the delay');
    // The kernel resets a client that connects while the port closes.
    assert.ok(resets.length <= CLIENTS / 4, `${resets.length} resets: ${resets.join(', ')}`);
    for (const socket of [idle, half]) socket.destroy();

    await using next = await startServiceProgram(variables(database, '0'));
    const stored = await sessionIds(next.url);
    assert.deepEqual(stored.toSorted(), acknowledged.toSorted());
  });

  it('the service exits with 1 if a request in progress exceeds SHUTDOWN_TIMEOUT', async () => {
    await using database = await createServiceDatabase();
    await using service = await startServiceProgram({ ...variables(database, '0'), SHUTDOWN_TIMEOUT: '1' });
    const stuck = await startSlowRequest(service);
    service.signal('SIGTERM');
    assert.equal(await service.exited, 1);
    assert.match(service.stdout(), /"level":40,.*SHUTDOWN_TIMEOUT and are aborted/);
    stuck.socket.destroy();
  });
});

function variables({ url }: TestDatabase, delay: string): Record<string, string> {
  return { DATABASE_URL: url, SHUTDOWN_DELAY: delay };
}

/** Creates sessions until the port is closed and records reset connections. Fails if a response is cut off. */
async function createUntilClosed(url: string, acknowledged: string[], resets: string[]): Promise<void> {
  for (;;) {
    const answer = await createSession(url).catch((error: TypeError) => (error.cause as NodeJS.ErrnoException).code);
    if (answer === 'ECONNREFUSED') return;
    if (!(answer instanceof Response)) {
      resets.push(String(answer));
      continue;
    }
    const body = (await answer.json()) as { id: string };
    if (answer.status === 200) acknowledged.push(body.id);
    else assert.equal(answer.status, 503);
  }
}

async function sessionIds(url: string): Promise<string[]> {
  const ids: string[] = [];
  for (let hasMore = true; hasMore;) {
    const cursor = ids.length > 0 ? `&startingAfter=${ids.at(-1)!}` : '';
    const answer = await fetch(`${url}/api/gateway/sessions?limit=100${cursor}`);
    const page = (await answer.json()) as { data: { id: string }[]; hasMore: boolean };
    ids.push(...page.data.map(({ id }) => id));
    hasMore = page.hasMore;
  }
  return ids;
}

/** Waits until the service rejects requests. Each request uses a new connection, because a kept connection may be closed. */
function untilRefused({ url }: RunningService): Promise<void> {
  return until(async () => (await createSession(url, { connection: 'close' })).status === 503);
}

function createSession(url: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${url}/api/gateway/sessions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(sessionBody()),
  });
}

async function openConnection({ url }: RunningService): Promise<Socket> {
  const { port, hostname } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  // The service may reset this connection at its exit.
  socket.on('error', () => {});
  return socket;
}

async function isListening({ url }: RunningService): Promise<boolean> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  return once(socket, 'connect').then(
    () => Boolean(socket.destroy()),
    () => false,
  );
}

async function openHalfRequest(service: RunningService): Promise<Socket> {
  const socket = await openConnection(service);
  socket.write('GET /healthz HTTP/1.1\r\nhost: 127');
  return socket;
}

/** Sends the first part of a request; `finish` sends the rest and returns the response. */
async function startSlowRequest(service: RunningService): Promise<{ socket: Socket; finish(): Promise<string> }> {
  const socket = await openConnection(service);
  const body = JSON.stringify(sessionBody());
  const head = `POST /api/gateway/sessions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n`;
  socket.write(`${head}content-length: ${body.length}\r\nexpect: 100-continue\r\n\r\n`);
  // The response "100 Continue" shows that the service has begun the request.
  await once(socket, 'data');
  socket.write(body.slice(0, 10));
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
