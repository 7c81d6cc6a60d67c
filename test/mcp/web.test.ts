import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { type FastifyInstance, fastify } from 'fastify';
import { answerWith } from '../../src/mcp/web.ts';

async function served(
  handle: (request: Request) => Promise<Response>,
  onClose: () => void = () => undefined,
): Promise<FastifyInstance & AsyncDisposable> {
  const app = fastify();
  app.post('/mcp', (request, reply) => {
    reply.raw.once('close', onClose);
    return answerWith(handle, 'https://pay.example/mcp', request, reply);
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  return Object.assign(app, { [Symbol.asyncDispose]: () => app.close() });
}

const addressOf = (app: FastifyInstance) => `${app.listeningOrigin}/mcp`;
const POST = { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } };

test('the response of the handler is sent, and the handler sees the request under the public address', async () => {
  await using app = await served(async (request) => {
    assert.deepEqual([request.url, request.method], ['https://pay.example/mcp', 'POST']);
    assert.equal(request.headers.get('accept'), 'text/plain, text/html');
    assert.notEqual(request.headers.get('x-request-id'), 'forged');
    return Response.json({ fine: true }, { status: 400, headers: { allow: 'POST' } });
  });
  const headers = { ...POST.headers, accept: 'text/plain, text/html', 'x-request-id': 'forged' };
  const answer = await fetch(addressOf(app), { ...POST, headers });
  assert.deepEqual([answer.status, answer.headers.get('allow')], [400, 'POST']);
  assert.equal(answer.headers.get('content-length'), '13');
  assert.deepEqual(await answer.json(), { fine: true });
});

test('a stream is sent as it is written, and ends when the client disconnects', async () => {
  const closed = Promise.withResolvers<void>();
  const ended: string[] = [];
  let write: (text: string) => void = () => assert.fail('nobody reads yet');
  await using app = await served(async (request) => {
    request.signal.addEventListener('abort', () => ended.push('request'));
    const stream = new ReadableStream({
      start(controller) {
        write = (text) => controller.enqueue(new TextEncoder().encode(text));
        write('data: 1\n\n');
      },
      cancel: () => void ended.push('stream'),
    });
    return new Response(stream, { headers: { 'content-type': 'text/event-stream' } });
  }, closed.resolve);
  const left = new AbortController();
  const answer = await fetch(addressOf(app), { ...POST, signal: left.signal });
  assert.equal(answer.headers.get('content-type'), 'text/event-stream');
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  assert.equal((await reader.read()).value, 'data: 1\n\n');
  write('data: 2\n\n');
  assert.equal((await reader.read()).value, 'data: 2\n\n');
  left.abort();
  await closed.promise;
  await setImmediate();
  assert.deepEqual(ended.toSorted(), ['request', 'stream']);
});
