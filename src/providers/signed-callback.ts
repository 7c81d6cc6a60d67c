import { GatewayError } from '../domain/gateway-error.ts';
import { verifyCallback } from '../webhooks/sign.ts';
import type { CallbackHeaders } from './provider.ts';

const TIME = /^t=(\d{1,12})$/;
const SIGNATURE = /^v1=[0-9a-f]{64}$/;
const MAX_SIGNATURES = 10;
const TOLERANCE_SECONDS = 300;

export interface CallbackSignature {
  /** Name of the header with `t=<unix seconds>,v1=<hex HMAC-SHA256 of "t.body">`, the scheme of Stripe. */
  header: string;
  secrets: readonly string[];
  /** Milliseconds since 1970. */
  nowMs: number;
  /** Suggestion of the error for a header that does not sign the body. */
  suggestion?: string;
}

/**
 * JSON of a callback whose header signs the raw body with one of the secrets. Throws GatewayError `unauthorized` for another or
 * no signature and for a signature more than 300 s old, and `invalid_input` if the body is not JSON.
 */
export function readSignedCallback(rawBody: Buffer, headers: CallbackHeaders, expected: CallbackSignature): unknown {
  const { header, secrets, nowMs, suggestion = "Forward the provider's exact bytes." } = expected;
  const found = readSignatures(headers[header]);
  const signature = found ? [`t=${found.time}`, ...found.signatures].join(',') : '';
  if (!found || !secrets.some((secret) => verifyCallback(secret, signature, rawBody))) {
    throw new GatewayError('unauthorized', `The header ${header} does not sign this body.`, { suggestion });
  }
  const seconds = Math.floor(nowMs / 1000) - found.time;
  if (Math.abs(seconds) > TOLERANCE_SECONDS) {
    const difference = `${Math.abs(seconds)} s ${seconds > 0 ? 'old' : 'in the future'}`;
    throw new GatewayError('unauthorized', `The signature is valid, but its time is ${difference}.`, {
      suggestion: `Set the clock of this machine, or send the event again: at most ${TOLERANCE_SECONDS} s are accepted.`,
    });
  }
  return jsonOf(rawBody);
}

function readSignatures(header: unknown): { time: number; signatures: string[] } | undefined {
  if (typeof header !== 'string') return undefined;
  const parts = header.split(',').map((part) => part.trim());
  // Signatures of other schemes, such as `v0` of test events at Stripe, do not authenticate the body.
  const signatures = parts.filter((part) => SIGNATURE.test(part)).slice(0, MAX_SIGNATURES);
  const times = parts.flatMap((part) => TIME.exec(part)?.[1] ?? []);
  return times.length === 1 && signatures.length > 0 ? { time: Number(times[0]), signatures } : undefined;
}

/** The body as JSON; throws GatewayError `invalid_input` if it is not JSON in UTF-8. */
export function jsonOf(rawBody: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(rawBody));
  } catch {
    throw new GatewayError('invalid_input', 'The callback is not valid JSON in UTF-8.');
  }
}
