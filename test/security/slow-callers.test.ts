import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { call, sessionBody, startTestService } from '../support/service.ts';
import { SLOW_BODY, SLOW_HEADERS, openSlowSockets } from '../support/slow-sockets.ts';

const SLOW_CALLERS = 4000;
const CALLS = 100;
const TIMEOUT_SECONDS = '5';

test('2,000 callers with slow headers and 2,000 with slow bodies keep nobody waiting, and end with 408', async () => {
  await using tillway = await startTestService({
    variables: { HEADERS_TIMEOUT: TIMEOUT_SECONDS, REQUEST_TIMEOUT: TIMEOUT_SECONDS },
  });
  const port = Number(new URL(tillway.url).port);
  await using slow = await openSlowSockets(port, SLOW_CALLERS, [SLOW_HEADERS, SLOW_BODY]);
  let answeredMeanwhile = 0;
  for (let index = 0; index < CALLS; index++) {
    const created = await call('POST', `${tillway.url}/api/gateway/sessions`, sessionBody(), { connection: 'close' });
    assert.equal(created.status, 200);
    if (slow.open() > SLOW_CALLERS / 2) answeredMeanwhile++;
  }
  assert.ok(answeredMeanwhile > 0, 'nobody was answered while they were there');
  await slow.ended;
  assert.deepEqual(new Set(slow.answers), new Set(['HTTP/1.1 408 Request Timeout']));
  assert.equal(slow.answers.length, SLOW_CALLERS);
});

test('connections beyond MAX_CONNECTIONS are refused with 503, and taken again once others have gone', async () => {
  const limit = 10;
  await using tillway = await startTestService({ variables: { MAX_CONNECTIONS: String(limit) } });
  const port = Number(new URL(tillway.url).port);
  const held = await openSlowSockets(port, limit, [SLOW_HEADERS]);
  const body = JSON.stringify(sessionBody());
  const head = `host: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`;
  const refused = await answerTo(port, `POST /api/gateway/sessions HTTP/1.1\r\n${head}\r\n\r\n${body}`);
  assert.match(refused, /^HTTP\/1\.1 503 Service Unavailable\r\n/);
  assert.match(refused, /\r\nretry-after: 1\r\n/);
  assert.match(refused, /\{"ok":false,"error":\{"code":"unavailable"/);
  await held[Symbol.asyncDispose]();
  for (;;) {
    const answer = await answerTo(port, 'GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n');
    if (answer.startsWith('HTTP/1.1 200 ')) break;
    assert.match(answer, /^HTTP\/1\.1 503 /);
  }
  const { items } = await tillway.service.deps.store.listSessions({}, { limit: 1 });
  assert.deepEqual(items, [], 'what was refused was carried out');
});

test('fewer files than connections are said in the log', async () => {
  await using short = await startTestService({ variables: { MAX_CONNECTIONS: '1000000' } });
  await using enough = await startTestService({ variables: { MAX_CONNECTIONS: '10' } });
  const warnings = ({ logged }: { logged: string[] }) =>
    logged.filter((line) => line.includes('each connection needs a file'));
  assert.deepEqual([warnings(short).length, warnings(enough).length], [1, 0]);
});

test('a caller who is refused and does not close is closed', async () => {
  await using tillway = await startTestService();
  const socket = connect({ port: Number(new URL(tillway.url).port), host: '127.0.0.1', allowHalfOpen: true });
  const closed = new Promise((resolve) => socket.once('close', resolve));
  let drip: ReturnType<typeof setInterval> | undefined;
  socket.on('error', () => {});
  // It could go on sending for ever; the end of the connection is the server's.
  socket.on('end', () => (drip = setInterval(() => socket.write('x'), 50)));
  socket.resume();
  socket.write('not http\r\n\r\n');
  await closed;
  clearInterval(drip);
});

async function answerTo(port: number, request: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  let answer = '';
  socket.on('data', (chunk: Buffer) => (answer += chunk.toString('utf8')));
  socket.on('error', () => {});
  socket.write(request);
  await new Promise((resolve) => socket.once('close', resolve));
  return answer;
}
