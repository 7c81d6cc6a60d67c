import { type Environment, type WebhookCheck, WebhookVerificationError, webhooks } from '../../sdk/src/index.ts';
import { durationText } from './duration.ts';

/** A secret, and its name if several are given: `production`. */
export interface NamedSecret {
  name: string | null;
  secret: string;
}

/** A delivery as the endpoint received it, and what the endpoint expects. */
export interface Received {
  /** Headers by their names in lower case. */
  headers: Readonly<Record<string, readonly string[]>>;
  body: Buffer;
  secrets: readonly NamedSecret[];
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
  /** The headers whose signature is right without any correction. */
  schemes: Scheme[];
  /** The name of the secret that fits. */
  secret: string | null;
  event: { id: string; type: string; environment: Environment | null } | null;
  /** Age of the signature in seconds by the local clock, negative for the future; null if no time is known. */
  ageSeconds: number | null;
  /** Proven findings first; empty exactly if the delivery is genuine. */
  findings: Finding[];
}

/**
 * The first secret and correction of the body that make the signature correct; otherwise the reason why the SDK rejects
 * it.
 */
interface Judgement {
  scheme: Scheme;
  secret?: NamedSecret;
  finding?: Finding | null;
  fault?: Fault;
}

type Scheme = 'x-gateway-signature' | 'webhook-signature';
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
  const { headers, body, now, toleranceSeconds } = received;
  const event = eventOf(body);
  const signed = ([GATEWAY, STANDARD] as const).filter((scheme) => headers[scheme]);
  // Without a signature, the SDK reports which headers are missing.
  const judged = await Promise.all(
    (signed.length === 0 ? ([GATEWAY] as const) : signed).map((each) => judge(each, received)),
  );
  const right = judged.filter((each) => each.finding === null).map(({ scheme }) => scheme);
  const secret = judged.find((each) => each.secret)?.secret;
  const time = /\bt=(\d{1,12})(?!\d)/.exec(headers[GATEWAY]?.[0] ?? '')?.[1] ?? headers['webhook-timestamp']?.[0];
  const ageSeconds = Number.isNaN(Number(time)) ? null : now - Number(time);
  const findings = [
    ...judged.flatMap((each) => each.finding ?? []),
    ...skew(ageSeconds, toleranceSeconds, secret !== undefined),
    ...foreignEnvironment(received, event, secret),
    ...judged.flatMap(({ fault }) => (fault ? explain(fault, received, event, right[0]) : [])),
  ];
  if (findings.length === 0) {
    try {
      await webhooks.verify(body, headers, secret!.secret, { toleranceSeconds, now: now * 1000 });
    } catch (error) {
      if (!(error instanceof WebhookVerificationError)) throw error;
      findings.push(proven(error.reason, error.message, error.suggestion ?? ''));
    }
  }
  // Both schemes can have the same finding.
  const unique = [...new Map(findings.map((each) => [each.message, each])).values()];
  return {
    genuine: unique.length === 0,
    schemes: right,
    secret: secret?.name ?? null,
    event,
    ageSeconds,
    findings: unique.toSorted((a, b) => Number(a.certainty === 'likely') - Number(b.certainty === 'likely')),
  };
}

async function judge(scheme: Scheme, { headers, body, secrets }: Received): Promise<Judgement> {
  const faults: Fault[] = [];
  const own = { ...headers, [scheme === GATEWAY ? STANDARD : GATEWAY]: undefined };
  for (const { bytes, finding } of corrections(body)) {
    for (const secret of secrets) {
      const checked = await webhooks.check(bytes, own, secret.secret, { toleranceSeconds: Infinity });
      if (checked.ok) return { scheme, secret, finding };
      if (finding === null) faults.push(checked);
    }
  }
  return { scheme, fault: faults.find(({ reason }) => reason !== 'invalid_secret') ?? faults[0]! };
}

/** The body as it was received, then with one common mistake undone at a time. */
function corrections(body: Buffer): { bytes: Buffer; finding: Finding | null }[] {
  const text = body.toString();
  const undo = (cause: string, change: string, bytes: Buffer) => {
    return { bytes, finding: proven(cause, `The body is not the bytes that were signed: it was ${change}.`, RAW) };
  };
  return [
    { bytes: body, finding: null },
    undo('body_changed', 'given white space or a byte order mark around it', Buffer.from(text.trim())),
    undo('body_changed', 'read as Latin-1 although it is UTF-8', Buffer.from(text, 'latin1')),
    undo('body_rewritten', 'parsed and serialized again', Buffer.from(serialized(text) ?? text)),
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

/** The most probable cause of a signature that no correction makes right. */
function explain(fault: Fault, received: Received, event: Diagnosis['event'], right: Scheme | undefined): Finding {
  const { headers, body, environment } = received;
  const { reason, message, suggestion } = fault;
  if (reason !== 'wrong_signature') return proven(CAUSES[reason] ?? reason, message, suggestion);
  if (right) {
    const both = `One signature is wrong although body, secret and time are right: ${right} of the same delivery fits.`;
    return likely('header_changed', both, 'Look for a proxy that changes the header or mixes those of two deliveries.');
  }
  const text = body.toString();
  const announced = headers['content-length']?.[0] ?? String(body.length);
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
  if ((headers[GATEWAY] ?? headers[STANDARD] ?? []).join(' ').split(/v1[=,]/).length > 2) {
    const several = 'The service signs with several secrets while one is rotated, and the given one is none of them.';
    return likely('rotated_secret', several, 'Use the secret that the rotation has shown; the others expire.');
  }
  return likely(
    'wrong_secret',
    `It was signed with another secret, or the content of the body was changed.${is ? ` It is an event of ${is}: is this the secret of ${is}?` : ''}`,
    'Compare the secret with WEBHOOK_SECRET of the service, or with the one that tillway listen printed. After a rotation, use the new one.',
  );
}

function skew(ageSeconds: number | null, toleranceSeconds: number, isSigned: boolean): Finding[] {
  if (ageSeconds === null || Math.abs(ageSeconds) <= toleranceSeconds) return [];
  const message = `The signature was made ${ageText(ageSeconds)}; at most ${durationText(toleranceSeconds)} are accepted.`;
  const recorded = `, have the event sent again (tillway events resend), or verify a recorded one with --tolerance ${ageSeconds + 60}s`;
  const fix = `Set the clocks of this machine and of the service by NTP${ageSeconds < 0 ? '' : recorded}.`;
  return [(isSigned ? proven : likely)('clock_skew', message, fix)];
}

/** `12 s ago`. */
export function ageText(seconds: number): string {
  return seconds < 0 ? `${durationText(-seconds)} ahead of the clock here` : `${durationText(seconds)} ago`;
}

/**
 * Finding for a correct signature of the wrong environment: the endpoint expects the other one, or the matching secret
 * has the other one as its name.
 */
function foreignEnvironment(
  { environment }: Received,
  event: Diagnosis['event'],
  secret: NamedSecret | undefined,
): Finding[] {
  const is = event?.environment;
  const expected = environment ?? ['sandbox', 'production'].find((each) => each === secret?.name);
  if (!secret || !is || !expected || is === expected) return [];
  const why = environment === undefined ? `the secret that fits is named ${secret.name}` : `${expected} is expected`;
  const money = is === 'sandbox' ? 'No money has moved: never fulfil an order for it.' : 'It is about real money.';
  const fix = `${money} Give each environment its own endpoint and secret.`;
  return [proven('other_environment', `It is an event of ${is}, and ${why}.`, fix)];
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
