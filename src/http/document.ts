import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Content, createContent, sendContent, addVary } from '../html/content.ts';

export interface PublicDocument {
  content: Content;
  /** Lifetime in caches; 0: revalidate each time. */
  maxAgeSeconds: number;
}

/** Headers of documents that describe the service and contain no record and no secret. */
export const READABLE_BY_ALL_SITES = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'link, etag',
} as const;

/** A document that is the same for all callers. */
export function publicDocument(body: string, type: string, maxAgeSeconds: number): PublicDocument {
  return { content: createContent(body, type), maxAgeSeconds };
}

/** Sends the document compressed, or 304 if the caller has it already. */
export function sendDocument(
  request: FastifyRequest,
  reply: FastifyReply,
  { content, maxAgeSeconds }: PublicDocument,
): Promise<FastifyReply> {
  const { authorization } = request.headers;
  // The document can differ by the environment of the key.
  const whose = authorization === undefined || maxAgeSeconds > 0 ? 'public' : 'private';
  reply.header('cache-control', `${whose}, max-age=${maxAgeSeconds}`);
  if (maxAgeSeconds === 0) addVary(reply, 'authorization');
  reply.headers(READABLE_BY_ALL_SITES);
  return sendContent(request, reply, content);
}
