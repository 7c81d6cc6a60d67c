import { isIP } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { VERSION } from '../domain/version.ts';
import type { AppDeps } from '../http/app.ts';
import { serveDocument } from '../http/document.ts';
import { PROTOCOL_VERSIONS } from './versions.ts';

const PATH = '/mcp/server-card';
const TYPE = 'application/mcp-server-card+json';

/** Serves the server card: address and transport of the MCP server, for clients and registries (SEP-2127, a draft). */
export function serverCard(app: FastifyInstance, deps: AppDeps): void {
  serveDocument(app, PATH, TYPE, () => JSON.stringify(cardOf(deps.urls.base)));
}

function cardOf(base: string) {
  return {
    $schema: 'https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json',
    name: `${namespaceOf(new URL(base).hostname)}/tillway`,
    version: VERSION,
    title: 'Tillway',
    // The schema limits the description to 100 characters.
    description: 'Create hosted checkouts, follow payments and refund them.',
    websiteUrl: `${base}/docs`,
    remotes: [{ type: 'streamable-http', url: `${base}/mcp`, supportedProtocolVersions: PROTOCOL_VERSIONS }],
  };
}

/** Reversed host name, such as `example.pay`, or `localhost` for an IP address. */
function namespaceOf(host: string): string {
  return isIP(host.replace(/^\[|\]$/g, '')) === 0 ? host.split('.').toReversed().join('.') : 'localhost';
}
