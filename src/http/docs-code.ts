import { type Html, html } from '../html/html.ts';

/** A request as a command line, one part a line. */
export function curlOf(method: string, url: string, body: unknown): string {
  const parts = [method === 'GET' || body !== undefined ? `curl ${url}` : `curl -X ${method} ${url}`];
  if (body !== undefined) {
    parts.push(`-H 'Content-Type: application/json'`);
    parts.push(`-d '${JSON.stringify(body, null, 2).replaceAll("'", String.raw`'\''`)}'`);
  }
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
