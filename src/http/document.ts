import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AppDeps } from './app.ts';

/** A description of this service that holds no record of anybody. */
export interface PublicDocument {
  body: string;
  /** Media type. */
  type: string;
  /** How long it may be used without asking again; 0: ask each time. */
  maxAgeSeconds: number;
}

/** Sends it, or 304 where the caller has it already. */
export function sendDocument(
  request: FastifyRequest,
  reply: FastifyReply,
  { allowedHosts }: Pick<AppDeps, 'allowedHosts'>,
  { body, type, maxAgeSeconds }: PublicDocument,
): FastifyReply {
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
  reply.headers({ etag, 'cache-control': `public, max-age=${maxAgeSeconds}` });
  // On loopback a page elsewhere could read it by the browser of whoever runs this.
  if (!allowedHosts) {
    reply.headers({ 'access-control-allow-origin': '*', 'access-control-expose-headers': 'link, etag' });
  }
  if (isKnown(request.headers['if-none-match'], etag)) return reply.code(304).send();
  // Of a text, Fastify would say the charset, which is no parameter of every type.
  return reply.type(type).send(Buffer.from(body));
}

/** https://www.rfc-editor.org/rfc/rfc9110#section-13.1.2, by weak comparison. */
function isKnown(ifNoneMatch: string | undefined, etag: string): boolean {
  const tags = (ifNoneMatch ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes(etag) || tags.includes('*');
}
