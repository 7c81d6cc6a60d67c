import type { ErrorCode } from '../domain/gateway-error.ts';
import { html } from '../html/html.ts';
import type { ErrorPage } from '../html/html-page.ts';
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

/** The page of a failed request: the error, and the next step. */
export const dashboardErrorPage: ErrorPage = ({ code, message, details: { suggestion } }, request) =>
  renderPlain({
    title: TITLES[code] ?? 'The request was rejected',
    main: html`<p class="lead">${message}</p>
      ${suggestion !== undefined && html`<p>${suggestion}</p>`}
      <p><a class="button" href="/dashboard">Go to the dashboard</a></p>
      <p class="small">Reference: <code>${request.id}</code></p>`,
  });
