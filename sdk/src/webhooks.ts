import { isEvent } from './answers.ts';
import { WebhookVerificationError } from './errors.ts';
import { sampleEvent } from './sample-event.ts';
import type { WebhookEvent } from './generated/types.ts';
import {
  EVENT_HEADER,
  type Fault,
  type ReadSignature,
  STANDARD_ID,
  type WebhookHeaders,
  isSigned,
  readSignature,
  secretFault,
  signatureHeaders,
} from './webhook-signature.ts';

/** Raw, unparsed body of a request. */
export type RawBody = string | Uint8Array | ArrayBuffer;

/** Options of `verify` and `check`. */
export interface VerifyOptions {
  /** Maximum difference between signature time and current time, in seconds. Default 300; `Infinity` for recorded requests. */
  toleranceSeconds?: number | undefined;
  /** Current time in milliseconds since 1970. Default: the clock of the runtime. */
  now?: number | undefined;
}

/** Result of a signature check. */
export type WebhookCheck =
  | {
      ok: true;
      scheme: ReadSignature['scheme'];
      /** Time of the signature, in Unix seconds. */
      timestamp: number;
      /** Event id in the headers; undefined if the headers contain none. */
      eventId: string | undefined;
    }
  | ({ ok: false } & Fault);

/** Parameters of `sign`: an event or its JSON text, and the secrets. */
export interface SignParams {
  /** Event, whose compact JSON becomes the body. */
  payload?: WebhookEvent | undefined;
  /** Body text, instead of `payload`. */
  rawBody?: string | undefined;
  /** Signing secret `whsec_...`, or several secrets as during a rotation. */
  secret: string | readonly string[];
  /** Time of the signature, in Unix seconds. Default: now. */
  timestamp?: number | undefined;
  /** Event id in the headers. Default: the `id` of the body. */
  eventId?: string | undefined;
}

/** Headers and body of a signed delivery. */
export interface SignedWebhook {
  /** Content type, and the signatures of both schemes. */
  headers: Record<string, string>;
  body: string;
}

const DEFAULT_TOLERANCE_SECONDS = 300;

/**
 * Verifies a webhook request and returns its event. If the verification fails, throws WebhookVerificationError with the `reason`.
 * `rawBody` must be the raw body, because JSON that was parsed and serialized again has other bytes. Pass several secrets during a
 * rotation. Returns events of an unknown `type` unchanged, so your handler should ignore unknown types.
 */
export async function verify(
  rawBody: RawBody,
  headers: WebhookHeaders,
  secret: string | readonly string[],
  options: VerifyOptions = {},
): Promise<WebhookEvent> {
  const checked = await check(rawBody, headers, secret, options);
  if (!checked.ok) throw new WebhookVerificationError(checked.reason, checked.message, checked);
  return eventOf(bytesOf(rawBody), checked.eventId);
}

/** Verifies the signature of a request, and returns the result instead of throwing. Does not parse the body. */
export async function check(
  rawBody: RawBody,
  headers: WebhookHeaders,
  secret: string | readonly string[],
  { toleranceSeconds = DEFAULT_TOLERANCE_SECONDS, now = Date.now() }: VerifyOptions = {},
): Promise<WebhookCheck> {
  if (!isRaw(rawBody)) return { ok: false, ...parsedBody(rawBody) };
  const secrets = secretsOf(secret);
  if ('reason' in secrets) return { ok: false, ...secrets };
  const read = readSignature(headers);
  if ('reason' in read) return { ok: false, ...read };
  if (!(await isSigned(read, bytesOf(rawBody), secrets))) return { ok: false, ...wrongSignature() };
  const ageSeconds = Math.floor(now / 1000) - read.timestamp;
  // Negates the comparison, so that a tolerance of NaN rejects every signature.
  if (!(Math.abs(ageSeconds) <= toleranceSeconds)) return { ok: false, ...stale(ageSeconds, toleranceSeconds) };
  const { scheme, timestamp, eventId } = read;
  return { ok: true, scheme, timestamp, eventId };
}

