import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import Negotiator from 'negotiator';
import { GatewayError } from '../domain/gateway-error.ts';
import { type Content, HTML_TYPE, createContent, sendContent } from './content.ts';
import type { Html } from './html.ts';

/** Headers of every page. They allow no content of other origins, no inline content and no framing. */
export const PAGE_HEADERS = {
  'content-security-policy': [
    "default-src 'none'",
    "object-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
};

declare module 'fastify' {
  interface FastifyInstance {
    /** Renders the page for a failed request of this scope. Without it, or if it returns undefined, the answer is JSON. */
    errorPage?: ErrorPage;
  }
}

/** Renders an error for a person. `reply` already has its headers, such as Retry-After. */
export type ErrorPage = (refusal: GatewayError, request: FastifyRequest, reply: FastifyReply) => Html | undefined;

export function sendPage(reply: FastifyReply, status: number, page: Html): FastifyReply {
  return reply.code(status).headers(PAGE_HEADERS).type(HTML_TYPE).send(page.markup);
}

/** A page that is the same for all callers. */
export function sharedPage(page: Html): Content {
  return createContent(page.markup, HTML_TYPE);
}

/** Sends a shared page, compressed. Browsers revalidate it, because it links to the style sheets of this release. */
export function sendSharedPage(request: FastifyRequest, reply: FastifyReply, page: Content): Promise<FastifyReply> {
  reply.headers({ ...PAGE_HEADERS, 'cache-control': 'public, no-cache' });
  return sendContent(request, reply, page);
}

/** Redirects the browser with a GET. */
export function seeOther(reply: FastifyReply, location: string): FastifyReply {
  return reply.code(303).header('location', location).send();
}

/** Parses HTML forms as URLSearchParams. Rejects forms from pages outside of `ownUrls` with GatewayError `forbidden`. */
export function acceptForms(scope: FastifyInstance, ownUrls: readonly string[]): void {
  const own = originsOf(ownUrls);
  scope.addHook('onRequest', (request, _reply, done) => {
    const foreign = request.method === 'POST' && isFromForeignSite(request, own);
    done(foreign ? new GatewayError('forbidden', 'This form was sent from another site.') : undefined);
  });
  scope.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) =>
    done(null, new URLSearchParams(body as string)),
  );
}

export function originsOf(urls: readonly string[]): ReadonlySet<string> {
  return new Set(urls.map((url) => new URL(url).origin));
}

/** The fields of the form in a request; empty if the body is not a form. */
export function formOf(request: FastifyRequest): URLSearchParams {
  return request.body instanceof URLSearchParams ? request.body : new URLSearchParams();
}

/** Path parameter of a request. Its route must have the parameter. */
export function param(request: FastifyRequest, name: string): string {
  return (request.params as Record<string, string>)[name]!;
}

/** True for a program that asks for JSON instead of a page. */
export function wantsJson(request: FastifyRequest): boolean {
  return new Negotiator(request).mediaType(['text/html', 'application/json']) === 'application/json';
}

/** True if a page of another site caused the request; `own` are the origins of our pages. */
export function isFromForeignSite({ headers }: FastifyRequest, own: ReadonlySet<string>): boolean {
  const { 'sec-fetch-site': site, origin, host } = headers;
  if (site !== undefined) return site !== 'same-origin' && site !== 'none';
  // Our pages have the referrer policy no-referrer, so an old browser without Sec-Fetch-Site sends the origin `null`.
  if (origin === undefined || origin === 'null') return false;
  const from = URL.parse(origin);
  return from === null || (!own.has(from.origin) && from.host !== host);
}
