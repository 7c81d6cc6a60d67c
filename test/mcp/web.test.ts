import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { type FastifyInstance, fastify } from 'fastify';
import { answerWith } from '../../src/mcp/web.ts';

async function startApp(
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

test('answerWith gives the handler a request with the public URL, and sends the response of the handler', async () => {
  await using app = await startApp(async (request) => {
    assert.deepEqual([request.url, request.method], ['https://pay.example/mcp', 'POST']);
    assert.equal(request.headers.get('accept'), 'text/plain, text/html');
    return Response.json({ fine: true }, { status: 400, headers: { allow: 'POST' } });
  });
  const headers = { ...POST.headers, accept: 'text/plain, text/html' };
  const answer = await fetch(addressOf(app), { ...POST, headers });
  assert.deepEqual([answer.status, answer.headers.get('allow')], [400, 'POST']);
  assert.equal(answer.headers.get('content-length'), '13');
  assert.deepEqual(await answer.json(), { fine: true });
});

test('answerWith sends each chunk of a stream at once, and cancels the stream when the client disconnects', async () => {
  const closed = Promise.withResolvers<void>();
  const ended: string[] = [];
  let write: (text: string) => void = () => assert.fail('the stream has not started');
  await using app = await startApp(async (request) => {
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
  const disconnect = new AbortController();
  const answer = await fetch(addressOf(app), { ...POST, signal: disconnect.signal });
  assert.equal(answer.headers.get('content-type'), 'text/event-stream');
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  assert.equal((await reader.read()).value, 'data: 1\n\n');
  write('data: 2\n\n');
  assert.equal((await reader.read()).value, 'data: 2\n\n');
  disconnect.abort();
  await closed.promise;
  await setImmediate();
  assert.deepEqual(ended.toSorted(), ['request', 'stream']);
});
