import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';
import { ACTIONS, OPERATIONS } from '../operations/registry.ts';
import type { AppDeps } from './app.ts';
import { CATALOGUE_PATH, CATALOGUE_TYPE, SERVICE_LINKS, discoveryLinks } from './discovery-links.ts';
import { llmsText } from './discovery-llms.ts';
import { serveDocument } from './document.ts';
import { describeApi, servedEndpoints } from './openapi-endpoint.ts';

const ARAZZO_FILE = new URL('./assets/arazzo.yaml', import.meta.url);

/** Documents for programs that know only the URL of the service. */
export function discoveryDocuments(app: FastifyInstance, deps: AppDeps): void {
  const { base } = deps.urls;
  serveDocument(app, '/openapi.json', 'application/json; charset=utf-8', () => JSON.stringify(describeApi(deps)));
  serveDocument(app, '/llms.txt', 'text/plain; charset=utf-8', () =>
    llmsText({
      deps,
      actions: ACTIONS,
      operations: [...OPERATIONS.keys()],
      endpoints: servedEndpoints(deps).filter(({ envelope }) => envelope !== 'action'),
    }),
  );
  const link = discoveryLinks(base);
  serveDocument(app, CATALOGUE_PATH, CATALOGUE_TYPE, () => JSON.stringify(catalogueOf(base)), { link });
  serveDocument(app, '/arazzo.yaml', 'application/yaml; charset=utf-8', () => readFileSync(ARAZZO_FILE, 'utf8'));
}

/** API catalogue (https://www.rfc-editor.org/rfc/rfc9727) in the link set format of https://www.rfc-editor.org/rfc/rfc9264. */
function catalogueOf(base: string) {
  const targets: Record<string, { href: string; type: string }[]> = {};
  for (const { relation, path, type } of SERVICE_LINKS) (targets[relation] ??= []).push({ href: base + path, type });
  const mcp = { href: `${base}/llms.txt`, type: 'text/plain' };
  const card = { href: `${base}/mcp/server-card`, type: 'application/mcp-server-card+json' };
  return {
    linkset: [
      { anchor: `${base}/`, ...targets },
      { anchor: `${base}/mcp`, 'service-doc': [mcp], 'service-desc': [card] },
    ],
  };
}
