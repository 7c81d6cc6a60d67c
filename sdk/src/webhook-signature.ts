import type { WebhookFailureReason } from './errors.ts';

// The two signature schemes of webhooks, which docs/webhooks.md of the service describes. No function has side effects.

const SECRET_PREFIX = 'whsec_';
const SECRET = /^whsec_[A-Za-z0-9+/]+={0,2}$/;
const HEX_SIGNATURE = /^[0-9a-f]{64}$/;
// Base64 of 32 bytes has two unused bits. They must be zero, so that each signature has only one valid text.
const BASE64_SIGNATURE = /^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/;
const UNIX_SECONDS = /^\d{1,12}$/;
// Maximum number of signatures in a header. Tillway sends a few during a rotation, never thousands.
const MAX_SIGNATURES = 20;
// Signatures are separated by a space, or by a comma and a space if a server has joined repeated headers.
const BETWEEN_SIGNATURES = /,? +/;

const GATEWAY_HEADER = 'x-gateway-signature';
export const EVENT_HEADER = 'x-gateway-event';
export const STANDARD_ID = 'webhook-id';
const STANDARD_TIMESTAMP = 'webhook-timestamp';
const STANDARD_SIGNATURE = 'webhook-signature';

/** Headers in the formats of common servers: fetch `Headers`, a plain record, or an object with `get`. */
export type WebhookHeaders =
  { get(name: string): string | null | undefined } | Readonly<Record<string, string | readonly string[] | undefined>>;

/** Reason why a signature was rejected, with a suggested solution. */
export interface Fault {
  reason: WebhookFailureReason;
  /** One sentence. */
  message: string;
  /** One sentence. */
  suggestion: string;
}

/** Signature parsed from the headers. */
export interface ReadSignature {
  scheme: 'gateway' | 'standard';
  /** Time of the signature, in Unix seconds. */
  timestamp: number;
  /** Event id in the headers; undefined if the headers contain none. */
  eventId: string | undefined;
  /** Text that precedes the body in the signed content. */
  prefix: string;
  signatures: Uint8Array[];
}

/** Reads the signature from `x-gateway-signature`; without this header, from the headers of Standard Webhooks. */
export function readSignature(headers: WebhookHeaders): ReadSignature | Fault {
  if (typeof headers !== 'object' || headers === null) return noHeaders(headers);
  const gateway = headerOf(headers, GATEWAY_HEADER);
  if (gateway !== undefined) return readGateway(gateway, headerOf(headers, EVENT_HEADER));
  const standard = headerOf(headers, STANDARD_SIGNATURE);
  if (standard !== undefined) {
    return readStandard(standard, headerOf(headers, STANDARD_ID), headerOf(headers, STANDARD_TIMESTAMP));
  }
  return {
    reason: 'missing_header',
    message: `The request has no signature: it has neither the header ${GATEWAY_HEADER} nor ${STANDARD_SIGNATURE}.`,
    suggestion:
      'Pass the unchanged headers of the request, and check that proxies forward them; a request without these headers is not from Tillway.',
  };
}

/**
 * Parses `t=<unix seconds>,v1=<hex>`, which has several v1 during a rotation. Ignores parts with other names, which later
 * versions can add.
 */
function readGateway(header: string, eventId: string | undefined): ReadSignature | Fault {
  const parts = header.split(',', MAX_SIGNATURES + 1).map((part) => part.trim());
  const time = parts.find((part) => part.startsWith('t='))?.slice(2) ?? '';
  const hex = parts.flatMap((part) => (part.startsWith('v1=') ? [part.slice(3)] : []));
  if (!UNIX_SECONDS.test(time) || hex.length === 0 || !hex.every((each) => HEX_SIGNATURE.test(each))) {
    return malformed(GATEWAY_HEADER, 't=<unix seconds>,v1=<64 hexadecimal digits>', header);
  }
  const signatures = hex.map((each) => Uint8Array.from(each.match(/../g)!, (pair) => parseInt(pair, 16)));
  return { scheme: 'gateway', timestamp: Number(time), eventId, prefix: `${time}.`, signatures };
}

/** Scheme of https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md#signature-scheme. */
function readStandard(header: string, id: string | undefined, time: string | undefined): ReadSignature | Fault {
  if (id === undefined || time === undefined) {
    return {
      reason: 'missing_header',
      message: `The request has ${STANDARD_SIGNATURE}, but not ${id === undefined ? STANDARD_ID : STANDARD_TIMESTAMP}.`,
      suggestion: 'Check that proxies forward all three headers of Standard Webhooks.',
    };
  }
  if (!UNIX_SECONDS.test(time)) return malformed(STANDARD_TIMESTAMP, 'unix seconds', time);
  const parts = header.split(BETWEEN_SIGNATURES, MAX_SIGNATURES);
  const base64 = parts.flatMap((part) => (part.startsWith('v1,') ? [part.slice(3)] : []));
  if (base64.length === 0 || !base64.every((each) => BASE64_SIGNATURE.test(each))) {
    return malformed(STANDARD_SIGNATURE, 'v1,<base64 of 32 bytes>', header);
  }
  const signatures = base64.map(bytesOfBase64);
  return { scheme: 'standard', timestamp: Number(time), eventId: id, prefix: `${id}.${time}.`, signatures };
}

