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

/** The body of a request as it came, before anything parsed it. */
export type RawBody = string | Uint8Array | ArrayBuffer;

export interface VerifyOptions {
  /** How old or early a signature may be, in seconds. Default 300; `Infinity` for recorded requests. */
  toleranceSeconds?: number | undefined;
  /** What time it is, in milliseconds since 1970. Default: the clock of the runtime. */
  now?: number | undefined;
}

/** What a look at a signature found; nothing is thrown. */
export type WebhookCheck =
  | {
      ok: true;
      scheme: ReadSignature['scheme'];
      /** Unix seconds: when this attempt was signed. */
      timestamp: number;
      /** The event that the headers name; undefined where they name none. */
      eventId: string | undefined;
    }
  | ({ ok: false } & Fault);

/** What to sign: an event, or the bytes of one. */
export interface SignParams {
  /** The event; its compact JSON is the body. */
  payload?: WebhookEvent | undefined;
  /** The body itself, instead of `payload`. */
  rawBody?: string | undefined;
  /** `whsec_...`; several as while one is being rotated. */
  secret: string | readonly string[];
  /** When it was signed, in unix seconds. Default: now. */
  timestamp?: number | undefined;
  /** The event that the headers name. Default: the `id` of the body. */
  eventId?: string | undefined;
}

/** A delivery as the service would send it. */
export interface SignedWebhook {
  /** With content type and the signatures of both schemes. */
  headers: Record<string, string>;
  body: string;
}

const DEFAULT_TOLERANCE_SECONDS = 300;

/**
 * The event of a webhook request, if it is genuine. Throws WebhookVerificationError otherwise, whose `reason` says why.
 *
 * `rawBody` is the body as it came: JSON that was parsed and written again has other bytes. `headers` are those of the
 * request, in any form. Several secrets are for the time while one is being rotated. An event of a `type` that this
 * version does not know is returned as it is: have a `default` that ignores it.
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

/** Whether the signature of a request is right, and why not where it is not. The body is not looked into. */
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
  // So written that a number that is none accepts nothing.
  if (!(Math.abs(ageSeconds) <= toleranceSeconds)) return { ok: false, ...stale(ageSeconds, toleranceSeconds) };
  const { scheme, timestamp, eventId } = read;
  return { ok: true, scheme, timestamp, eventId };
}

/** A request as the service would send it: for the tests of a webhook handler. Throws TypeError for what cannot be signed. */
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

export const webhooks = { verify, check, sign, sampleEvent };

function secretsOf(secret: string | readonly string[]): readonly string[] | Fault {
  const secrets: readonly unknown[] = Array.isArray(secret) ? secret : [secret];
  const fault = secrets.length === 0 ? secretFault('') : secrets.map(secretFault).find((each) => each !== undefined);
  return fault ?? (secrets as readonly string[]);
}

// Not by instanceof: test runners have several realms.
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
    message: `rawBody must be the body as it came, a string or bytes, not ${body === null ? 'null' : typeof body}.`,
    suggestion:
      'Take the body before anything parses it: express.raw({ type: "application/json" }), or await request.text().',
  };
}

function stale(ageSeconds: number, toleranceSeconds: number): Fault {
  const off = ageSeconds > 0 ? `${ageSeconds} seconds ago` : `${-ageSeconds} seconds in the future`;
  return {
    reason: 'stale',
    message: `The request was signed ${off}, and at most ${toleranceSeconds} seconds are accepted.`,
    suggestion:
      ageSeconds > 0
        ? 'Set the clock of this machine; a request that was recorded needs a larger toleranceSeconds.'
        : 'Set the clock of this machine, which is behind.',
  };
}

function wrongSignature(): Fault {
  return {
    reason: 'wrong_signature',
    message: 'The signature is not right for this body under this secret.',
    suggestion:
      'Verify the bytes as they came, not JSON that was parsed and written again; and compare the secret with WEBHOOK_SECRET of the service, or with what tillway listen printed.',
  };
}

/** The event in a body whose signature is right. */
function eventOf(body: Uint8Array, namedId: string | undefined): WebhookEvent {
  let event: unknown;
  try {
    event = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch (cause) {
    throw invalidPayload('The body is rightly signed, but it is not JSON.', cause);
  }
  if (!isEvent(event)) throw invalidPayload('The body is rightly signed, but it is not an event of Tillway.');
  if (namedId !== undefined && namedId !== event.id) {
    throw invalidPayload(
      `The headers (${EVENT_HEADER}, ${STANDARD_ID}) name another event than the body, ${event.id}.`,
    );
  }
  return event;
}

function invalidPayload(message: string, cause?: unknown): WebhookVerificationError {
  return new WebhookVerificationError('invalid_payload', message, {
    suggestion: 'See that this secret is used for nothing but the webhooks of Tillway.',
    ...(cause !== undefined && { cause }),
  });
}

function idIn(body: string): string {
  try {
    const { id } = JSON.parse(body) as { id?: unknown };
    if (typeof id === 'string') return id;
  } catch {
    // As where there is no id.
  }
  throw new TypeError('rawBody has no id: give eventId');
}
