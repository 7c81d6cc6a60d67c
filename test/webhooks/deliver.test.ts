import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ServerResponse } from 'node:http';
import { type Socket, createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { ResolveHost } from '../../src/webhooks/address.ts';
import { type DeliveryLimits, type Exchange, createDeliverer } from '../../src/webhooks/deliver.ts';
import { PATIENT, SHORT_LIMITS, START, listen, receiver } from './fixtures.ts';

const KIB = 1024;
/** Length of the deadlines that {@link expireAtResponseBody} makes expire. */
const DEADLINE_AT_BODY_MS = 3_600_000;
const toLoopback: ResolveHost = () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]);
const toUnknownName: ResolveHost = () =>
  Promise.reject(Object.assign(new Error('queryA ENOTFOUND'), { code: 'ENOTFOUND' }));
const toNoAnswer: ResolveHost = () => new Promise(() => undefined);

function post(
  context: TestContext,
  url: string,
  options: { limits?: DeliveryLimits; resolve?: ResolveHost; body?: string } = {},
): Promise<Exchange> {
  const { limits = PATIENT, resolve = toLoopback, body = '{"id":"evt_1"}' } = options;
  const deliverer = createDeliverer({ targets: 'loopback', resolve, now: () => START, limits });
  context.after(() => deliverer.close());
  return deliverer.deliver(url, { 'content-type': 'application/json', 'x-gateway-event': 'evt_1' }, body);
}

/** Makes deadlines of DEADLINE_AT_BODY_MS expire when the body of a response begins to arrive. */
function expireAtResponseBody(context: TestContext): void {
  const { setTimeout, clearTimeout } = globalThis;
  const waiting = new Map<unknown, () => void>();
  const startTimer = (run: (...args: unknown[]) => void, ms: number, ...args: unknown[]) => {
    const timer = setTimeout(run, ms, ...args);
    if (ms === DEADLINE_AT_BODY_MS) waiting.set(timer, () => run(...args));
    return timer;
  };
  const clear = (timer: NodeJS.Timeout) => {
    waiting.delete(timer);
    clearTimeout(timer);
  };
  context.mock.method(globalThis, 'setTimeout', startTimer as typeof setTimeout);
  context.mock.method(globalThis, 'clearTimeout', clear as typeof clearTimeout);
  // undici publishes this event before it passes the chunk to the deliverer.
  const pass = () => void setImmediate(() => waiting.forEach((run) => run()));
  subscribe('undici:request:bodyChunkReceived', pass);
  context.after(() => unsubscribe('undici:request:bodyChunkReceived', pass));
}

/** Starts a TCP server that calls `respond` when a request begins to arrive. Returns its URL and open sockets. */
async function rawReceiver(context: TestContext, respond: (socket: Socket) => void) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    socket.once('data', () => respond(socket));
  });
  context.after(() => sockets.forEach((socket) => socket.destroy()));
  const port = await listen(context, server);
  return { url: `http://127.0.0.1:${port}/`, sockets };
}

/** Writes the text repeatedly, one byte at a time. */
function drip(socket: Socket, text: string): void {
  let sent = 0;
  const timer = setInterval(() => socket.write(text.charAt(sent++ % text.length)), 5);
  socket.on('close', () => clearInterval(timer));
}

/** Writes without end, as fast as the client reads. */
function flood(stream: Socket | ServerResponse): void {
  const chunk = Buffer.alloc(64 * KIB, 'x');
  const pour = () => {
    while (!stream.destroyed && stream.write(chunk));
  };
  stream.on('drain', pour).on('error', () => undefined);
  pour();
}

test('a response with status 200 acknowledges a delivery, and the event arrives unchanged', async (context) => {
  const { url, received } = await receiver(context, (_, __, response) => void response.end('thank you'));
  const exchange = await post(context, `${url}?shop=1`, { body: '{"note":"Ünïcode ✓"}' });
  assert.equal(exchange.statusCode, 200);
  assert.equal(exchange.failure, null);
  assert.equal(exchange.responseBody, 'thank you');
  assert(Number.isSafeInteger(exchange.durationMs) && exchange.durationMs >= 0);
  assert.equal(received.length, 1);
  assert.equal(received[0]!.body, '{"note":"Ünïcode ✓"}');
  assert.equal(received[0]!.path, '/hook?shop=1');
  assert.equal(received[0]!.headers['x-gateway-event'], 'evt_1');
  assert.equal(received[0]!.headers['content-type'], 'application/json');
  assert.match(String(received[0]!.headers['user-agent']), /^Tillway/);
});

