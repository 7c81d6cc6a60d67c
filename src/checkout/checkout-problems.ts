import type { FastifyRequest } from 'fastify';
import type { ErrorCode } from '../domain/gateway-error.ts';
import { isId } from '../domain/id.ts';
import type { ErrorPage } from '../html/html-page.ts';
import { type Shop, renderDocument } from './checkout-layout.ts';
import { type Problem, UNKNOWN, renderProblem } from './plain-pages.ts';

const MALFORMED: Problem = {
  title: 'That did not work',
  text: 'The form did not arrive as this page sends it. Nothing was started, and you have not been charged.',
};
const TOO_MANY_PAYMENTS: Problem = {
  title: 'Please wait a moment',
  text: 'There were too many tries in a short time. Nothing was started by this one. If you tried before, open the checkout again to see how the payment stands.',
};
const BROKEN: Problem = {
  title: 'Something failed on our side',
  text: 'If you were paying, open the checkout again to see how the payment stands before you pay once more.',
};

const PROBLEMS: Partial<Record<ErrorCode, Problem>> = {
  invalid_input: MALFORMED,
  invalid_json: MALFORMED,
  forbidden: {
    title: 'That was not accepted',
    text: 'The request came from another site. Nothing was started, and you have not been charged.',
  },
  payload_too_large: { title: 'That did not work', text: 'The form is too large. You have not been charged.' },
  unsupported_media_type: {
    title: 'That did not work',
    text: 'The form did not arrive as this page sends it. You have not been charged.',
  },
  rate_limited: {
    title: 'Please wait a moment',
    text: 'There were too many requests in a short time. If you were paying, open the checkout again to see how the payment stands.',
  },
  unavailable: {
    title: 'Please try again in a moment',
    text: 'The checkout cannot be reached just now. If you were paying, open it again to see how the payment stands.',
  },
};

/** Renders every failed request of the buyer's pages, with a link back to the checkout if the path names one. */
export function problemPage(shop: Shop): ErrorPage {
  return ({ code }, request, reply) => {
    if (code === 'not_found') return renderDocument(shop, UNKNOWN);
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
