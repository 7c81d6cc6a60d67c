import { type Environment, type WebhookCheck, WebhookVerificationError, webhooks } from '../../sdk/src/index.ts';
import { durationText } from './duration.ts';

/** A delivery as the endpoint received it, with the secret and limits of the endpoint. */
export interface Received {
  /** Headers by lower-case name. */
  headers: Readonly<Record<string, string>>;
  body: Buffer;
  secret: string;
  /** Current time in Unix seconds. */
  now: number;
  toleranceSeconds: number;
  environment?: Environment | undefined;
}

/**
 * A reason why the delivery is not genuine. `proven`: the signature is valid once the mistake is undone, or the request
 * itself shows the mistake.
 */
interface Finding {
  cause: string;
  certainty: 'proven' | 'likely';
  message: string;
  fix: string;
}

export interface Diagnosis {
  genuine: boolean;
  event: { id: string; type: string; environment: Environment | null } | null;
  /** Age of the signature in seconds by the local clock, negative for the future; null if the request has no timestamp. */
  ageSeconds: number | null;
  /** Empty if and only if the delivery is genuine. */
  findings: Finding[];
}

type Fault = Extract<WebhookCheck, { ok: false }>;

const GATEWAY = 'x-gateway-signature';
const STANDARD = 'webhook-signature';
const CAUSES: Partial<Record<Fault['reason'], string>> = {
  invalid_secret: 'wrong_secret',
  missing_header: 'header_missing',
  malformed_header: 'header_changed',
};
const RAW = 'Verify the raw bytes of the request, before any parsing, trimming or decoding.';

const finding =
  (certainty: Finding['certainty']) =>
  (cause: string, message: string, fix: string): Finding => ({ cause, certainty, message, fix });
const proven = finding('proven');
const likely = finding('likely');

/** Checks whether a delivery is genuine and, if not, which of eight common causes explains it. The SDK verifies each signature. */
export async function diagnose(received: Received): Promise<Diagnosis> {
  const { headers, body, secret, now, toleranceSeconds, environment } = received;
  const event = eventOf(body);
  const signed = [GATEWAY, STANDARD].filter((scheme) => headers[scheme] !== undefined);
  const wrong = new Map<string, Fault>();
  // Without any signature header, one check makes the SDK report which headers are missing.
  for (const scheme of signed.length === 0 ? [GATEWAY] : signed) {
    const checked = await check(received, scheme, body);
    if (!checked.ok) wrong.set(scheme, checked);
  }
  const [[scheme, fault] = []] = wrong;
  const right = signed.find((each) => !wrong.has(each));
  const findings = scheme && fault ? [await explain(scheme, fault, right, received, event)] : [];
  const actual = event?.environment;
  if (!fault && actual && environment !== undefined && actual !== environment) {
    const message = `The event is from ${actual}, but ${environment} is expected.`;
    findings.push(proven('other_environment', message, 'Give each environment its own endpoint and secret.'));
  }
  const time = /\bt=(\d{1,12})(?!\d)/.exec(headers[GATEWAY] ?? '')?.[1] ?? headers['webhook-timestamp'];
  const ageSeconds = Number.isNaN(Number(time)) ? null : now - Number(time);
  if (ageSeconds !== null && Math.abs(ageSeconds) > toleranceSeconds) {
    const message = `The signature was made ${ageText(ageSeconds)}; at most ${durationText(toleranceSeconds)} are accepted.`;
    const fix = 'Set the clocks of this machine and of the service by NTP; verify a recorded request with --tolerance.';
    findings.push((fault ? likely : proven)('clock_skew', message, fix));
  }
  if (findings.length === 0) {
    try {
      await webhooks.verify(body, headers, secret, { toleranceSeconds, now: now * 1000 });
    } catch (error) {
      if (!(error instanceof WebhookVerificationError)) throw error;
      findings.push(proven(error.reason, error.message, error.suggestion ?? ''));
    }
  }
  return { genuine: findings.length === 0, event, ageSeconds, findings };
}

