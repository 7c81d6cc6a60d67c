import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Content, addVary, createContent, sendContent } from '../html/content.ts';

const FIXED_SECONDS = 300;

/** CORS headers that allow pages of all sites to read a document. Only for documents without records and secrets. */
export const READABLE_BY_ALL_SITES = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'link, etag',
} as const;

/** Serves a document that is the same for all callers. `make` renders it at the first request, which keeps the start fast. */
export function serveDocument(
  app: FastifyInstance,
  path: string,
  type: string,
  make: () => string,
  headers: Record<string, string> = {},
): void {
  let content: Content | undefined;
  app.get(path, (request, reply) => {
    content ??= createContent(make(), type);
    return sendDocument(request, reply.headers(headers), content, FIXED_SECONDS);
  });
}

/** Sends a compressed document, or 304 if the caller's copy is current. With `maxAgeSeconds` 0, caches revalidate at each use. */
export function sendDocument(
  request: FastifyRequest,
  reply: FastifyReply,
  content: Content,
  maxAgeSeconds: number,
): Promise<FastifyReply> {
  const { authorization } = request.headers;
  // Only private caches may store a response to a request with a key, because the document can depend on the key's environment.
  const cacheScope = authorization === undefined || maxAgeSeconds > 0 ? 'public' : 'private';
  reply.header('cache-control', `${cacheScope}, max-age=${maxAgeSeconds}`);
  if (maxAgeSeconds === 0) addVary(reply, 'authorization');
  reply.headers(READABLE_BY_ALL_SITES);
  return sendContent(request, reply, content);
}