/** Signs a webhook request as the service does, for tests of a webhook handler. Throws TypeError for invalid arguments. */
export async function sign({ payload, rawBody, secret, timestamp, eventId }: SignParams): Promise<SignedWebhook> {
  if ((payload === undefined) === (rawBody === undefined)) throw new TypeError('give either payload or rawBody');
  const secrets = secretsOf(secret);
  if ('reason' in secrets) throw new TypeError(secrets.message);
  const body = rawBody ?? JSON.stringify(payload);
  const seconds = timestamp ?? Math.floor(Date.now() / 1000);
  if (!Number.isInteger(seconds) || seconds < 0) throw new TypeError('timestamp must be unix seconds, a whole number');
  const id = eventId ?? idIn(body);
  const signed = await signatureHeaders(id, new TextEncoder().encode(body), secrets, seconds);
  return { headers: { 'content-type': 'application/json', ...signed }, body };
}

/** Functions that verify webhooks, and create signed samples for tests. */
export const webhooks = { verify, check, sign, sampleEvent };

function secretsOf(secret: string | readonly string[]): readonly string[] | Fault {
  const secrets: readonly unknown[] = Array.isArray(secret) ? secret : [secret];
  const fault = secrets.length === 0 ? secretFault('') : secrets.map(secretFault).find((each) => each !== undefined);
  return fault ?? (secrets as readonly string[]);
}

// Does not use instanceof, because the body can come from another realm, as in test runners.
function isRaw(body: unknown): body is RawBody {
  return typeof body === 'string' || ArrayBuffer.isView(body) || isBuffer(body);
}

function isBuffer(body: unknown): body is ArrayBuffer {
  return Object.prototype.toString.call(body) === '[object ArrayBuffer]';
}

function bytesOf(body: RawBody): Uint8Array {
  if (typeof body === 'string') return new TextEncoder().encode(body);
  return ArrayBuffer.isView(body) ? body : new Uint8Array(body);
}

function parsedBody(body: unknown): Fault {
  return {
    reason: 'invalid_payload',
    message: `rawBody must be the raw body, a string or bytes, not ${body === null ? 'null' : typeof body}.`,
    suggestion: 'Read the body before any parser: express.raw({ type: "application/json" }), or await request.text().',
  };
}

function stale(ageSeconds: number, toleranceSeconds: number): Fault {
  const off = ageSeconds > 0 ? `${ageSeconds} seconds ago` : `${-ageSeconds} seconds in the future`;
  return {
    reason: 'stale',
    message: `The request was signed ${off}, and at most ${toleranceSeconds} seconds are accepted.`,
    suggestion:
      ageSeconds > 0
        ? 'Check the clock of this machine. Recorded requests need a larger toleranceSeconds.'
        : 'Check the clock of this machine, which seems to be slow.',
  };
}

function wrongSignature(): Fault {
  return {
    reason: 'wrong_signature',
    message: 'The signature does not match this body and secret.',
    suggestion:
      'Verify the raw bytes, not JSON that was parsed and serialized again. Compare the secret with WEBHOOK_SECRET of the service, or with the output of tillway listen.',
  };
}

/** Reads the event from a body whose signature is correct. */
function eventOf(body: Uint8Array, namedId: string | undefined): WebhookEvent {
  let event: unknown;
  try {
    event = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch (cause) {
    throw invalidPayload('The signature is correct, but the body is not JSON.', cause);
  }
  if (!isEvent(event)) throw invalidPayload('The signature is correct, but the body is not an event of Tillway.');
  if (namedId !== undefined && namedId !== event.id) {
    throw invalidPayload(
      `The headers (${EVENT_HEADER}, ${STANDARD_ID}) contain another event id than the body (${event.id}).`,
    );
  }
  return event;
}

function invalidPayload(message: string, cause?: unknown): WebhookVerificationError {
  return new WebhookVerificationError('invalid_payload', message, {
    suggestion: 'Use this secret only for webhooks from Tillway.',
    ...(cause !== undefined && { cause }),
  });
}

function idIn(body: string): string {
  try {
    const { id } = JSON.parse(body) as { id?: unknown };
    if (typeof id === 'string') return id;
  } catch {
    // A body that is not JSON has no id.
  }
  throw new TypeError('rawBody has no id: set eventId');
}
