import type { FastifyReply, FastifyRequest } from 'fastify';

// Headers that are not copied: Node manages the connection headers, and the app sets Cache-Control.
const NOT_COPIED = new Set(
  'cache-control connection keep-alive proxy-connection te trailer transfer-encoding upgrade'.split(' '),
);

/** Answers a Fastify request with a fetch handler. `url` is the public URL of the request. */
export async function answerWith(
  handle: (request: Request) => Promise<Response>,
  url: string,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const answer = await handle(webRequest(url, request, reply));
  const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream') === true;
  return reply
    .code(answer.status)
    .headers(Object.fromEntries([...answer.headers].filter(([name]) => !NOT_COPIED.has(name))))
    .send(isStream ? answer.body : await answer.text());
}

/** Web request without a body, which is already parsed. Aborted when the client disconnects. */
function webRequest(url: string, request: FastifyRequest, reply: FastifyReply): Request {
  const disconnected = new AbortController();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) disconnected.abort();
  });
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    if (value !== undefined) headers.set(name, [value].flat().join(', '));
  }
  return new Request(url, { method: request.method, headers, signal: disconnected.signal });
}
