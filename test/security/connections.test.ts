import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { type AddressInfo, type Socket, connect } from 'node:net';
import { describe, it } from 'node:test';
import { pino } from 'pino';
import { createConnections } from '../../src/http/http-server.ts';

const log = pino({ level: 'silent' });
/** Response body larger than the socket buffers, so that sending it waits for the client to read. */
const LARGE = Buffer.alloc(32 * 1024 * 1024, 'x');

/** Starts a server with the limits of the service; the server responds when the body of a request is complete. */
async function startServer(
  { maxConnections = 100, requestTimeoutMs = 60_000, idleTimeoutMs = 60_000 } = {},
  handle?: RequestListener,
) {
  const connections = createConnections({
    maxConnections,
    headersTimeoutMs: requestTimeoutMs,
    requestTimeoutMs,
    headers: {},
    newRequestId: () => 'req_1',
    requests: undefined,
    log,
    allowedAt: (path) => `at ${path}`,
  });
  /** Path and body of each handled request. */
  const handled: string[] = [];
  const echo: RequestListener = (request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () =>
      setImmediate(() => {
        handled.push(request.url! + body);
        response.end(request.url);
      }),
    );
  };
  const server = connections.serverFactory(handle ?? echo);
  Object.assign(server, { timeout: idleTimeoutMs, connectionsCheckingInterval: 20 });
  server.on('clientError', (error, socket) => connections.clientErrorHandler(error, socket as Socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    server,
    port: (server.address() as AddressInfo).port,
    handled,
    /** Resolves when a request has started. */
    begun: once(server, 'request'),
    timeOut: () => void Object.assign(server, { headersTimeout: 1, requestTimeout: 1 }),
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Opens a client connection that sends the given bytes and records the received text. */
function send(port: number, bytes: string, address = '127.0.0.1') {
  const socket = connect(port, address);
  let received = '';
  let onData = () => {};
  socket.on('error', () => {});
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString('latin1');
    onData();
  });
  socket.write(bytes);
  return {
    socket,
    closed: new Promise<string>((resolve) => socket.once('close', () => resolve(received))),
    /** Resolves when the client has received the given text. */
    received: (part: string) =>
      new Promise<void>((resolve) => {
        onData = () => received.includes(part) && resolve();
        onData();
      }),
  };
}

const get = (path: string, headers = '') => `GET ${path} HTTP/1.1\r\nhost: a\r\n${headers}\r\n`;
const post = (path: string, body: string, length = body.length) =>
  `POST ${path} HTTP/1.1\r\nhost: a\r\ncontent-length: ${length}\r\n\r\n${body}`;
const statuses = (text: string) => [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));

describe('a connection above MAX_CONNECTIONS', () => {
  it('a connection above MAX_CONNECTIONS is closed without a response, runs no request, and does not count', async () => {
    await using limited = await startServer({ maxConnections: 1 });
    const held = send(limited.port, get('/held'));
    await held.received('/held');
    assert.equal(await send(limited.port, post('/pay', '{}')).closed, '');
    held.socket.destroy();
    await held.closed;
    while ((await send(limited.port, get('/next', 'connection: close\r\n')).closed) === '');
    assert.deepEqual(limited.handled, ['/held', '/next']);
  });
});

describe('a pipelined request', () => {
  it('a pipelined request in the packet of the previous request closes the connection', async () => {
    await using limited = await startServer();
    let begun = 0;
    limited.server.on('request', () => (begun += 1));
    await send(limited.port, get('/a').repeat(1000)).closed;
    assert.equal(begun, 1);
  });

  it('a pipelined request in a later packet closes the connection', async () => {
    await using limited = await startServer({}, () => {});
    let begun = 0;
    limited.server.on('request', () => (begun += 1));
    const client = send(limited.port, get('/never-answered'));
    await limited.begun;
    client.socket.write(post('/pay', '{}'));
    assert.equal(await client.closed, '');
    assert.equal(begun, 1);
  });

  it('a pipelined request does not run after a response that closes the connection', async () => {
    await using limited = await startServer();
    const client = send(limited.port, get('/a', 'connection: close\r\n'));
    await client.received('/a');
    client.socket.write(post('/pay', '{}'));
    await client.closed;
    assert.deepEqual(limited.handled, ['/a']);
  });
});

describe('malformed bytes on a connection', () => {
  const rests = {
    'one extra byte': '\0',
    'text that is not HTTP': 'rubbish\r\n\r\n',
    'an unknown method': 'BREW /tea HTTP/1.1\r\nhost: a\r\n\r\n',
  };
  for (const [name, rest] of Object.entries(rests)) {
    it(`malformed bytes after a request close the connection without any response: ${name}`, async () => {
      await using limited = await startServer();
      assert.deepEqual(statuses(await send(limited.port, post('/first', '{}') + rest).closed), []);
    });
  }

  it('malformed bytes inside a chunked body are answered with 400, and the request does not run', async () => {
    await using limited = await startServer();
    const broken = 'POST /b HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n';
    assert.deepEqual(statuses(await send(limited.port, broken).closed), [400]);
    assert.deepEqual(limited.handled, []);
  });

  it('a request with an unknown method is answered with 405 and the allowed methods', async () => {
    await using limited = await startServer();
    const client = send(limited.port, post('/first', '{}'));
    await client.received('/first');
    client.socket.write('\r\nBREW /tea HTTP/1.1\r\nhost: a\r\n\r\n');
    const text = await client.closed;
    assert.deepEqual(statuses(text), [200, 405]);
    assert.match(text, /allow: at \/tea\r\n/);
  });
});

describe('a connection', () => {
  it('a connection whose request body is late is closed with 408, and the request does not run', async () => {
    await using limited = await startServer();
    const client = send(limited.port, post('/late', '{', 2));
    await limited.begun;
    limited.timeOut();
    await client.received('408');
    client.socket.write(`}${get('/later')}`);
    assert.deepEqual(statuses(await client.closed), [408]);
    assert.deepEqual(limited.handled, []);
  });

  it('a connection is closed without a response if the client sends nothing', async () => {
    await using limited = await startServer({ requestTimeoutMs: 50 });
    assert.equal(await send(limited.port, '').closed, '');
  });

  it('a connection is closed if the client does not read the response', async () => {
    await using limited = await startServer({ idleTimeoutMs: 100 }, (_request, response) => response.end(LARGE));
    const accepted = once(limited.server, 'connection');
    const client = send(limited.port, get('/'));
    client.socket.pause();
    const [socket] = (await accepted) as [Socket];
    await once(socket, 'close');
    client.socket.resume();
    assert.ok((await client.closed).length < LARGE.length, 'the client received the whole answer');
  });
});
