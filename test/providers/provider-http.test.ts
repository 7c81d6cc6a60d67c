import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { NoAnswer, createHttpClient } from '../../src/providers/provider-http.ts';
import { startServer } from '../support/http-server.ts';

function clientOf(origin: string, now: () => number = () => 0) {
  return createHttpClient({ origin, headers: { authorization: 'Bearer key' }, requestIdHeader: 'request-id', now });
}

/** Returns what the error of a rejected call reports: whether the request was sent. */
async function sentBefore(failing: Promise<unknown>): Promise<boolean> {
  const error = await failing.then(
    () => assert.fail('the call did not reject'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof NoAnswer, String(error));
  return error.wasSent;
}

test('the HTTP client returns the status, the JSON and the request id', async () => {
  await using server = await startServer((request, response) => {
    response.writeHead(402, { 'request-id': 'req_1' }).end(JSON.stringify({ key: request.headers.authorization }));
  });
  const answer = await clientOf(server.url)({ method: 'GET', path: '/v1/account' });
  const { text, ...parsed } = answer;
  assert.deepEqual(parsed, { status: 402, json: { key: 'Bearer key' }, requestId: 'req_1' });
  assert.deepEqual(JSON.parse(text), parsed.json);
});

test('the HTTP client follows no redirect, and leaves `json` undefined for a body that is not JSON', async () => {
  await using server = await startServer((_request, response) => {
    response.writeHead(302, { location: '/elsewhere' }).end('moved');
  });
  const answer = await clientOf(server.url)({ method: 'GET', path: '/' });
  const { text: _text, ...parsed } = answer;
  assert.deepEqual(parsed, { status: 302, json: undefined, requestId: null });
});

test('the HTTP client reports "not sent" if it cannot connect, and "sent" after a reset, a time-out or an oversized answer', async () => {
  const closed = await startServer(() => undefined);
  await closed[Symbol.asyncDispose]();
  assert.equal(await sentBefore(clientOf(closed.url)({ method: 'GET', path: '/' })), false);
  assert.equal(await sentBefore(clientOf('http://host.invalid')({ method: 'GET', path: '/' })), false);

  await using server = await startServer((request, response) => {
    if (request.url === '/reset') request.socket.destroy();
    if (request.url === '/large') response.end('x'.repeat(1024 * 1024 + 1));
  });
  const call = clientOf(server.url);
  assert.equal(await sentBefore(call({ method: 'POST', path: '/reset', body: '{}' })), true);
  assert.equal(await sentBefore(call({ method: 'GET', path: '/large' })), true);
  assert.equal(await sentBefore(call({ method: 'GET', path: '/hang', timeoutMs: 50 })), true);
});

test('the HTTP client sends no request to an https origin whose server does not speak TLS', async () => {
  const received: string[] = [];
  const plain = createServer((socket) => socket.on('data', (bytes) => (received.push(bytes.toString()), socket.end())));
  await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve));
  const { port } = plain.address() as { port: number };
  await assert.rejects(clientOf(`https://127.0.0.1:${port}`)({ method: 'GET', path: '/secret' }), NoAnswer);
  assert.ok(!received.join('').includes('secret'));
  plain.close();
});

test('after a 429 the HTTP client sends no request until the time in Retry-After has passed', async () => {
  let now = 1_000_000;
  let requests = 0;
  await using server = await startServer((_request, response) => {
    requests++;
    response.writeHead(requests === 1 ? 429 : 200, requests === 1 ? { 'retry-after': '7 ' } : {}).end('{}');
  });
  const call = clientOf(server.url, () => now);
  assert.equal((await call({ method: 'GET', path: '/' })).status, 429);
  now += 6999;
  assert.equal(await sentBefore(call({ method: 'GET', path: '/' })), false);
  assert.equal(requests, 1);
  now += 1;
  assert.equal((await call({ method: 'GET', path: '/' })).status, 200);
});
