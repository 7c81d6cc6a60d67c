import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AGENT_ENDPOINTS } from '../contract/capabilities-contract.ts';
import { jsonSchemaOf } from '../contract/json-schema.ts';
import { GatewayError } from '../domain/gateway-error.ts';
import { type Content, createContent } from '../html/content.ts';
import { param } from '../html/html-page.ts';
import { assertEnvironment, usualEnvironment } from '../operations/access/caller.ts';
import { schemaUrl } from '../operations/capabilities.ts';
import { listRoutes } from '../operations/routing/offers.ts';
import { nearestName } from '../operations/nearest-name.ts';
import type { Operation } from '../operations/operation.ts';
import { ACTIONS, OPERATIONS, describeService } from '../operations/registry.ts';
import { admit } from './admission.ts';
import { JSON_TYPE, apiPart, markReplayed, sentBody } from './api-part.ts';
import type { AppDeps, Part } from './app.ts';
import { discoveryLinks } from './discovery-links.ts';
import { READABLE_BY_ALL_SITES, sendDocument } from './document.ts';
import { sendError } from './error-responses.ts';

/** Endpoints for agents without prior knowledge of the service: discovery, schemas and typed actions. */
export const agentApi: Part = (app, unrestricted) => {
  serveCapabilities(app, unrestricted);
  lookups(app, unrestricted);
  serveActions(app, unrestricted);
};

function serveCapabilities(app: FastifyInstance, unrestricted: AppDeps): void {
  const { path, access } = AGENT_ENDPOINTS.capabilities;
  // Compressed capabilities per environment. They are compressed again only if the document has changed, such as a route's health.
  const described = new Map<string | undefined, { body: string; content: Content }>();
  app.get(
    path,
    admit(unrestricted, { access }, (request, reply, deps) => {
      const environment = deps.caller?.environment;
      const body = JSON.stringify(describeService(deps));
      const known = described.get(environment);
      const content = known?.body === body ? known.content : createContent(body, JSON_TYPE);
      described.set(environment, { body, content });
      reply.header('link', discoveryLinks(deps.urls.base));
      return sendDocument(request, reply, content, 0);
    }),
  );
}

const lookups = apiPart((serve) => {
  // Caches the schemas, which never change while the process runs. Renders each at its first request, to keep the start fast.
  const schemas = new Map<string, string>();
  serve(AGENT_ENDPOINTS.listRoutes, async ({ deps, query }) => {
    const { environment = usualEnvironment(deps) } = query;
    assertEnvironment(deps, environment);
    return { ok: true, routes: listRoutes(deps, environment) };
  });
  serve(AGENT_ENDPOINTS.getSchema, async ({ reply, param: named }) => {
    reply.headers(READABLE_BY_ALL_SITES);
    const name = named('operation');
    const operation = OPERATIONS.get(name);
    if (!operation) throw unknownName('operation', name, [...OPERATIONS.keys()]);
    const schema = schemas.get(name) ?? JSON.stringify(schemaAnswer(operation));
    schemas.set(name, schema);
    return schema;
  });
});

/** Response with the input and output schemas of an operation. */
export function schemaAnswer({ name, input, output }: Operation) {
  return {
    ok: true,
    operation: name,
    inputSchema: jsonSchemaOf(input, 'input'),
    outputSchema: jsonSchemaOf(output, 'output'),
  };
}

function serveActions(app: FastifyInstance, unrestricted: AppDeps): void {
  const { base } = unrestricted.urls;
  const actions = new Map(ACTIONS.map((action) => [action.name, action]));
  const named = (request: FastifyRequest): Operation => {
    const action = actionOf(request);
    const found = actions.get(action);
    if (!found) throw unknownName('action', action, [...actions.keys()]);
    return found;
  };

  const access = (request: FastifyRequest) => actions.get(actionOf(request))?.access ?? 'look';
  const { onRequest, handler } = admit(unrestricted, { access }, async (request, reply, deps) => {
    const { name, execute } = named(request);
    const { result, replayed } = await execute(deps, sentBody(request), hintOf(base, name));
    markReplayed(reply, replayed);
    return reply.type(JSON_TYPE).send(JSON.stringify({ ok: true, action: name, result }));
  });
  app.post('/api/agent/actions/:action', {
    // Rejects an unknown action before the body is read.
    onRequest: [onRequest, async (request) => void named(request)],
    errorHandler(error, request, reply) {
      void sendError(withSchemaHint(error, actionOf(request), base), request, reply);
    },
    handler,
  });
}

function actionOf(request: FastifyRequest): string {
  return param(request, 'action');
}

/** Hint that refers to the schema of an operation's input. */
export function hintOf(base: string, operation: string): string {
  return OPERATIONS.has(operation)
    ? `Schema: GET ${schemaUrl(base, operation)}`
    : `Parameters: GET ${base}/openapi.json`;
}

/** Adds a hint about the schema to the suggestion of an error that the request body caused. */
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
