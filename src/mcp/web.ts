import type { FastifyReply, FastifyRequest } from 'fastify';

// Response headers that are not copied: Node sets the headers of the connection, and the app sets Cache-Control.
const NOT_COPIED = new Set(
  'cache-control connection keep-alive proxy-connection te trailer transfer-encoding upgrade'.split(' '),
);

/** Answers a Fastify request with a handler of web requests. `url` is the public URL of the request. */
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

/** Converts a Fastify request to a web request without the body, which is already parsed. Aborts it if the client disconnects. */
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
