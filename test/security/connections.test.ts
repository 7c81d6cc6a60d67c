import assert from 'node:assert/strict';
import { type RequestListener, createServer } from 'node:http';
import { type AddressInfo, type Socket, connect } from 'node:net';
import { describe, it } from 'node:test';
import { pino } from 'pino';
import { guardConnections } from '../../src/http/connections.ts';
import { LINGER_MS } from '../../src/http/linger.ts';
import { MAX_UNANSWERED } from '../../src/http/turns.ts';
import { listenBeside } from '../../src/service/addresses.ts';

const log = pino({ level: 'silent' });
// More than the system takes for a caller that does not read.
const LARGE = Buffer.alloc(32 * 1024 * 1024, 'x');
const PART = Buffer.alloc(1024 * 1024, 'x');

interface Limits {
  maxConnections?: number;
  answerTimeoutMs?: number;
  /** Of a whole request. */
  requestTimeoutMs?: number;
  keepAliveTimeoutMs?: number;
}

interface Guarded extends AsyncDisposable {
  port: number;
  /** Paths and bodies that were carried out. */
  done: string[];
  /** The most requests that were under way at once. */
  most: number;
  /** Fulfilled once a first request has come, if without its body. */
  begun: Promise<void>;
  /** Requests that have not come as a whole are late from now on. */
  timeOut(): void;
  /** Fulfilled once the server has closed so many connections. */
  closed(count: number): Promise<void>;
  listenAt(address: string): Promise<void>;
  /** Takes no more connections; fulfilled once the last has ended. */
  stop(): Promise<void>;
}

