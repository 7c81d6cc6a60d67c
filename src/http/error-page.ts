import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import Negotiator from 'negotiator';
import type { ErrorCode, GatewayError } from '../domain/gateway-error.ts';
import { addVary } from '../html/content.ts';
import { type Html, html } from '../html/html.ts';
import { HTTP_STATUS } from './error-responses.ts';
import { sitePage } from './site.ts';

// Paths that only programs request: their errors are JSON, regardless of the `Accept` header.
const FOR_PROGRAMS =
  /^\/(?:(?:api|mcp|simulator\/api|\.well-known|healthz|readyz)(?:[/?#]|$)|[\w-]+\.(?:json|txt|yaml)(?:[?#]|$))/;

/** Title and text of the error pages by error code. A page without a text here shows the message and suggestion of the error. */
const PAGES: Partial<Record<ErrorCode, [title: string, text?: string]>> = {
  not_found: ['Page not found', 'No page has this address. It may be mistyped, or the page may have moved.'],
  forbidden: ['Not allowed'],
  method_not_allowed: [
    'This page cannot be opened directly',
    'This address works only as part of a form. Start again from the page with the form.',
  ],
  rate_limited: ['Too many requests', 'Too many requests came from your network in a short time. Try again in {wait}.'],
  unavailable: ['Temporarily unavailable', 'The service cannot answer right now. Try again in a moment.'],
  internal_error: [
    'Server error',
    'The request could not be completed. If the error occurs again, tell the operator the reference below.',
  ],
};

/** Makes the app render errors as pages for browsers; programs get JSON. */
export function errorPages(app: FastifyInstance): void {
  app.decorate('errorPage', siteErrorPage);
}

function siteErrorPage(
  { code, message, details }: GatewayError,
  request: FastifyRequest,
  reply: FastifyReply,
): Html | undefined {
  if (FOR_PROGRAMS.test(request.url)) return undefined;
  addVary(reply, 'accept');
  // Lists JSON first, so that clients without a preference, such as curl, get JSON.
  const preferred = new Negotiator(request).mediaType(['application/json', 'text/html']);
  if (preferred !== 'text/html') return undefined;
  const [title, text = `${message} ${details.suggestion ?? ''}`] = PAGES[code] ?? ['The request was rejected'];
  const seconds = Number(reply.getHeader('retry-after'));
  const wait = seconds === 1 ? '1 second' : `${seconds} seconds`;
  return sitePage(
    `${title} - Tillway`,
    html`<section class="hero">
      <p class="eyebrow">Error ${HTTP_STATUS[code]}</p>
      <h1>${title}</h1>
      <p class="lead">${text.replace('{wait}', wait)}</p>
      <p class="links"><a class="button" href="/">Go to the front page</a> <a href="/docs">API reference</a></p>
      <p class="foot">Reference: <code>${request.id}</code></p>
    </section>`,
  );
}