function noHeaders(headers: unknown): Fault {
  return {
    reason: 'missing_header',
    message: `headers must be the headers of the request, not ${headers === null ? 'null' : typeof headers}.`,
    suggestion: 'Pass request.headers: an object, fetch Headers, or an object with get.',
  };
}

const MAX_QUOTED_LENGTH = 120;

function malformed(name: string, form: string, value: string): Fault {
  const shown = value.length > MAX_QUOTED_LENGTH ? `${value.slice(0, MAX_QUOTED_LENGTH)}...` : value;
  return {
    reason: 'malformed_header',
    message: `${name} must be ${form}, not ${JSON.stringify(shown)}.`,
    suggestion: 'Pass the unchanged header; if the request had this value, it is not from Tillway.',
  };
}

function headerOf(headers: WebhookHeaders, name: string): string | undefined {
  if (typeof headers.get === 'function') return headers.get(name) ?? undefined;
  // Some servers do not convert header names to lower case.
  const key = Object.keys(headers).find((each) => each.toLowerCase() === name);
  const value =
    key === undefined ? undefined : (headers as Record<string, string | readonly string[] | null | undefined>)[key];
  if (typeof value === 'string') return value;
  return value?.join(name === STANDARD_SIGNATURE ? ' ' : ',');
}

/** Returns the reason why a secret is invalid; undefined for a valid secret. */
export function secretFault(secret: unknown): Fault | undefined {
  const suggestion = 'Pass the WEBHOOK_SECRET of the service: whsec_ and base64, without any other characters.';
  const fault = (message: string): Fault => ({ reason: 'invalid_secret', message, suggestion });
  if (typeof secret !== 'string')
    return fault(`The secret must be a string, not ${secret === null ? 'null' : typeof secret}.`);
  if (secret === '') return fault('The secret is empty.');
  if (secret !== secret.trim()) return fault('The secret has leading or trailing whitespace, such as a line break.');
  if (!secret.startsWith(SECRET_PREFIX)) return fault(`The secret must start with ${SECRET_PREFIX}.`);
  if (!SECRET.test(secret) || !isBase64(secret.slice(SECRET_PREFIX.length))) {
    return fault(`The part of the secret after ${SECRET_PREFIX} must be base64.`);
  }
  return undefined;
}

/** True if one of the signatures is the signature of the body with one of the secrets. */
export async function isSigned(
  { scheme, prefix, signatures }: ReadSignature,
  body: Uint8Array,
  secrets: readonly string[],
): Promise<boolean> {
  const content = joined(prefix, body);
  for (const secret of secrets) {
    const key = await importKey(scheme, secret, 'verify');
    for (const signature of signatures) {
      // `verify` compares in constant time.
      if (await subtle().verify('HMAC', key, copyOf(signature), content)) return true;
    }
  }
  return false;
}

/** Creates the signature headers of both schemes. `timestamp` is in unix seconds. */
export async function signatureHeaders(
  eventId: string,
  body: Uint8Array,
  secrets: readonly string[],
  timestamp: number,
): Promise<Record<string, string>> {
  const sign = async (scheme: ReadSignature['scheme'], secret: string, prefix: string) =>
    new Uint8Array(await subtle().sign('HMAC', await importKey(scheme, secret, 'sign'), joined(prefix, body)));
  const gateway = await Promise.all(secrets.map((secret) => sign('gateway', secret, `${timestamp}.`)));
  const standard = await Promise.all(secrets.map((secret) => sign('standard', secret, `${eventId}.${timestamp}.`)));
  return {
    [EVENT_HEADER]: eventId,
    [GATEWAY_HEADER]: `t=${timestamp},${gateway.map((bytes) => `v1=${hexOf(bytes)}`).join(',')}`,
    [STANDARD_ID]: eventId,
    [STANDARD_TIMESTAMP]: String(timestamp),
    [STANDARD_SIGNATURE]: standard.map((bytes) => `v1,${btoa(String.fromCharCode(...bytes))}`).join(' '),
  };
}

function importKey(scheme: ReadSignature['scheme'], secret: string, use: 'sign' | 'verify') {
  // The gateway scheme uses the whole secret as key, Standard Webhooks the decoded part after the prefix.
  const bytes =
    scheme === 'gateway' ? new TextEncoder().encode(secret) : bytesOfBase64(secret.slice(SECRET_PREFIX.length));
  return subtle().importKey('raw', copyOf(bytes), { name: 'HMAC', hash: 'SHA-256' }, false, [use]);
}

function subtle() {
  const { crypto } = globalThis;
  if (crypto?.subtle) return crypto.subtle;
  throw new TypeError('WebCrypto is not available here: browsers have it on https and on localhost only');
}

function isBase64(text: string): boolean {
  try {
    return atob(text).length > 0;
  } catch {
    return false;
  }
}

function bytesOfBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function joined(prefix: string, body: Uint8Array) {
  const start = new TextEncoder().encode(prefix);
  const bytes = new Uint8Array(start.length + body.length);
  bytes.set(start);
  bytes.set(body, start.length);
  return bytes;
}

/** Copies bytes to unshared memory, because WebCrypto rejects shared memory. */
function copyOf(bytes: Uint8Array) {
  return new Uint8Array(bytes);
}
