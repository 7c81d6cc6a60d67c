import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ErrorCode, GatewayError } from '../domain/errors.ts';
import { isId } from '../domain/id.ts';
import type { ErrorPage } from '../html/page.ts';
import { type Shop, renderDocument } from './layout.ts';
import { type ProblemName, UNKNOWN, problemOf, renderProblem } from './plain-pages.ts';

const BY_CODE: Partial<Record<ErrorCode, ProblemName>> = {
  invalid_input: 'malformed',
  invalid_json: 'malformed',
  forbidden: 'refused',
  payload_too_large: 'too_large',
  unsupported_media_type: 'wrong_type',
  rate_limited: 'too_many',
  unavailable: 'unavailable',
};

/** On the buyer's paths every failure is a page, with the way back where there is one. */
export function problemPage(shop: Shop): ErrorPage {
  return (refusal, request, reply) => {
    if (refusal.code === 'not_found') return renderDocument(shop, UNKNOWN);
    const { id = '' } = request.params as { id?: string };
    const back = isId(id, 'chk') ? shop.paths.checkout(id) : null;
    const problem = problemOf(nameOf(refusal, request));
    return renderDocument(shop, renderProblem(problem, back, waitSecondsOf(refusal, reply)));
  };
}

function nameOf({ code }: GatewayError, request: FastifyRequest): ProblemName {
  if (code === 'rate_limited' && isPayment(request)) return 'too_many_payments';
  return BY_CODE[code] ?? 'broken';
}

/** Seconds until a retry makes sense; zero if the buyer need not wait. */
function waitSecondsOf({ code }: GatewayError, reply: FastifyReply): number {
  return code === 'rate_limited' ? Number(reply.getHeader('retry-after')) : 0;
}

function isPayment({ method, routeOptions: { url } }: FastifyRequest): boolean {
  return method === 'POST' && url === '/checkout/:id/pay';
}
