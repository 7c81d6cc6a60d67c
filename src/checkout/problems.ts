import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type ErrorCode, GatewayError } from '../domain/errors.ts';
import { isId } from '../domain/id.ts';
import { sendPage } from '../html/page.ts';
import { logUnavailable } from '../telemetry/log.ts';
import { type Shop, renderDocument } from './layout.ts';
import { type ProblemName, UNKNOWN, problemOf, renderProblem } from './plain-pages.ts';

const RETRY_AFTER_SECONDS = 1;

const BY_CODE: Partial<Record<ErrorCode, ProblemName>> = {
  invalid_input: 'malformed',
  invalid_json: 'malformed',
  forbidden: 'refused',
  payload_too_large: 'too_large',
  unsupported_media_type: 'wrong_type',
  rate_limited: 'too_many',
  unavailable: 'unavailable',
};

const BY_STATUS: Record<number, ProblemName> = { 413: 'too_large', 415: 'wrong_type' };

/** On the buyer's paths every failure is a page, with the way back where there is one. */
export function answerProblems(scope: FastifyInstance, shop: Shop): void {
  scope.setErrorHandler<FastifyError | GatewayError, { Params: { id?: string } }>((error, request, reply) => {
    if (error instanceof GatewayError && error.code === 'not_found') {
      return sendPage(reply, 404, renderDocument(shop, UNKNOWN));
    }
    const name = nameOf(error, request);
    if (name === 'broken') request.log.error({ err: error }, 'request failed');
    if (name === 'unavailable') logUnavailable(request.log, error);
    const isLater = name === 'unavailable' || isOfLimit(name);
    // What a limit knows, it has said.
    if (isLater && !reply.hasHeader('retry-after')) reply.header('retry-after', String(RETRY_AFTER_SECONDS));
    return sendProblem(reply, shop, name, request.params.id);
  });
}

function sendProblem(reply: FastifyReply, shop: Shop, name: ProblemName, id: string | undefined): FastifyReply {
  const back = id !== undefined && isId(id, 'chk') ? shop.paths.checkout(id) : null;
  const problem = problemOf(name);
  const waitSeconds = isOfLimit(name) ? Number(reply.getHeader('retry-after')) : 0;
  return sendPage(reply, problem.status, renderDocument(shop, renderProblem(problem, back, waitSeconds)));
}

function nameOf(error: FastifyError | GatewayError, request: FastifyRequest): ProblemName {
  if (error instanceof GatewayError) {
    const name = BY_CODE[error.code] ?? 'broken';
    return name === 'too_many' && isPayment(request) ? 'too_many_payments' : name;
  }
  const { statusCode } = error;
  if (statusCode === undefined || statusCode < 400 || statusCode >= 500) return 'broken';
  return BY_STATUS[statusCode] ?? 'malformed';
}

function isOfLimit(name: ProblemName): boolean {
  return name === 'too_many' || name === 'too_many_payments';
}

function isPayment({ method, routeOptions: { url } }: FastifyRequest): boolean {
  return method === 'POST' && url === '/checkout/:id/pay';
}
