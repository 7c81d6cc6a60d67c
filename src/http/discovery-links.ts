/** A document that describes this service to programs. */
export interface DiscoveryLink {
  /** A registered link relation. https://www.iana.org/assignments/link-relations */
  relation: 'service-desc' | 'service-doc' | 'service-meta' | 'status' | 'api-catalog' | 'describedby';
  path: string;
  type: string;
}

export const CATALOGUE_PATH = '/.well-known/api-catalog';
/** Media type of the API catalogue: a link set (RFC 9264) with the profile of RFC 9727. */
export const CATALOGUE_TYPE = 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"';

/** Documents that describe the API. The API catalogue and the Link headers list them. */
export const SERVICE_LINKS: readonly DiscoveryLink[] = [
  { relation: 'service-desc', path: '/openapi.json', type: 'application/json' },
  { relation: 'service-desc', path: '/arazzo.yaml', type: 'application/yaml' },
  { relation: 'service-doc', path: '/docs', type: 'text/html' },
  { relation: 'service-doc', path: '/llms.txt', type: 'text/plain' },
  { relation: 'service-meta', path: '/api/agent/capabilities', type: 'application/json' },
  { relation: 'status', path: '/readyz', type: 'application/json' },
];

const HEADER_LINKS: readonly DiscoveryLink[] = [
  { relation: 'api-catalog', path: CATALOGUE_PATH, type: CATALOGUE_TYPE },
  ...SERVICE_LINKS.filter(({ relation, path }) => relation.startsWith('service-') && path !== '/llms.txt'),
  { relation: 'describedby', path: '/llms.txt', type: 'text/plain' },
];

/** Value of the Link header (RFC 8288) that the entry points for programs send. */
export function discoveryLinks(base: string): string {
  return HEADER_LINKS.map(
    ({ relation, path, type }) => `<${base}${path}>; rel="${relation}"; type="${type.replaceAll('"', '\\"')}"`,
  ).join(', ');
}
