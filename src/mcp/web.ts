import type { FastifyReply, FastifyRequest } from 'fastify';

/** The header under which a handler of {@link answerWith} finds the id of the request. */
export const REQUEST_ID = 'x-request-id';

// The connection is Node's to keep or to close, and what may be kept of an answer is said for every path alike.
const NOT_COPIED = new Set([
  'cache-control',
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Answers a request by a handler of the web's kind; `url` is its own address. */
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

/** Without the body, which is parsed already. A client that leaves ends what is under way for it. */
function webRequest(url: string, request: FastifyRequest, reply: FastifyReply): Request {
  const left = new AbortController();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) left.abort();
  });
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    if (value !== undefined) headers.set(name, [value].flat().join(', '));
  }
  headers.set(REQUEST_ID, request.id);
  return new Request(url, { method: request.method, headers, signal: left.signal });
}
