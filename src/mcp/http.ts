import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { admit } from '../http/admission.ts';
import type { AppDeps } from '../http/app.ts';
import { GatewayError } from '../domain/gateway-error.ts';
import { HTTP_STATUS, refusalHeaders, refusalOf, renderError } from '../http/error-responses.ts';
import { inOrigin } from '../http/follow.ts';
import { callerError } from './callers.ts';
import type { createHandler } from './handler.ts';
import { TOOL_NAMES } from './tool-names.ts';
import { answerWith } from './web.ts';

const PATH = '/mcp';
// https://www.jsonrpc.org/specification#error_object
const PARSE_ERROR = -32_700;
const INTERNAL_ERROR = -32_603;
const REFUSED = -32_000;
const ONE_MESSAGE = { suggestion: 'Send each message in a separate request.' };

/** Serves the operations as tools of the Model Context Protocol, without state between requests. */
export function mcpEndpoint(app: FastifyInstance, unrestricted: AppDeps): void {
  // Imports the handler at the first request, because the MCP packages load slowly.
  let protocol: Promise<ReturnType<typeof createHandler>> | undefined;
  const load = async () => (await import('./handler.ts')).createHandler(unrestricted);

  // The permission `look` admits every API key. Each tool checks its own permission.
  const { onRequest, handler } = admit(
    unrestricted,
    { access: 'look', pages: 'known' },
    async (request, reply, deps) => {
      const { body } = request;
      // Rejects batches, which version 2025-06-18 of the protocol removed: a batch would bypass the rate limits.
      if (Array.isArray(body)) throw new GatewayError('invalid_input', 'Batches are not accepted.', ONE_MESSAGE);
      const tool = (body as { params?: { name?: unknown } } | undefined | null)?.params?.name;
      if (TOOL_NAMES.has(tool)) request.log = request.log.child({ tool });
      const handle = await (protocol ??= load());
      await answerWith((webRequest) => handle(webRequest, body, deps), `${deps.urls.base}${PATH}`, request, reply);
      // The package has already logged the cause at level debug.
      if (reply.statusCode >= 500) request.log.error('MCP request failed');
      return reply;
    },
  );
  app.post(PATH, {
    onRequest: [(request, _reply, done) => done(callerError(request, unrestricted)), onRequest],
    errorHandler(error, request, reply) {
      void sendRpcError(error, request, reply);
    },
    handler,
  });
}

/** Sends a JSON-RPC error for a request that was rejected before MCP handled it. The `data` is the API error. */
function sendRpcError(error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const refusal = inOrigin(request, () => refusalOf(error, request.log));
  const { suggestion = '' } = refusal.details;
  const code = { invalid_json: PARSE_ERROR, internal_error: INTERNAL_ERROR }[refusal.code as string] ?? REFUSED;
  const message = `${refusal.message} ${suggestion}`.trim();
  return reply
    .code(HTTP_STATUS[refusal.code])
    .headers(refusalHeaders(refusal, reply))
    .type('application/json; charset=utf-8')
    .send(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message, data: renderError(refusal) } }));
}