/** Verifies the signature of one scheme with the SDK, whatever its age. */
function check({ headers, secret }: Received, scheme: string, body: string | Buffer): Promise<WebhookCheck> {
  const { [GATEWAY]: gateway, [STANDARD]: standard, ...others } = headers;
  const own = { ...others, [scheme]: scheme === GATEWAY ? gateway : standard };
  return webhooks.check(body, own, secret, { toleranceSeconds: Infinity });
}

/** Variants of the body, each with one common mistake undone. */
function corrections(text: string): [cause: string, change: string, bytes: string | Buffer][] {
  return [
    ['body_changed', 'surrounded with white space or a byte order mark', text.trim()],
    ['body_changed', 'decoded as Latin-1 instead of UTF-8', Buffer.from(text, 'latin1')],
    ['body_rewritten', 'parsed and serialized again', serialized(text) ?? text],
  ];
}

/** The event as the service serializes it; undefined if the text is not JSON or is nested too deeply. */
function serialized(text: string): string | undefined {
  try {
    const json = JSON.parse(text) as unknown;
    return typeof json === 'string' ? json : JSON.stringify(json);
  } catch {
    return undefined;
  }
}

/** Finds the cause of a signature that the SDK rejects. */
async function explain(
  scheme: string,
  fault: Fault,
  right: string | undefined,
  received: Received,
  event: Diagnosis['event'],
): Promise<Finding> {
  const { headers, body, environment } = received;
  if (fault.reason !== 'wrong_signature') {
    return proven(CAUSES[fault.reason] ?? fault.reason, fault.message, fault.suggestion);
  }
  const text = body.toString();
  for (const [cause, change, bytes] of corrections(text)) {
    if (!(await check(received, scheme, bytes)).ok) continue;
    return proven(cause, `The body differs from the signed bytes: it was ${change}.`, RAW);
  }
  if (right !== undefined) {
    const both = `One signature header is wrong, but body, secret and time are right, because ${right} of the same delivery is valid.`;
    return likely('header_changed', both, 'Look for a proxy that changes headers or mixes them between deliveries.');
  }
  const announced = headers['content-length'] ?? String(body.length);
  if (text === '' || announced !== String(body.length)) {
    return proven('body_changed', `The body has ${body.length} bytes, but Content-Length is ${announced}.`, RAW);
  }
  const original = serialized(text);
  if (original === undefined) return likely('body_changed', 'The body is not JSON: it was cut off or decoded.', RAW);
  if (original !== text) return likely('body_rewritten', 'The body is not compact JSON as sent by the service.', RAW);
  const actual = event?.environment;
  if (actual && environment !== undefined && actual !== environment) {
    const other = `The event is from ${actual}, but the secret seems to be from ${environment}.`;
    return likely('other_environment', other, `Verify events of ${actual} with the secret of ${actual}.`);
  }
  if (/v1=.*v1=|v1,.* v1,/.test(headers[scheme] ?? '')) {
    const several = 'The delivery is signed with several secrets, as during a rotation, but not with the given secret.';
    return likely('rotated_secret', several, 'Use the secret that the rotation printed; earlier secrets expire.');
  }
  const message = `The delivery was signed with another secret, or its body was changed.${actual ? ` The event is from ${actual}: check that the secret is too.` : ''}`;
  const fix = 'Compare the secret with WEBHOOK_SECRET of the service, or with the secret that tillway listen printed.';
  return likely('wrong_secret', message, fix);
}

/** Age as text: `12 s ago`. */
export function ageText(seconds: number): string {
  return seconds < 0 ? `${durationText(-seconds)} ahead of the local clock` : `${durationText(seconds)} ago`;
}

function eventOf(body: Buffer): Diagnosis['event'] {
  try {
    const { id, type, livemode } = JSON.parse(body.toString()) as Record<string, unknown>;
    if (typeof id !== 'string' || typeof type !== 'string') return null;
    return { id, type, environment: typeof livemode === 'boolean' ? (livemode ? 'production' : 'sandbox') : null };
  } catch {
    return null;
  }
}
