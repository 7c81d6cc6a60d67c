import { createHmac, timingSafeEqual } from 'node:crypto';

const SECRET_PREFIX = 'whsec_';
const SIGNATURE = /^t=(\d{1,12})((?:,v1=[0-9a-f]{64}){1,10})$/;
const MEANT_AS_SIGNATURE = /^t=[^,]*,v1=/;

/** Headers of one delivery attempt, signed in both schemes: our own and Standard Webhooks. During a rotation there are several `secrets`. */
export function deliveryHeaders(delivery: {
  eventId: string;
  body: string;
  /** Unix seconds of this attempt. */
  timestamp: number;
  secrets: readonly string[];
}): Record<string, string> {
  const { eventId, body, timestamp, secrets } = delivery;
  const gateway = secrets.map((secret) => `v1=${hmacHex(secret, `${timestamp}.${body}`)}`);
  // https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md#signature-scheme
  const standard = secrets.map((secret) => `v1,${hmacBase64(secret, `${eventId}.${timestamp}.${body}`)}`);
  return {
    'content-type': 'application/json',
    'x-gateway-event': eventId,
    'x-gateway-signature': `t=${timestamp},${gateway.join(',')}`,
    'webhook-id': eventId,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': standard.join(' '),
  };
}

/** `t=<unix seconds>,v1=<hex HMAC-SHA256 of "t.body">`: the form in which the simulated provider signs its callbacks. */
export function signCallback(secret: string, timestamp: number, body: string): string {
  return `t=${timestamp},v1=${hmacHex(secret, `${timestamp}.${body}`)}`;
}

/** True if a text has the form of a callback signature, `t=...,v1=...`. The signature need not be valid. */
export function isCallbackSignature(value: string): boolean {
  return MEANT_AS_SIGNATURE.test(value);
}

/** True if `signature` signs the body with `secret`; the caller checks its time. Never throws. */
export function verifyCallback(secret: string, signature: string, body: string | Buffer): boolean {
  const match = SIGNATURE.exec(signature);
  if (!match) return false;
  const timestamp = Number(match[1]);
  const expected = createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest();
  // During a rotation, a callback has several signatures. One of them must be valid.
  const given = match[2]!.split(',v1=').slice(1);
  return given.some((hex) => timingSafeEqual(expected, Buffer.from(hex, 'hex')));
}

// The key is the whole `whsec_...` string, as Stripe-style verifiers use it.
function hmacHex(secret: string, content: string): string {
  return createHmac('sha256', secret).update(content).digest('hex');
}

// The key is the decoded text after `whsec_`, as Standard Webhooks verifiers use it.
function hmacBase64(secret: string, content: string): string {
  const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64');
  return createHmac('sha256', key).update(content).digest('base64');
}
