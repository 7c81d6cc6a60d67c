// @run needs=process
import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Server } from 'node:http';
import { connect } from 'node:net';
import { test } from 'node:test';
import { call, sessionBody, startTestService } from '../support/service.ts';
import { SLOW_BODY, SLOW_HEADERS, openSlowSockets } from '../support/slow-sockets.ts';

const SLOW_CALLERS = 1000;
const CALLS = 50;
/** Timeouts longer than the setup of the test, during which no connection must time out. */
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
