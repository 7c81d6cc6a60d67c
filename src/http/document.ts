import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AppDeps } from './app.ts';

/** A description of this service that holds no record of anybody. */
export interface PublicDocument {
  bytes: Buffer;
  etag: string;
  /** Media type. */
  type: string;
  /** How long it may be used without asking again; 0: ask each time. */
  maxAgeSeconds: number;
}

/** Makes what is sent as often as it is asked for: callers share its bytes. */
export function publicDocument(body: string, type: string, maxAgeSeconds: number): PublicDocument {
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
  return { bytes: Buffer.from(body), etag, type, maxAgeSeconds };
}

/** Sends it, or 304 where the caller has it already. */
export function sendDocument(
  request: FastifyRequest,
  reply: FastifyReply,
  { allowedHosts }: Pick<AppDeps, 'allowedHosts'>,
  { bytes, etag, type, maxAgeSeconds }: PublicDocument,
): FastifyReply {
  const { authorization } = request.headers;
  // What is described can differ by the environment of a key.
  const whose = authorization === undefined || maxAgeSeconds > 0 ? 'public' : 'private';
  reply.headers({ etag, 'cache-control': `${whose}, max-age=${maxAgeSeconds}` });
  if (maxAgeSeconds === 0) reply.header('vary', 'authorization');
  // On loopback a page elsewhere could read it by the browser of whoever runs this.
  if (!allowedHosts) {
    reply.headers({ 'access-control-allow-origin': '*', 'access-control-expose-headers': 'link, etag' });
  }
  if (isKnown(request.headers['if-none-match'], etag)) return reply.code(304).send();
  // Of a text, Fastify would say the charset, which is no parameter of every type.
  return reply.type(type).send(bytes);
}

/** https://www.rfc-editor.org/rfc/rfc9110#section-13.1.2, by weak comparison. */
function isKnown(ifNoneMatch: string | undefined, etag: string): boolean {
  const tags = (ifNoneMatch ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes(etag) || tags.includes('*');
}
