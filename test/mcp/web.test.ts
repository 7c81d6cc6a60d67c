import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { type FastifyInstance, fastify } from 'fastify';
import { answerWith } from '../../src/mcp/web.ts';

async function served(
  handle: (request: Request) => Promise<Response>,
  onClose: () => void = () => undefined,
): Promise<FastifyInstance> {
  const app = fastify();
  app.post('/mcp', (request, reply) => {
    reply.raw.once('close', onClose);
    return answerWith(handle, 'https://pay.example/mcp', request, reply);
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  return app;
}

const addressOf = (app: FastifyInstance) => `${app.listeningOrigin}/mcp`;
const POST = { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } };

test('status, headers and body are those of the handler, which sees the request under our own address', async () => {
  const app = await served(async (request) => {
    assert.deepEqual([request.url, request.method], ['https://pay.example/mcp', 'POST']);
    assert.equal(request.headers.get('accept'), 'text/plain, text/html');
    assert.notEqual(request.headers.get('x-request-id'), 'forged');
    return Response.json({ fine: true }, { status: 400, headers: { allow: 'POST' } });
  });
  try {
    const headers = { ...POST.headers, accept: 'text/plain, text/html', 'x-request-id': 'forged' };
    const answer = await fetch(addressOf(app), { ...POST, headers });
    assert.deepEqual([answer.status, answer.headers.get('allow')], [400, 'POST']);
    assert.equal(answer.headers.get('content-length'), '13');
    assert.deepEqual(await answer.json(), { fine: true });
  } finally {
    await app.close();
  }
});

test('neither the connection nor what may be kept of an answer is for the handler to say', async () => {
  const said = { connection: 'upgrade', 'keep-alive': 'timeout=9999', 'cache-control': 'no-cache' };
  const app = await served(() => Promise.resolve(Response.json({}, { headers: said })));
  try {
    const { headers } = await fetch(addressOf(app), POST);
    for (const [name, value] of Object.entries(said)) assert.notEqual(headers.get(name), value, name);
  } finally {
    await app.close();
  }
});

test('a stream comes as it is written, and a client that leaves ends it', async () => {
  const closed = Promise.withResolvers<void>();
  const ended: string[] = [];
  let write: (text: string) => void = () => assert.fail('nobody reads yet');
  const app = await served(async (request) => {
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
  try {
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
  } finally {
    await app.close();
  }
});
