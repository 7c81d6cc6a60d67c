import type { FastifyRequest } from 'fastify';
import { type ErrorCode, GatewayError } from '../domain/gateway-error.ts';
import { type Html, html } from '../html/html.ts';
import type { ErrorPage } from '../html/html-page.ts';
import { StepUpRefusal } from '../operations/access/caller.ts';
import { renderPlain } from './shell.ts';

const TITLES: Partial<Record<ErrorCode, string>> = {
  not_found: 'Not found',
  forbidden: 'Not allowed',
  invalid_state: 'Something has changed',
  invalid_input: 'Please check the form',
  rate_limited: 'Too many requests',
  unavailable: 'The database is unavailable',
  internal_error: 'Server error',
};

/** An error with the page that shows its form again. */
export class FormRefusal extends GatewayError {
  readonly page: Html;

  constructor({ code, message, details, cause }: GatewayError, page: Html) {
    super(code, message, details, { cause });
    this.page = page;
  }
}

/** The page of a failed request: its form, or the error and the next step. */
export const dashboardErrorPage: ErrorPage = (refusal, request) => {
  if (refusal instanceof FormRefusal) return refusal.page;
  const { code, message, details } = refusal;
  const [address, name] = nextStep(refusal, request);
  return renderPlain({
    title: TITLES[code] ?? 'The request was rejected',
    main: html`<p class="lead">${message}</p>
      ${details.suggestion !== undefined && html`<p>${details.suggestion}</p>`}
      <p><a class="button" href="${address}">${name}</a></p>
      <p class="small">Reference: <code>${request.id}</code></p>`,
  });
};

/**
 * The address of a request, or the nearest page above it: a form in a page, such as the list of operators, has no page of its own. For
 * an export, it is the list with the same filter, because a browser stays on its page during a download.
 */
function pageOf({ url, server, routeOptions }: FastifyRequest): string {
  let [page, pattern] = [url, routeOptions.url ?? ''];
  while (pattern !== '' && !server.hasRoute({ method: 'GET', url: pattern })) {
    [page, pattern] = [parentOf(page.split('?')[0]!), parentOf(pattern)];
  }
  return page.replace(/^([^?]*)\.csv(?=\?|$)/, '$1');
}

const parentOf = (path: string) => path.slice(0, path.lastIndexOf('/'));

/** Link to the page of a rejected form or filter, or to the start. */
function nextStep(refusal: GatewayError, request: FastifyRequest): [string, string] {
  if (refusal instanceof StepUpRefusal) return [loginAddress(request), 'Confirm that it is you'];
  const isForm = request.method !== 'GET' || refusal.code === 'invalid_input';
  return isForm ? [pageOf(request).split('?')[0]!, 'Go back'] : ['/dashboard', 'Go to the dashboard'];
}

/** Address of the login that leads back to the page of the request. */
export function loginAddress(request: FastifyRequest): string {
  return `/dashboard/login?${new URLSearchParams({ next: pageOf(request) }).toString()}`;
}