/** A server that carries out what it is sent once the body is there, a moment later. */
async function guarded(limits: Limits = {}, more?: RequestListener): Promise<Guarded> {
  const {
    maxConnections = 100,
    answerTimeoutMs = 60_000,
    requestTimeoutMs = 60_000,
    keepAliveTimeoutMs = 60_000,
  } = limits;
  let [under, closed] = [0, 0];
  const waiting: [count: number, resolve: () => void][] = [];
  const sockets = new Set<Socket>();
  const first = Promise.withResolvers<void>();
  const own: Guarded = {
    port: 0,
    done: [],
    most: 0,
    begun: first.promise,
    timeOut: () => void Object.assign(server, { headersTimeout: 1, requestTimeout: 1 }),
    closed: (count) => new Promise((resolve) => (closed >= count ? resolve() : waiting.push([count, resolve]))),
    listenAt: (address) => listenBeside(server, address, own.port, log),
    stop: () => new Promise((resolve) => server.close(() => resolve())),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  const handle: RequestListener = (request, response) => {
    if (request.url === '/large') return void response.writeHead(413, { connection: 'close' }).end();
    own.most = Math.max(own.most, (under += 1));
    first.resolve();
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () =>
      setImmediate(() => {
        under -= 1;
        own.done.push(request.url! + body);
        if (more) more(request, response);
        else response.end(request.url);
      }),
    );
  };
  const options = {
    requestTimeout: requestTimeoutMs,
    headersTimeout: requestTimeoutMs,
    connectionsCheckingInterval: 20,
    keepAliveTimeout: keepAliveTimeoutMs,
    keepAliveTimeoutBuffer: 1,
  };
  const server = createServer(options, handle);
  const guard = guardConnections({
    maxConnections,
    answerTimeoutMs,
    headers: {},
    newRequestId: () => 'req_1',
    requests: undefined,
    log,
    allowedAt: (path) => `at ${path}`,
  });
  guard.watch(server);
  server.on('clientError', (error, socket) => guard.onClientError(error, socket as Socket));
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => {
      sockets.delete(socket);
      closed += 1;
      for (const [count, resolve] of waiting) if (closed >= count) resolve();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  own.port = (server.address() as AddressInfo).port;
  return own;
}

interface Caller {
  socket: Socket;
  text(): string;
  closed: Promise<string>;
  /** Fulfilled once the text is part of what was answered. */
  seen(part: string): Promise<void>;
}

function call(port: number, bytes: string, address = '127.0.0.1'): Caller {
  const socket = connect({ port, host: address, allowHalfOpen: true });
  let text = '';
  let onData = () => {};
  socket.on('error', () => {});
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
    onData();
  });
  socket.write(bytes);
  return {
    socket,
    text: () => text,
    closed: new Promise((resolve) => {
      socket.once('end', () => resolve(text));
      socket.once('close', () => resolve(text));
    }),
    seen: (part) =>
      new Promise((resolve) => {
        onData = () => text.includes(part) && resolve();
        onData();
      }),
  };
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`;
const post = (path: string, body: string, length = body.length) =>
  `POST ${path} HTTP/1.1\r\nhost: a\r\ncontent-length: ${length}\r\n\r\n${body}`;
const statuses = (text: string) => [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));

describe('a connection over the limit', () => {
  it('is closed whatever its caller does, nothing of it is carried out, and it takes no place', async () => {
    await using server = await guarded({ maxConnections: 1 });
    const held = call(server.port, get('/held'));
    await held.seen('/held');
    const refused = call(server.port, post('/pay', '{}') + get('/more'));
    const drip = setInterval(() => refused.socket.write(post('/pay', '{}')), 20);
    assert.deepEqual(statuses(await refused.closed), [503]);
    await server.closed(1);
    clearInterval(drip);
    held.socket.destroy();
    await server.closed(2);
    assert.match(await call(server.port, `GET /next HTTP/1.0\r\n\r\n`).closed, / 200 OK/);
    assert.deepEqual(server.done, ['/held', '/next']);
  });

  it('is refused at every address that leads to the server', async () => {
    await using server = await guarded({ maxConnections: 1 });
    await server.listenAt('127.0.0.2');
    const held = call(server.port, get('/held'), '127.0.0.2');
    await held.seen('/held');
    assert.deepEqual(statuses(await call(server.port, get('/more')).closed), [503]);
    assert.deepEqual(statuses(await call(server.port, get('/more'), '127.0.0.2').closed), [503]);
    assert.deepEqual(server.done, ['/held']);
  });
});

describe('what follows a request on its connection and is refused', () => {
  const rests = {
    'a byte too much': '\0',
    'no HTTP': 'rubbish\r\n\r\n',
    'an unknown method': 'BREW /tea HTTP/1.1\r\nhost: a\r\n\r\n',
    CONNECT: 'CONNECT a:1 HTTP/1.1\r\nhost: a:1\r\n\r\n',
    'half a body that breaks off': 'POST /b HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n',
  };
  for (const [name, rest] of Object.entries(rests)) {
    it(`lets the answers that are owed go out, and says nothing else: ${name}`, async () => {
      await using server = await guarded();
      const text = await call(server.port, post('/first', '{}') + get('/second') + rest).closed;
      assert.deepEqual(statuses(text), [200, 200]);
      assert.match(text, /connection: close[\s\S]*\/second$/i);
      assert.deepEqual(server.done, ['/first{}', '/second']);
    });
  }

  it('is answered 405 for its own path alone', async () => {
    await using server = await guarded();
    const caller = call(server.port, post('/first', '{}'));
    await caller.seen('/first');
    caller.socket.write('\r\nBREW /tea HTTP/1.1\r\nhost: a\r\n\r\n');
    const text = await caller.closed;
    assert.deepEqual(statuses(text), [200, 405]);
    assert.match(text, /allow: at \/tea\r\n/);
  });

  it('is answered 417 in its turn, and nothing behind it is carried out', async () => {
    await using server = await guarded();
    const expecting = 'POST /b HTTP/1.1\r\nhost: a\r\nexpect: 200-ok\r\ncontent-length: 0\r\n\r\n';
    const text = await call(server.port, post('/first', '{}') + expecting + get('/third')).closed;
    assert.deepEqual([statuses(text), server.done], [[200, 417], ['/first{}']]);
  });

  it('is not carried out when its body comes after the 408', async () => {
    await using server = await guarded();
    const caller = call(server.port, post('/late', '{', 2));
    // One of which nothing has been read by then is closed without an answer.
    await server.begun;
    server.timeOut();
    await caller.seen('408');
    caller.socket.write(`}${get('/later')}`);
    assert.deepEqual(statuses(await caller.closed), [408]);
    await server.closed(1);
    assert.deepEqual(server.done, []);
  });
});

describe('a caller who sends nothing more, and says so,', () => {
  it('gets every answer that is owed, and then the end', async () => {
    await using server = await guarded();
    const caller = call(server.port, '');
    caller.socket.end(post('/a', '{}') + get('/b') + post('/c', '{}'));
    assert.deepEqual(statuses(await caller.closed), [200, 200, 200]);
    await server.closed(1);
    assert.deepEqual(server.done, ['/a{}', '/b', '/c{}']);
  });

  it('is closed where nothing is owed, or half a request came', async () => {
    await using server = await guarded();
    const kept = call(server.port, get('/kept'));
    await kept.seen('/kept');
    for (const { socket } of [kept, call(server.port, '')]) socket.end();
    const half = call(server.port, '');
    half.socket.end(post('/half', '{', 2));
    assert.deepEqual(statuses(await half.closed), [400]);
    await server.closed(3);
    assert.deepEqual(server.done, ['/kept']);
  });

  it('is closed where the answer is not read, or never comes', async () => {
    await using server = await guarded({ answerTimeoutMs: 50 }, (request, response) => {
      if (request.url === '/large-answer') response.end(LARGE);
    });
    const callers = ['/large-answer', '/never'].map((path) => {
      const { socket } = call(server.port, '');
      return socket.pause().end(get(path));
    });
    await server.closed(2);
    for (const socket of callers) socket.destroy();
  });
});

describe('a connection', () => {
  it('that is opened ahead and not used ends without a word', async () => {
    await using server = await guarded({ requestTimeoutMs: 50 });
    assert.equal(await call(server.port, '').closed, '');
    await server.closed(1);
  });

  it('whose upload is refused is not reset under what is still on its way', async (context) => {
    const { setTimeout } = globalThis;
    // All of it is on its way before the time is over.
    const patient = (run: () => void, ms: number) => setTimeout(run, ms === LINGER_MS ? 100 * LINGER_MS : ms);
    context.mock.method(globalThis, 'setTimeout', patient as typeof setTimeout);
    await using server = await guarded();
    const caller = call(server.port, post('/large', 'x', 5_000_000));
    const faults: unknown[] = [];
    caller.socket.on('error', (error) => faults.push(error));
    assert.deepEqual(statuses(await caller.closed), [413]);
    for (let sent = 0; sent < 4; sent++) await new Promise((resolve) => caller.socket.write(PART, resolve));
    caller.socket.end();
    await server.closed(1);
    assert.deepEqual(faults, []);
  });
});

describe('requests that are sent before others are answered', () => {
  it('are carried out one after the other', async () => {
    await using server = await guarded();
    const texts = ['/a', '/b', '/c'].map((path) => post(path, path));
    const text = await call(server.port, `${texts.join('')}GET /d HTTP/1.0\r\n\r\n`).closed;
    assert.deepEqual(
      [statuses(text), server.done],
      [
        [200, 200, 200, 200],
        ['/a/a', '/b/b', '/c/c', '/d'],
      ],
    );
    assert.equal(server.most, 1);
  });

  it('are not carried out behind an answer that ends the connection', async () => {
    await using server = await guarded();
    const text = await call(server.port, `GET /a HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n${get('/b')}`).closed;
    assert.deepEqual([statuses(text), server.done], [[200], ['/a']]);
  });

  it(`may be ${MAX_UNANSWERED}; with one more the connection is closed`, async () => {
    await using server = await guarded();
    const enough = call(server.port, get('/a').repeat(MAX_UNANSWERED - 1) + get('/last'));
    await enough.seen('/last');
    assert.equal(server.done.length, MAX_UNANSWERED);
    await call(server.port, get('/a').repeat(MAX_UNANSWERED + 1)).closed;
    await server.closed(1);
    assert.ok(server.done.length <= MAX_UNANSWERED + 1);
  });

  it('may be as many again once those are answered', async () => {
    await using server = await guarded();
    const caller = call(server.port, '');
    for (let index = 0; index < 3; index++) {
      caller.socket.write(get(`/${index}`).repeat(MAX_UNANSWERED - 1) + get(`/end-${index}`));
      await caller.seen(`/end-${index}`);
    }
    assert.equal(server.done.length, 3 * MAX_UNANSWERED);
    assert.equal(server.most, 1);
  });
});

describe('an answer', () => {
  it('that nobody reads is given up, also where more comes in', async () => {
    await using server = await guarded({ answerTimeoutMs: 100 }, (_request, response) => response.end(LARGE));
    const caller = call(server.port, get('/'));
    caller.socket.pause();
    const busy = call(server.port, get('/').repeat(5));
    busy.socket.pause();
    const drip = setInterval(() => busy.socket.write(get('/')), 20);
    await server.closed(2);
    clearInterval(drip);
    for (const { socket } of [caller, busy]) socket.destroy();
  });

  it('that has a pause stays open, and its connection is closed when idle after it', async () => {
    const limits = { answerTimeoutMs: 100, keepAliveTimeoutMs: 50 };
    await using server = await guarded(limits, (_request, response) => {
      // The system takes it at once: of a larger part, something could lie unread for too long.
      response.write('the start');
      setTimeout(() => response.end('the end'), 4 * limits.answerTimeoutMs);
    });
    const caller = call(server.port, get('/'));
    await caller.seen('the end');
    await server.closed(1);
  });

  it('that is under way at a stop is the last of its connection, but for what came before its caller could know', async () => {
    let finish = () => {};
    await using server = await guarded({}, (request, response) => {
      if (request.url === '/next') return void response.end('the next');
      response.write('half');
      finish = () => void response.end('the end');
    });
    const caller = call(server.port, get('/'));
    await caller.seen('half');
    const stopped = server.stop();
    // Read once the answer before it is over.
    caller.socket.write(get('/next'));
    finish();
    await stopped;
    assert.match(await caller.closed, /the end[^]*the next/);
  });
});
