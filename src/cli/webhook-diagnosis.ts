import { type Environment, type WebhookCheck, WebhookVerificationError, webhooks } from '../../sdk/src/index.ts';
import { durationText } from './duration.ts';

/** A delivery as the endpoint received it, and what the endpoint expects. */
export interface Received {
  /** Headers by their names in lower case. */
  headers: Readonly<Record<string, string>>;
  body: Buffer;
  secret: string;
  /** Current time in Unix seconds. */
  now: number;
  toleranceSeconds: number;
  environment?: Environment | undefined;
}

/**
 * A reason for which the delivery is not genuine. `proven`: undoing the mistake makes the signature right, or the request
 * shows the mistake.
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
  /** Age of the signature in seconds by the local clock, negative for the future; null if no time is known. */
  ageSeconds: number | null;
  /** Empty exactly if the delivery is genuine. */
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
const RAW = 'Verify the raw bytes of the request before anything parses, trims or decodes them.';

const finding =
  (certainty: Finding['certainty']) =>
  (cause: string, message: string, fix: string): Finding => ({ cause, certainty, message, fix });
const proven = finding('proven');
const likely = finding('likely');

/** Tells whether a delivery is genuine and, if not, which of the eight common causes explains it. The SDK judges each signature. */
export async function diagnose(received: Received): Promise<Diagnosis> {
  const { headers, body, secret, now, toleranceSeconds, environment } = received;
  const event = eventOf(body);
  const signed = [GATEWAY, STANDARD].filter((scheme) => headers[scheme] !== undefined);
  const wrong = new Map<string, Fault>();
  // Without a signature, the SDK reports which headers are missing.
  for (const scheme of signed.length === 0 ? [GATEWAY] : signed) {
    const checked = await check(received, scheme, body);
    if (!checked.ok) wrong.set(scheme, checked);
  }
  const [[scheme, fault] = []] = wrong;
  const right = signed.find((each) => !wrong.has(each));
  const findings = scheme && fault ? [await explain(scheme, fault, right, received, event)] : [];
  const is = event?.environment;
  if (!fault && is && environment !== undefined && is !== environment) {
    const message = `It is an event of ${is}, and ${environment} is expected.`;
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

/** The result of the SDK for the signature of one scheme. */
function check({ headers, secret }: Received, scheme: string, body: string | Buffer): Promise<WebhookCheck> {
  const { [GATEWAY]: gateway, [STANDARD]: standard, ...others } = headers;
  const own = { ...others, [scheme]: scheme === GATEWAY ? gateway : standard };
  return webhooks.check(body, own, secret, { toleranceSeconds: Infinity });
}

/** The body after one common mistake is undone. */
function corrections(text: string): [cause: string, change: string, bytes: string | Buffer][] {
  return [
    ['body_changed', 'given white space or a byte order mark around it', text.trim()],
    ['body_changed', 'read as Latin-1 although it is UTF-8', Buffer.from(text, 'latin1')],
    ['body_rewritten', 'parsed and serialized again', serialized(text) ?? text],
  ];
}

/** The event as the service serializes it; undefined if the text is not JSON, or nested too deep to be written. */
function serialized(text: string): string | undefined {
  try {
    const json = JSON.parse(text) as unknown;
    return typeof json === 'string' ? json : JSON.stringify(json);
  } catch {
    return undefined;
  }
}

/** The cause of a signature that the SDK rejects. */
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
    return proven(cause, `The body is not the bytes that were signed: it was ${change}.`, RAW);
  }
  if (right !== undefined) {
    const both = `One signature is wrong although body, secret and time are right: ${right} of the same delivery fits.`;
    return likely('header_changed', both, 'Look for a proxy that changes the header or mixes those of two deliveries.');
  }
  const announced = headers['content-length'] ?? String(body.length);
  if (text === '' || announced !== String(body.length)) {
    return proven('body_changed', `The body has ${body.length} bytes, and Content-Length is ${announced}.`, RAW);
  }
  const original = serialized(text);
  if (original === undefined) return likely('body_changed', 'The body is not JSON: it was cut off or decoded.', RAW);
  if (original !== text) return likely('body_rewritten', 'The body is not compact JSON, as the service sends it.', RAW);
  const is = event?.environment;
  if (is && environment !== undefined && is !== environment) {
    const other = `It is an event of ${is}, and the secret seems to be the one of ${environment}.`;
    return likely('other_environment', other, `Verify events of ${is} with the secret of ${is}.`);
  }
  if (/v1=.*v1=|v1,.* v1,/.test(headers[scheme] ?? '')) {
    const several = 'The service signs with several secrets while one is rotated, and the given one is none of them.';
    return likely('rotated_secret', several, 'Use the secret that the rotation has shown; the others expire.');
  }
  const message = `It was signed with another secret, or the content of the body was changed.${is ? ` It is an event of ${is}: is this the secret of ${is}?` : ''}`;
  const fix = 'Compare the secret with WEBHOOK_SECRET of the service, or with the one that tillway listen printed.';
  return likely('wrong_secret', message, fix);
}

/** `12 s ago`. */
export function ageText(seconds: number): string {
  return seconds < 0 ? `${durationText(-seconds)} ahead of the clock here` : `${durationText(seconds)} ago`;
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
