import { createHash } from 'node:crypto';

/** The checkout page of a release; hashes are SHA-256 in hexadecimal. */
export interface PageManifest {
  /** Hash of the preview page without the merchant's name and the path before `/assets/`. */
  page: string;
  /** Hashes by file name, for example `checkout.js`. */
  assets: Record<string, string>;
  headers: Record<string, string>;
  /** Response headers of scripts and style sheets. */
  assetHeaders: Record<string, string>;
}

export interface Check {
  what: string;
  ok: boolean;
  expected: string;
  found: string;
}

/** An answer of the service; header names are lower case. */
export interface Fetched {
  status: number;
  header(name: string): string | null;
  body: Buffer;
}

export type FetchPage = (url: string) => Promise<Fetched>;

// No session has this id, so the page shows no data and is identical in every installation.
const PREVIEW_PATH = `/checkout/chk_${'0'.repeat(36)}?preview=1`;
const HSTS = 'strict-transport-security';
const HSTS_VALUE = 'max-age=31536000; includeSubDomains';
const HEADERS = [
  'content-security-policy',
  'x-frame-options',
  'x-content-type-options',
  'referrer-policy',
  'cross-origin-opener-policy',
  'cross-origin-resource-policy',
  'permissions-policy',
  'cache-control',
  'content-type',
];
const ASSET = /(\s(?:src|href)=")((?:\/(?!\/)[^"]*)?)(\/assets\/([\w-]+)-[0-9a-f]{12}\.(css|js)")/g;
const LOADS = /<(?:script|link|iframe|object|embed|img|base|style)\b[^>]*>/gi;
const TITLE = /(<title>[^<]*? - )([^<]*)(<\/title>)/;
const NAME = /(<span class="mark" aria-hidden="true">)([^<]*)(<\/span><bdi>)([^<]*)(<\/bdi>)/;

/** Fetches the page of a running service and describes it as a manifest. Rejects if `fetchPage` does. */
export async function observePage(baseUrl: string, fetchPage: FetchPage): Promise<PageManifest> {
  const url = baseUrl + PREVIEW_PATH;
  const page = await fetchPage(url);
  const markup = page.body.toString('utf8');
  const observed: PageManifest = {
    page: page.status === 200 ? hashOf(generalised(markup)) : `status ${page.status}`,
    assets: {},
    headers: headersOf(page),
    assetHeaders: {},
  };
  for (const [, , root, path, name, type] of markup.matchAll(ASSET)) {
    const asset = await fetchPage(new URL(`${root}${path!.slice(0, -1)}`, url).href);
    observed.assets[`${name}.${type}`] = asset.status === 200 ? hashOf(asset.body) : `status ${asset.status}`;
    const { 'content-type': _type, ...headers } = headersOf(asset);
    Object.assign(observed.assetHeaders, headers);
  }
  // Reports each tag that loads something other than a known asset, so that the user sees what was injected.
  const foreign = Array.from(markup.matchAll(LOADS), ([tag]) => tag).filter(
    (tag) => !tag.startsWith('<link rel="icon" href="data:') && tag.search(ASSET) === -1,
  );
  for (const tag of foreign) observed.assets[tag.slice(0, 200)] = 'not part of this release';
  return observed;
}

/** Compares the page of a running service with a release. `isHttps`: true if the page was fetched over TLS, where HSTS is required. */
export function comparePage(release: PageManifest, observed: PageManifest, isHttps: boolean): Check[] {
  const headers = { ...release.headers, ...(isHttps && { [HSTS]: HSTS_VALUE }) };
  const assetHeaders = { ...release.assetHeaders, ...(isHttps && { [HSTS]: HSTS_VALUE }) };
  return [
    checkOf('page', release.page, observed.page),
    ...checksOf('', release.assets, observed.assets),
    ...checksOf('header ', headers, observed.headers),
    ...checksOf('header of assets ', assetHeaders, observed.assetHeaders),
  ].filter(({ what }) => isHttps || !what.endsWith(HSTS));
}

function checksOf(kind: string, release: Record<string, string>, observed: Record<string, string>): Check[] {
  const names = new Set([...Object.keys(release), ...Object.keys(observed)]);
  return [...names].map((name) => checkOf(`${kind}${name}`, release[name] ?? 'nothing', observed[name] ?? 'nothing'));
}

function checkOf(what: string, expected: string, found: string): Check {
  return { what, ok: expected === found, expected, found };
}

function headersOf({ header }: Fetched): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of [...HEADERS, HSTS, 'set-cookie']) {
    const value = header(name);
    if (value !== null) found[name] = value;
  }
  return found;
}

/** Removes the merchant's name and the path of a proxy, which differ between installations. */
function generalised(markup: string): string {
  return markup.replace(TITLE, '$1{merchant}$3').replace(NAME, '$1{initial}$3{merchant}$5').replace(ASSET, '$1$3');
}

function hashOf(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}
