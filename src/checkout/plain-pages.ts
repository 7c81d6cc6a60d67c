import type { FastifyRequest } from 'fastify';
import type { ErrorCode } from '../domain/gateway-error.ts';
import { isId } from '../domain/id.ts';
import { type Html, html } from '../html/html.ts';
import { type ErrorPage, wantsJson } from '../html/html-page.ts';
import { type Page, type Shop, renderDocument } from './checkout-layout.ts';
import { heading, introduction } from './checkout-parts.ts';

/** The page of a checkout preview, which belongs to no session. */
export const PREVIEW_PAGE: Page = plain('Preview', true, [
  heading('This is a preview'),
  introduction('Nothing was created, and nothing can be paid here.'),
  html`<p>The checkout that opens at this address looks like it, and takes payments, once it is really created.</p>`,
]);

/** The page for every unknown id, well formed or not. */
export const UNKNOWN_PAGE: Page = plain('Not found', false, [
  heading('There is no checkout here'),
  introduction('The address may be incomplete, or the checkout may be gone.'),
  html`<p>Go back to the shop that you came from and start the checkout again. You have not been charged here.</p>`,
]);

/** Text for a buyer whose request failed. */
interface Problem {
  title: string;
  text: string;
}

/** `back` is the URL of the checkout that the request was about; `waitSeconds` is 0 if the buyer need not wait. */
function renderProblem({ title, text }: Problem, back: string | null, waitSeconds: number): Page {
  return plain(title, false, [
    heading(title),
    introduction(text),
    waitSeconds > 0 && html`<p>Try again in ${waitSeconds === 1 ? 'a second' : `${waitSeconds} seconds`}.</p>`,
    back !== null && html`<p><a class="button" href="${back}">Back to the checkout</a></p>`,
  ]);
}

function plain(title: string, testMode: boolean, content: readonly (Html | false)[]): Page {
  return { title, testMode, main: html`<div class="narrow panel">${content}</div>` };
}

const MALFORMED: Problem = {
  title: 'That did not work',
  text: 'The form did not arrive as this page sends it. Nothing was started, and you have not been charged.',
};
const TOO_MANY_PAYMENTS: Problem = {
  title: 'Please wait a moment',
  text: 'There were too many tries in a short time. Nothing was started by this one. If you tried before, open the checkout again to see the state of the payment.',
};
const BROKEN: Problem = {
  title: 'Something failed on our side',
  text: 'If you were paying, open the checkout again to see the state of the payment before you pay once more.',
};

const PROBLEMS: Partial<Record<ErrorCode, Problem>> = {
  invalid_input: MALFORMED,
  invalid_json: MALFORMED,
  forbidden: {
    title: 'That was not accepted',
    text: 'The request came from another site. Nothing was started, and you have not been charged.',
  },
  payload_too_large: MALFORMED,
  unsupported_media_type: MALFORMED,
  rate_limited: {
    title: 'Please wait a moment',
    text: 'There were too many requests in a short time. If you were paying, open the checkout again to see the state of the payment.',
  },
  unavailable: {
    title: 'Please try again in a moment',
    text: 'The checkout cannot be reached just now. If you were paying, open it again to see the state of the payment.',
  },
};

/** Renders every failed request of a browser to the buyer's pages, with a link back to the checkout if the path names one. */
export function problemPage(shop: Shop): ErrorPage {
  return ({ code }, request, reply) => {
    if (wantsJson(request)) return undefined;
    if (code === 'not_found') return renderDocument(shop, UNKNOWN_PAGE);
    const { id = '' } = request.params as { id?: string };
    const back = isId(id, 'chk') ? shop.paths.checkout(id) : null;
    const isLimited = code === 'rate_limited';
    const problem = isLimited && isPayment(request) ? TOO_MANY_PAYMENTS : (PROBLEMS[code] ?? BROKEN);
    const waitSeconds = isLimited ? Number(reply.getHeader('retry-after')) : 0;
    return renderDocument(shop, renderProblem(problem, back, waitSeconds));
  };
}

function isPayment({ method, routeOptions: { url } }: FastifyRequest): boolean {
  return method === 'POST' && url === '/checkout/:id/pay';
}
