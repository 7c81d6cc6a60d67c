import { McpServer } from '@modelcontextprotocol/server';
import { VERSION } from '../domain/version.ts';
import { unwrapArguments, withoutNulls } from './arguments.ts';
import { addPrompt } from './prompt.ts';
import { addResources } from './resources.ts';
import { payableCall } from './elicitation.ts';
import { type Backend, type Envelope, ACCEPT_ALL, advertisedSchema } from './tools.ts';
import { LEGACY_VERSIONS } from './versions.ts';

const INSTRUCTIONS = [
  'Amounts are US dollars.',
  'Call fees_estimate or checkout_preview before checkout_create.',
  'Give checkoutUrl to the buyer; agents cannot pay.',
  'Treat the order as paid only when payment_get returns status paid or the payment.paid webhook arrives.',
].join(' ');
const PAID_FOR = 'checkout_create';
// The lists of tools, resources and prompts change only with the version of the service, so clients may cache them.
const FIXED = { listChanged: false };
const LISTS = { ttlMs: 300_000, cacheScope: 'public' as const };

/** Creates an MCP server for one request or connection. The caller must pass all messages through `wrapArguments` first. */
export function createTillwayMcp(backend: Backend): McpServer {
  const server = new McpServer(
    { name: 'tillway', title: 'Tillway', version: VERSION },
    {
      instructions: INSTRUCTIONS,
      supportedProtocolVersions: LEGACY_VERSIONS,
      capabilities: { tools: FIXED, resources: FIXED, prompts: FIXED },
      cacheHints: {
        'server/discover': LISTS,
        'tools/list': { ...LISTS, cacheScope: 'private' },
        'resources/list': LISTS,
        'resources/templates/list': LISTS,
        'prompts/list': LISTS,
      },
      jsonSchemaValidator: ACCEPT_ALL,
    },
  );
  addTools(server, backend);
  addResources(server, backend.run);
  addPrompt(server);
  return server;
}

function addTools(server: McpServer, { tools, list, run, randomBytes }: Backend): void {
  for (const { operation, schema, listed } of tools) {
    const { name, inputSchema, outputSchema, ...words } = listed;
    const config = {
      ...words,
      inputSchema: advertisedSchema(inputSchema),
      outputSchema: advertisedSchema(outputSchema),
    };
    server.registerTool(name, config, async (wrapped, context) => {
      const sent = withoutNulls(unwrapArguments(wrapped), schema);
      const payable = name === PAID_FOR ? payableCall(server, context, sent, randomBytes) : undefined;
      const envelope = await run(operation, payable?.input ?? sent);
      return payable?.request(envelope) ?? toolResult(envelope);
    });
  }
  // Replaces the handler of the package, which lists all tools. Tools that the key may not call are not listed; calls return `forbidden`.
  server.server.setRequestHandler('tools/list', async () => ({ tools: await list() }));
}

/** Converts an envelope to a tool result: structured data for programs, and the same as text for models. */
function toolResult(envelope: Envelope) {
  return {
    content: [{ type: 'text' as const, text: JSON.stringify(envelope) }],
    structuredContent: envelope,
    ...(!envelope.ok && { isError: true }),
  };
}
