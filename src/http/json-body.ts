import { isUtf8 } from 'node:buffer';
import { GatewayError } from '../domain/gateway-error.ts';

export const MAX_BODY_BYTES = 128 * 1024;
const MAX_DEPTH = 32;
const BACKSLASH = 0x5c;

/** Parses the JSON of a body; returns undefined for an empty body. Throws GatewayError `invalid_json`. */
export function parseJsonBody(body: Buffer): unknown {
  if (body.length === 0) return undefined;
  if (!isUtf8(body)) throw invalidJson('The body is not valid UTF-8.');
  let value: unknown;
  try {
    value = JSON.parse(body.toString('utf8'));
    if (body.includes(BACKSLASH)) value = JSON.parse(withPlainKeys(body.toString('utf8')));
  } catch {
    throw invalidJson('The body is not valid JSON.');
  }
  if (isDeeperThan(value, MAX_DEPTH)) throw invalidJson(`The body is nested more than ${MAX_DEPTH} levels deep.`);
  return value;
}

/**
 * Removes unnecessary escapes from valid JSON, because V8 can confuse a key that is written with escapes with another key
 * (https://github.com/nodejs/node/issues/63785). The contract rejects keys that need escapes.
 */
function withPlainKeys(json: string): string {
  return json.replace(/\\(?:u([0-9a-fA-F]{4})|(.))/g, (escape, hex: string | undefined, letter: string | undefined) => {
    if (letter !== undefined) return letter === '/' ? '/' : escape;
    const character = String.fromCharCode(Number.parseInt(hex!, 16));
    return character < ' ' || character === '"' || character === '\\' ? escape : character;
  });
}

function invalidJson(message: string): GatewayError {
  return new GatewayError('invalid_json', message, {
    suggestion: 'Send one JSON object with the header Content-Type: application/json.',
  });
}

function isDeeperThan(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (depth === 0) return true;
  return Object.values(value).some((item) => isDeeperThan(item, depth - 1));
}
