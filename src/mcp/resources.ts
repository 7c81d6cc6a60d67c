import {
  type McpServer,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  ResourceTemplate,
} from '@modelcontextprotocol/server';
import { schemaAnswer } from '../http/agent-endpoints.ts';
import { OPERATIONS, TOOLS } from '../operations/registry.ts';
import type { Backend } from './tools.ts';

const JSON_TYPE = 'application/json';
// Capabilities carry the routes, whose health can change every second, and which differ by the environment of the key.
const LIVE = { ttlMs: 5000, cacheScope: 'private' as const };
const FIXED = { ttlMs: 300_000, cacheScope: 'public' as const };

// The tools that are no operations of the REST API as well: nowhere else are their whole output schemas.
const DESCRIBED = new Map([...OPERATIONS, ...TOOLS.map((tool) => [tool.name, tool] as const)]);

/** What can be read without a tool: everything about the service, its routes, and the schemas. */
export function addResources(server: McpServer, run: Backend['run']): void {
  const answerOf = async (uri: URL, name: 'capabilities' | 'routes.list') => {
    const envelope = await run(OPERATIONS.get(name)!, {});
    if (envelope.ok) return contents(uri, envelope.result);
    const { message, suggestion = '' } = envelope.error;
    throw new ProtocolError(ProtocolErrorCode.InternalError, `${message} ${suggestion}`.trim());
  };
  server.registerResource(
    'capabilities',
    'gateway://capabilities',
    {
      title: 'Capabilities',
      description:
        'Everything about this service: endpoints, actions with examples, webhooks and their secrets for tests.',
      mimeType: JSON_TYPE,
      cacheHint: LIVE,
    },
    (uri) => answerOf(uri, 'capabilities'),
  );
  server.registerResource(
    'routes',
    'gateway://routes',
    {
      title: 'Payment routes',
      description: "The routes of the key's environment (sandbox without a key), best first: what routes_list answers.",
      mimeType: JSON_TYPE,
      cacheHint: LIVE,
    },
    (uri) => answerOf(uri, 'routes.list'),
  );
  addSchemas(server);
}

function addSchemas(server: McpServer): void {
  const names = [...DESCRIBED.keys()];
  const template = new ResourceTemplate('gateway://schema/{operation}', {
    list: () => ({ resources: names.map((name) => ({ uri: `gateway://schema/${name}`, name: `schema of ${name}` })) }),
    complete: { operation: (start) => names.filter((name) => name.startsWith(start)) },
  });
  server.registerResource(
    'schema',
    template,
    {
      title: 'Schemas of an operation',
      description: 'Input and output as JSON Schema with every word of it: the source of truth for fields and limits.',
      mimeType: JSON_TYPE,
      cacheHint: FIXED,
    },
    (uri, { operation }) => {
      const named = DESCRIBED.get(String(operation));
      if (!named) throw new ResourceNotFoundError(uri.href);
      return contents(uri, schemaAnswer(named));
    },
  );
}

function contents(uri: URL, value: unknown) {
  return { contents: [{ uri: uri.href, mimeType: JSON_TYPE, text: JSON.stringify(value) }] };
}
