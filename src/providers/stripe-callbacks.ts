import { GatewayError } from '../domain/gateway-error.ts';
import { verifyCallback } from '../webhooks/sign.ts';
import { jsonOfCallback } from './callback-body.ts';
import type { CallbackHeaders } from './provider.ts';
import { type StripeEvent, readEvent, readSignatures } from './stripe-objects.ts';

const SIGNATURE_HEADER = 'stripe-signature';
const TOLERANCE_SECONDS = 300;

/**
 * The event of a callback; undefined if the signed body is not an event of this API version. Throws GatewayError
 * `unauthorized` unless the body was signed with one of the secrets at most 300 s ago.
 */
export function readSignedEvent(
  rawBody: Buffer,
  headers: CallbackHeaders,
  { secrets, nowMs }: { secrets: readonly string[]; nowMs: number },
): StripeEvent | undefined {
  verifySignature(rawBody, headers[SIGNATURE_HEADER], secrets, nowMs);
  return readEvent(jsonOfCallback(rawBody));
}

function verifySignature(rawBody: Buffer, header: unknown, secrets: readonly string[], nowMs: number): void {
  const found = readSignatures(header);
  const signature = found ? [`t=${found.time}`, ...found.signatures].join(',') : '';
  if (!found || !secrets.some((secret) => verifyCallback(secret, signature, rawBody))) {
    throw new GatewayError('unauthorized', `The header ${SIGNATURE_HEADER} does not sign this body.`, {
      suggestion: "Use the signing secret of this endpoint, and forward Stripe's exact bytes.",
    });
  }
  const seconds = Math.floor(nowMs / 1000) - found.time;
  if (Math.abs(seconds) <= TOLERANCE_SECONDS) return;
  const difference = `${Math.abs(seconds)} s ${seconds > 0 ? 'old' : 'in the future'}`;
  throw new GatewayError('unauthorized', `The signature is valid, but its time is ${difference}.`, {
    suggestion: `Set the clock of this machine, or send the event again: at most ${TOLERANCE_SECONDS} s are accepted.`,
  });
}
