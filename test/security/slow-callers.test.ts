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

const SLOW_CALLERS = 1000;
const CALLS = 50;
/** Timeouts longer than the setup of the test, so that no connection times out during the setup. */
const PATIENCE = { HEADERS_TIMEOUT: '300', REQUEST_TIMEOUT: '400' };
/** Longer than the interval at which a slow client sends bytes. */
const LEAST_TIMEOUT_MS = 3000;

test('500 clients with slow headers and 500 with slow bodies do not delay other clients, and get 408', async () => {
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
  assert.equal(slow.open(), SLOW_CALLERS, 'slow callers were disconnected early');
  // Node reads these limits at each check. With this value, the clients time out in the order of their connections.
  const timeoutMs = Math.ceil(Math.max(LEAST_TIMEOUT_MS, performance.now() - began));
  Object.assign(server, { headersTimeout: timeoutMs, requestTimeout: timeoutMs });
  await slow.ended;
  assert.deepEqual(new Set(slow.answers), new Set(['HTTP/1.1 408 Request Timeout']));
  assert.equal(slow.answers.length, SLOW_CALLERS);
});

test('the service logs a warning if the limit on open files is too low for MAX_CONNECTIONS', async () => {
  // Runs in another process, because the limit of this process depends on the machine.
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
  assert.deepEqual([files, maxConnections], [2000, 1701], '300 files are reserved');
});

test('a client that keeps sending after its request was rejected is disconnected', async () => {
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
  assert.ok(socket.destroyed && drip !== undefined, 'the server did not end its side first');
});

/** Gets the HTTP server of a service from Node's diagnostics channel. */
async function serverOf({ url }: { url: string }): Promise<Server> {
  let server: Server | undefined;
  const watch = (message: unknown) => (server = (message as { server: Server }).server);
  subscribe('http.server.request.start', watch);
  await call('GET', `${url}/healthz`);
  unsubscribe('http.server.request.start', watch);
  return server!;
}
