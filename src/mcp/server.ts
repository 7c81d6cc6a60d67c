import { McpServer } from '@modelcontextprotocol/server';
import { VERSION } from '../domain/version.ts';
import { unwrapArguments, withoutNulls } from './arguments.ts';
import { addPrompt } from './prompt.ts';
import { addResources } from './resources.ts';
import { type Backend, type Envelope, LET_PASS } from './tools.ts';

const INSTRUCTIONS = [
  'Amounts are US dollars.',
  'Call fees_estimate or checkout_preview before checkout_create.',
  'Give checkoutUrl to the buyer; you cannot pay.',
  'Treat the order as paid only when payment_get says paid or the payment.paid webhook arrives.',
].join(' ');
// Nothing that is listed changes while a process runs. Another version can take its place.
const LISTS = { ttlMs: 300_000, cacheScope: 'public' as const };

/** A server for one request, or for one connection, whose messages have gone through `wrapArguments`. */
export function createTillwayMcp(backend: Backend): McpServer {
  const server = new McpServer(
    { name: 'tillway', title: 'Tillway', version: VERSION },
    {
      instructions: INSTRUCTIONS,
      capabilities: {
        tools: { listChanged: false },
        resources: { listChanged: false },
        prompts: { listChanged: false },
      },
      cacheHints: {
        'server/discover': LISTS,
        'tools/list': LISTS,
        'resources/list': LISTS,
        'resources/templates/list': LISTS,
        'prompts/list': LISTS,
      },
      jsonSchemaValidator: LET_PASS,
    },
  );
  for (const { name, operation, schema, config } of backend.tools) {
    server.registerTool(name, config, async (wrapped) =>
      toolResult(await backend.run(operation, withoutNulls(unwrapArguments(wrapped), schema))),
    );
  }
  addResources(server, backend.run);
  addPrompt(server);
  return server;
}

/** As data for programs, and the same as text for models. */
function toolResult(envelope: Envelope) {
  return {
    content: [{ type: 'text' as const, text: JSON.stringify(envelope) }],
    structuredContent: envelope,
    ...(!envelope.ok && { isError: true }),
  };
}