test('a response with a status other than 200 does not acknowledge a delivery', async (context) => {
  const { url } = await receiver(context, ({ path }) => Number(path.slice('/hook?'.length)));
  const failures: Record<number, string> = {
    201: 'answered 201, and only 200 acknowledges',
    204: 'answered 204, and only 200 acknowledges',
    304: 'answered 304, and redirects are not followed',
    400: 'answered 400',
    410: 'answered 410',
    500: 'answered 500',
  };
  for (const [status, failure] of Object.entries(failures)) {
    const exchange = await post(context, `${url}?${status}`);
    assert.equal(exchange.statusCode, Number(status));
    assert.equal(exchange.failure, failure);
  }
});

test('a delivery ignores proxy settings in environment variables', async (context) => {
  const proxy = await receiver(context);
  const target = await receiver(context);
  const names = ['HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'NODE_USE_ENV_PROXY'];
  for (const name of names) process.env[name] = name === 'NODE_USE_ENV_PROXY' ? '1' : new URL(proxy.url).origin;
  context.after(() => names.forEach((name) => delete process.env[name]));
  assert.equal((await post(context, target.url)).statusCode, 200);
  assert.equal(proxy.connections(), 0);
});

test('the deadline aborts a response that does not begin or does not end', async (context) => {
  const head = 'HTTP/1.1 500 Oops\r\ncontent-length: 1000000\r\n\r\n';
  const talks: Record<string, (socket: Socket) => void> = {
    silence: () => undefined,
    'dripped headers': (socket) => drip(socket, `HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(1000)}`),
    'endless 1xx': (socket) => drip(socket, 'HTTP/1.1 103 Early Hints\r\n\r\n'),
    'dripped body': (socket) => {
      socket.write(head);
      drip(socket, 'x');
    },
  };
  expireAtResponseBody(context);
  await Promise.all(
    Object.entries(talks).map(async ([name, respond]) => {
      const { url, sockets } = await rawReceiver(context, respond);
      const begun = name === 'dripped body';
      const limits = { ...PATIENT, totalMs: begun ? DEADLINE_AT_BODY_MS : SHORT_LIMITS.totalMs };
      const { statusCode, failure } = await post(context, url, { limits });
      assert.equal(statusCode, begun ? 500 : null, name);
      assert.equal(failure, begun ? 'answered 500' : 'no complete answer within 0.4 s', name);
      // The test does not check further sockets that the client may open.
      await Promise.all(Array.from(sockets, (socket) => new Promise((resolve) => socket.once('close', resolve))));
    }),
  );
});

test('a response with status 200 acknowledges a delivery even if its body does not arrive', async (context) => {
  const head = 'HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nthank you';
  expireAtResponseBody(context);
  const silent = { respond: (socket: Socket) => socket.write(head), totalMs: DEADLINE_AT_BODY_MS };
  const closed = { respond: (socket: Socket) => socket.end(head), totalMs: PATIENT.totalMs };
  for (const { respond, totalMs } of [silent, closed]) {
    const { url } = await rawReceiver(context, respond);
    const exchange = await post(context, url, { limits: { ...PATIENT, totalMs } });
    assert.deepEqual([exchange.statusCode, exchange.failure], [200, null]);
    assert.equal(exchange.responseBody, 'thank you');
  }
});

for (const [limit, failure] of [
  ['connectMs', 'no connection within 0.4 s'],
  ['totalMs', 'no complete answer within 0.4 s'],
] as const) {
  test(`${limit} also limits the wait for a name server`, async (context) => {
    const limits = { ...PATIENT, [limit]: SHORT_LIMITS[limit] };
    const exchange = await post(context, 'http://slow.example/', { limits, resolve: toNoAnswer });
    assert.deepEqual([exchange.statusCode, exchange.failure], [null, failure]);
  });
}

test('a delivery stores the first 16 KiB of a longer response and destroys the socket', async (context) => {
  const before = process.memoryUsage().arrayBuffers;
  const closed: Promise<unknown>[] = [];
  const { url } = await receiver(context, ({ path }, _, response) => {
    response.writeHead(Number(path.slice('/hook?'.length)), path.endsWith('0') ? { 'content-length': 2 ** 30 } : {});
    closed.push(new Promise((resolve) => response.once('close', resolve)));
    flood(response);
  });
  for (const status of [200, 404]) {
    const exchange = await post(context, `${url}?${status}`);
    assert.equal(exchange.statusCode, status);
    assert.equal(exchange.failure, status === 200 ? null : 'answered 404');
    assert.equal(exchange.responseBody, 'x'.repeat(16 * KIB));
  }
  assert.equal(closed.length, 2);
  await Promise.all(closed);
  assert(process.memoryUsage().arrayBuffers - before < 50 * 2 ** 20);
});

test('a delivery stores a response of 16 KiB completely and reuses the connection', async (context) => {
  const text = 'y'.repeat(16 * KIB);
  const { url, connections } = await receiver(context, (_, __, response) => void response.end(text));
  const deliverer = createDeliverer({ targets: 'loopback', resolve: toLoopback, now: () => START, limits: PATIENT });
  context.after(() => deliverer.close());
  for (let count = 0; count < 5; count++) {
    assert.equal((await deliverer.deliver(url, {}, '{}')).responseBody, text);
  }
  // Two connections are allowed, because the next delivery can begin before the first connection is free.
  assert(connections() <= 2);
});

test('a delivery does not decompress the response', async (context) => {
  const bomb = gzipSync(Buffer.alloc(64 * 2 ** 20));
  const { url } = await receiver(context, (_, __, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb);
  });
  const { statusCode, responseBody } = await post(context, url);
  assert.equal(statusCode, 200);
  assert(responseBody.length <= 16 * KIB);
});

