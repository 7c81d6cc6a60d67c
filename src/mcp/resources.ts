import {
  type McpServer,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  ResourceTemplate,
} from '@modelcontextprotocol/server';
import { schemaAnswer } from '../http/agent-api.ts';
import { OPERATIONS, TOOLS } from '../operations/registry.ts';
import type { Backend } from './tools.ts';

const JSON_TYPE = 'application/json';
// Cache hint of capabilities and routes. It is short and private, because they contain the health of routes, which can change
// every second, and depend on the environment of the key.
const LIVE = { ttlMs: 5000, cacheScope: 'private' as const };
const FIXED = { ttlMs: 300_000, cacheScope: 'public' as const };

// Operations with a schema resource. Includes tools without a REST operation, whose complete output schemas are nowhere else.
const DESCRIBED = new Map([...OPERATIONS, ...TOOLS.map((tool) => [tool.name, tool] as const)]);

/** Adds the capabilities, the routes and the schemas of operations as MCP resources. */
export function addResources(server: McpServer, run: Backend['run']): void {
  for (const { name, operation, title, description } of [
    {
      name: 'capabilities',
      operation: 'capabilities',
      title: 'Capabilities',
      description: 'Description of this service: endpoints, actions with examples, webhooks, and test secrets.',
    },
    {
      name: 'routes',
      operation: 'routes.list',
      title: 'Payment routes',
      description:
        "The routes of the key's environment (sandbox without a key), best first; the same as routes_list returns.",
    },
  ]) {
    const config = { title, description, mimeType: JSON_TYPE, cacheHint: LIVE };
    server.registerResource(name, `gateway://${name}`, config, async (uri) => {
      const envelope = await run(OPERATIONS.get(operation)!, {});
      if (envelope.ok) return contents(uri, envelope.result);
      const { message, suggestion = '' } = envelope.error;
      throw new ProtocolError(ProtocolErrorCode.InternalError, `${message} ${suggestion}`.trim());
    });
  }
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
      description: 'Complete JSON Schemas of input and output: the source of truth for fields and limits.',
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
