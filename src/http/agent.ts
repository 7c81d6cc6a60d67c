import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AGENT_ENDPOINTS } from '../contract/endpoints.ts';
import { inputReader } from '../contract/problems.ts';
import { routesQuery } from '../contract/queries.ts';
import { GatewayError } from '../domain/errors.ts';
import { assertEnvironment, usualEnvironment } from '../operations/access/caller.ts';
import { schemaUrl } from '../operations/capabilities/capabilities.ts';
import { listRoutes } from '../operations/list-routes.ts';
import { nearestName } from '../operations/nearest-name.ts';
import type { Operation } from '../operations/operation.ts';
import { ACTIONS, OPERATIONS, describeService } from '../operations/registry.ts';
import { schemaAnswer } from './agent-endpoints.ts';
import { admission, depsOf } from './access.ts';
import type { AppDeps } from './app.ts';
import { discoveryLinks } from './discovery-links.ts';
import { type PublicDocument, READABLE_BY_ALL_SITES, publicDocument, sendDocument } from './document.ts';
import { sendError } from './errors.ts';
import { param, serve, serveText } from './gateway.ts';

const JSON_TYPE = 'application/json; charset=utf-8';
const readRoutesQuery = inputReader(routesQuery);

/** The same service for programs that know nothing of it beforehand: discovery, schemas and typed actions. */
export function agentApi(app: FastifyInstance, deps: AppDeps): void {
  const { base } = deps.urls;
  // They do not change while the process runs; no start waits for them.
  const schemas = new Map<string, string>();
  // One per environment; compressed again only after the health of a route has changed.
  const described = new Map<string | undefined, { body: string; document: PublicDocument }>();

  const { capabilities, listRoutes: routes, getSchema } = AGENT_ENDPOINTS;
  app.get(capabilities.path, admission(deps, capabilities.access), (request, reply) => {
    const own = depsOf(request);
    const environment = own.caller?.environment;
    const body = JSON.stringify(describeService(own));
    const known = described.get(environment);
    // The health of its routes is that of now.
    const document = known?.body === body ? known.document : publicDocument(body, JSON_TYPE, 0);
    described.set(environment, { body, document });
    reply.header('link', discoveryLinks(base));
    return sendDocument(request, reply, document);
  });
  serve(app, deps, routes, async (request, _reply, deps) => {
    const { environment } = readRoutesQuery.read(request.query, `Parameters: GET ${base}/openapi.json`);
    const asked = environment ?? usualEnvironment(deps);
    assertEnvironment(deps, asked);
    return { ok: true, routes: listRoutes(deps, asked) };
  });
  serveText(app, deps, getSchema, async (request, reply) => {
    reply.headers(READABLE_BY_ALL_SITES);
    const operation = param(request, 'operation');
    const named = OPERATIONS.get(operation);
    if (!named) throw unknownName('operation', operation, [...OPERATIONS.keys()]);
    const schema = schemas.get(operation) ?? JSON.stringify(schemaAnswer(named));
    schemas.set(operation, schema);
    return schema;
  });
  serveActions(app, deps);
}

function serveActions(app: FastifyInstance, deps: AppDeps): void {
  const { base } = deps.urls;
  const actions = new Map(ACTIONS.map((action) => [action.name, action]));
  const named = (request: FastifyRequest): Operation => {
    const action = actionOf(request);
    const found = actions.get(action);
    if (!found) throw unknownName('action', action, [...actions.keys()]);
    return found;
  };

  const admitted = admission(deps, (request) => actions.get(actionOf(request))?.access ?? 'look');
  app.post('/api/agent/actions/:action', {
    ...admitted,
    onRequest: [
      admitted.onRequest,
      // Before the body is read: no body is right for an action that does not exist.
      async (request) => void named(request),
    ],
    errorHandler(error, request, reply) {
      void sendError(withSchemaHint(error, actionOf(request), base), request, reply);
    },
    handler: async (request, reply) => {
      const action = named(request);
      const sent = request.body === undefined ? {} : request.body;
      const { result, replayed } = await action.execute(depsOf(request), sent, hintOf(base, action.name));
      return sendResult(reply, action.name, result, replayed);
    },
  });
}

function actionOf(request: FastifyRequest): string {
  return param(request, 'action');
}

function sendResult(reply: FastifyReply, action: string, result: unknown, replayed = false): FastifyReply {
  if (replayed) reply.header('idempotent-replayed', 'true');
  return reply.type(JSON_TYPE).send(JSON.stringify({ ok: true, action, result }));
}

/** Where the caller of an operation finds what it takes. */
export function hintOf(base: string, operation: string): string {
  return OPERATIONS.has(operation)
    ? `Schema: GET ${schemaUrl(base, operation)}`
    : `Parameters: GET ${base}/openapi.json`;
}

/** Whatever is wrong with a body, the schema says what is right. */
export function withSchemaHint(error: unknown, operation: string, base: string): unknown {
  if (!(error instanceof GatewayError)) return error;
  if (error.code !== 'invalid_input' && error.code !== 'invalid_json') return error;
  const hint = hintOf(base, operation);
  const { suggestion = '' } = error.details;
  if (suggestion.endsWith(hint)) return error;
  return new GatewayError(error.code, error.message, { ...error.details, suggestion: `${suggestion} ${hint}`.trim() });
}

function unknownName(kind: 'action' | 'operation', name: string, names: string[]): GatewayError {
  const nearest = nearestName(name, names);
  const guess = nearest === undefined ? '' : `Did you mean ${nearest}? `;
  return new GatewayError('unknown_operation', `There is no ${kind} ${JSON.stringify(name.slice(0, 80))}.`, {
    suggestion: `${guess}Use one of: ${names.join(', ')}.`,
  });
}