test('the stored part of a response is valid Unicode', async (context) => {
  const bytes = Buffer.concat([
    Buffer.from('a\0b✓'),
    Buffer.from([0xff, 0xc3, 0x28, 0xed, 0xa0, 0x80]),
    Buffer.from('z'),
  ]);
  const { url } = await receiver(context, (_, __, response) => void response.end(bytes));
  const { responseBody } = await post(context, url);
  assert.match(responseBody, /^a\u{fffd}b✓\u{fffd}+\(\u{fffd}+z$/u);
  assert(responseBody.isWellFormed());

  const half = await receiver(context, (_, __, response) => void response.end('x'.repeat(16 * KIB - 1) + '✓'));
  assert.equal((await post(context, half.url)).responseBody, 'x'.repeat(16 * KIB - 1));
});

test('a broken connection and an invalid response have a readable failure', async (context) => {
  const headers = Array.from({ length: 10_000 }, (_, index) => `x-${index}: y\r\n`).join('');
  const talks: [RegExp, (socket: Socket) => void][] = [
    [/ECONNRESET/, (socket) => socket.resetAndDestroy()],
    [/closed/, (socket) => socket.end()],
    [/HTTP/, (socket) => socket.end('\x16\x03\x01 not http at all\r\n\r\n')],
    [/Headers/, (socket) => socket.end(`HTTP/1.1 200 OK\r\n${headers}\r\n`)],
  ];
  for (const [failure, respond] of talks) {
    const { url } = await rawReceiver(context, respond);
    const exchange = await post(context, url);
    assert.equal(exchange.statusCode, null);
    assert.match(exchange.failure!, failure);
  }
});

test('an unreachable destination has a readable failure', async (context) => {
  const plain = await rawReceiver(context, (socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  for (const [url, failure] of [
    // This port has no listener.
    ['http://127.0.0.1:1/', /^connection refused$/],
    ['http://nobody.example/', /ENOTFOUND/],
    ['http://10.0.0.1/', /^blocked destination: 10.0.0.1 is private$/],
    ['not a url', /not an http or https URL/],
    ['ftp://127.0.0.1/', /not an http or https URL/],
    [plain.url.replace('http:', 'https:'), /SSL|EPROTO/],
  ] as const) {
    const resolve = url.includes('nobody') ? toUnknownName : toLoopback;
    assert.match((await post(context, url, { resolve })).failure!, failure);
  }
});

test('closing the deliverer aborts requests in progress', async (context) => {
  const arrived = Promise.withResolvers<void>();
  const { url } = await rawReceiver(context, () => arrived.resolve());
  const deliverer = createDeliverer({ targets: 'loopback', resolve: toLoopback, now: () => START, limits: PATIENT });
  const exchange = deliverer.deliver(url, {}, '{}');
  await arrived.promise;
  await deliverer.close();
  assert.equal((await exchange).statusCode, null);
});
