// @run needs=process
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Server } from 'node:http';
import { connect } from 'node:net';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { call, sessionBody, startTestService } from '../support/service.ts';
import { SLOW_BODY, SLOW_HEADERS, openSlowSockets } from '../support/slow-sockets.ts';

const SLOW_CALLERS = 4000;
const CALLS = 100;
/** As long as it may take to open that many, and to make the calls: none of them is late meanwhile. */
const PATIENCE = { HEADERS_TIMEOUT: '300', REQUEST_TIMEOUT: '400' };
/** More than passes between two bytes of a slow caller. */
const LEAST_TIMEOUT_MS = 3000;

test('2,000 callers with slow headers and 2,000 with slow bodies delay no other client, and end with 408', async () => {
  await using tillway = await startTestService({ variables: PATIENCE });
  const server = await serverOf(tillway);
  assert.deepEqual([server.headersTimeout, server.requestTimeout], [300_000, 400_000]);
  const port = Number(new URL(tillway.url).port);
  const began = performance.now();
  await using slow = await openSlowSockets(port, SLOW_CALLERS, [SLOW_HEADERS, SLOW_BODY]);
  for (let index = 0; index < CALLS; index++) {
    const created = await call('POST', `${tillway.url}/api/gateway/sessions`, sessionBody(), { connection: 'close' });
    assert.equal(created.status, 200);
  }
  assert.equal(slow.open(), SLOW_CALLERS, 'they were not there meanwhile');
  // Node looks at these whenever it looks for what is late. By this the callers end as they came, and not all at once.
  const timeoutMs = Math.ceil(Math.max(LEAST_TIMEOUT_MS, performance.now() - began));
  Object.assign(server, { headersTimeout: timeoutMs, requestTimeout: timeoutMs });
  await slow.ended;
  assert.deepEqual(new Set(slow.answers), new Set(['HTTP/1.1 408 Request Timeout']));
  assert.equal(slow.answers.length, SLOW_CALLERS);
});

test('fewer files than connections are said in the log', async () => {
  // A process of its own: how many files this one may open is the machine's business.
  const service = new URL('../support/service.ts', import.meta.url).href;
  const script = `import { startTestService } from ${JSON.stringify(service)};
    for (const MAX_CONNECTIONS of ['1700', '1701']) {
      await using tillway = await startTestService({ variables: { MAX_CONNECTIONS } });
      for (const line of tillway.logged.filter((each) => each.includes('each connection needs a file'))) console.log(line);
    }`;
  const { stdout } = await promisify(execFile)('sh', [
    '-c',
    'ulimit -n 2000 && exec "$0" --eval "$1"',
    process.execPath,
    script,
  ]);
  const { files, maxConnections } = JSON.parse(stdout) as Record<string, unknown>;
  assert.deepEqual([files, maxConnections], [2000, 1701], '300 files are for other things');
});

test('a client that is refused and keeps sending is disconnected', async () => {
  await using tillway = await startTestService();
  const socket = connect({ port: Number(new URL(tillway.url).port), host: '127.0.0.1', allowHalfOpen: true });
  const closed = new Promise((resolve) => socket.once('close', resolve));
  let drip: ReturnType<typeof setInterval> | undefined;
  socket.on('error', () => {});
  socket.on('end', () => (drip = setInterval(() => socket.write('x'), 50)));
  socket.resume();
  socket.write('not http\r\n\r\n');
  await closed;
  clearInterval(drip);
});

/** The server of a service, as Node names it to whoever watches requests come. */
async function serverOf({ url }: { url: string }): Promise<Server> {
  let server: Server | undefined;
  const watch = (message: unknown) => (server = (message as { server: Server }).server);
  subscribe('http.server.request.start', watch);
  await call('GET', `${url}/healthz`);
  unsubscribe('http.server.request.start', watch);
  return server!;
}
