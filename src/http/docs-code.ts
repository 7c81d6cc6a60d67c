import { type Html, html } from '../html/html.ts';

/** Option of curl that sends the key from the environment. */
export const KEY_OPTION = '-H "Authorization: Bearer $TILLWAY_API_KEY"';

interface CurlOptions {
  takesFile: boolean;
  asksForKey: boolean;
}

/** A request as a command line, one part a line. */
export function curlOf(method: string, url: string, body: unknown, { takesFile, asksForKey }: CurlOptions): string {
  const parts = [method === 'GET' || body !== undefined ? `curl ${url}` : `curl -X ${method} ${url}`];
  if (asksForKey) parts.push(KEY_OPTION);
  if (body !== undefined) {
    parts.push(`-H 'Content-Type: application/json'`);
    parts.push(`-d '${JSON.stringify(body, null, 2).replaceAll("'", String.raw`'\''`)}'`);
  }
  if (takesFile) parts.push(`-H 'Content-Type: text/csv'`, '--data-binary @file.csv');
  return parts.join(' \\\n  ');
}

const TOKEN = /"(?:[^"\\]|\\.)*"(?=\s*:)|"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/g;

/** JSON with its keys, strings and other values told apart. */
export function jsonMarkup(value: unknown): Html[] {
  const json = JSON.stringify(value, null, 2);
  const parts: Html[] = [];
  let end = 0;
  for (const match of json.matchAll(TOKEN)) {
    const [token] = match;
    parts.push(html`${json.slice(end, match.index)}<span class="${kindOf(token, json, match.index)}">${token}</span>`);
    end = match.index + token.length;
  }
  return [...parts, html`${json.slice(end)}`];
}

function kindOf(token: string, json: string, index: number): string {
  if (!token.startsWith('"')) return 'value';
  return json[index + token.length] === ':' ? 'key' : 'string';
}
