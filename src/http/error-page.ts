import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import Negotiator from 'negotiator';
import type { ErrorCode, GatewayError } from '../domain/gateway-error.ts';
import { addVary } from '../html/content.ts';
import { type Html, html } from '../html/html.ts';
import { HTTP_STATUS } from './error-responses.ts';
import { sitePage } from './site.ts';

// Only programs request these paths, so the answer is JSON whatever `Accept` contains.
const FOR_PROGRAMS =
  /^\/(?:(?:api|mcp|simulator\/api|\.well-known|healthz|readyz)(?:[/?#]|$)|[\w-]+\.(?:json|txt|yaml)(?:[?#]|$))/;

const TITLES: Partial<Record<ErrorCode, string>> = {
  not_found: 'Page not found',
  forbidden: 'Not allowed',
  method_not_allowed: 'This page cannot be opened that way',
  rate_limited: 'Too many requests',
  unavailable: 'Temporarily unavailable',
  internal_error: 'Something failed on this server',
};
const OTHER_TITLE = 'The request was refused';

/** Makes errors pages for browsers; programs still get JSON. */
export function errorPages(app: FastifyInstance): void {
  app.decorate('errorPage', siteErrorPage);
}

function siteErrorPage(refusal: GatewayError, request: FastifyRequest, reply: FastifyReply): Html | undefined {
  if (FOR_PROGRAMS.test(request.url)) return undefined;
  addVary(reply, 'accept');
  // JSON first: a caller without a preference, such as curl, gets JSON.
  const wanted = new Negotiator(request).mediaType(['application/json', 'text/html']);
  if (wanted !== 'text/html') return undefined;
  const title = TITLES[refusal.code] ?? OTHER_TITLE;
  return sitePage(
    `${title} - Tillway`,
    html`<section class="hero">
      <p class="eyebrow">Error ${HTTP_STATUS[refusal.code]}</p>
      <h1>${title}</h1>
      <p class="lead">${textOf(refusal, reply)}</p>
      <p class="links"><a class="button" href="/">Go to the front page</a> <a href="/docs">API reference</a></p>
      <p class="foot">Reference: <code>${request.id}</code></p>
    </section>`,
  );
}

function textOf({ code, message, details }: GatewayError, reply: FastifyReply): string {
  switch (code) {
    case 'not_found':
      return 'There is nothing at this address. It may be mistyped, or the page may have moved.';
    case 'method_not_allowed':
      return 'The address exists, but it cannot be used in this way. Start again from the page that led here.';
    case 'rate_limited':
      return `Too many requests came from your network in a short time. Try again in ${seconds(reply)}.`;
    case 'unavailable':
      return 'The service cannot answer right now. Try again in a moment.';
    case 'internal_error':
      return 'The request could not be completed. If it happens again, tell the operator the reference below.';
    default:
      return `${message} ${details.suggestion ?? ''}`;
  }
}

function seconds(reply: FastifyReply): string {
  const count = Number(reply.getHeader('retry-after'));
  return count === 1 ? '1 second' : `${count} seconds`;
}
