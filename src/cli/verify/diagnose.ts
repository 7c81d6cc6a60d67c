import { durationText } from '../duration.ts';
import { type BodyReading, eventIdsIn, eventIn, readingsOf } from './bodies.ts';
import { type Claim, type HeaderLine, claimsOf, headerOf, schemesOf, strayClaimsOf } from './headers.ts';
import { type GivenSecret, type KeyFault, type KeyReading, digestOf, keyReadingsOf } from './keys.ts';
import type { Diagnosis, Finding, Received } from './diagnosis.ts';
import { likelyCauses } from './likely.ts';
import { GATEWAY } from './schemes.ts';

/** What makes a signature right: nothing amiss in it where every part is null or empty. */
interface Match {
  claim: Claim;
  body: BodyReading;
  key: KeyFault | null;
  /** What was signed, where it is not what the scheme says. */
  content: string | null;
  secret: GivenSecret;
}

// So many digests are computed at most for one header; what needs more than that is not one mistake.
const MAX_TRIES = 60_000;

/** Whether a delivery is genuine, and why not. Pure: reads no clock and asks nobody. */
export function diagnose(received: Received): Diagnosis {
  const { headers, body, secrets, now, toleranceSeconds } = received;
  const ids = eventIdsIn(body);
  const bodies = readingsOf(body);
  const schemes = schemesOf(headers);
  const judged = schemes.map((scheme) => ({
    scheme,
    match: bestMatch(claimsOf(scheme, headers, ids), bodies, secrets),
  }));
  if (schemes.length === 0) {
    const stray = bestMatch(strayClaimsOf(headers, ids), bodies, secrets);
    if (stray) judged.push({ scheme: stray.claim.scheme, match: stray });
  }

  const matches = judged.flatMap(({ match }) => (match ? [match] : []));
  const right = matches.filter((match) => defectsOf(match) === 0);
  const timestamp = (right[0] ?? matches[0])?.claim.timestamp ?? timestampOf(headers);
  const ageSeconds = timestamp === undefined ? null : now - Number(timestamp);
  const event = describeEvent(body);

  const proven = [
    ...new Map(matches.flatMap(findingsOfMatch).map((finding) => [finding.message, finding])).values(),
    ...staleness(ageSeconds, toleranceSeconds, matches.length > 0),
    ...(matches.length > 0 ? foreignEnvironment(received, event, matches[0]!) : []),
  ];
  const unmatched = judged.filter(({ match }) => match === undefined).map(({ scheme }) => scheme);
  const isUnexplained = unmatched.length > 0 || judged.length === 0;
  const likely = isUnexplained ? likelyCauses(received, { unmatched, event, matched: right[0]?.claim.scheme }) : [];
  const findings = [...proven, ...likely].toSorted((a, b) => rank(a) - rank(b));
  return {
    genuine: findings.length === 0,
    schemes: right.map(({ claim }) => claim.scheme),
    secret: matches[0]?.secret.name ?? null,
    event,
    ageSeconds,
    findings,
  };
}

const rank = ({ certainty }: Finding) => (certainty === 'proven' ? 0 : 1);

/** The reading with the fewest mistakes under which a signature is right; undefined where none of all is. */
function bestMatch(
  claims: readonly Claim[],
  bodies: readonly BodyReading[],
  secrets: readonly GivenSecret[],
): Match | undefined {
  let best: Match | undefined;
  let tries = 0;
  for (const { claim, body, secret, key } of candidates(claims, bodies, secrets)) {
    if (tries > MAX_TRIES) break;
    const isWorse =
      best !== undefined && defectsOf({ claim, body, secret, key: key.fault, content: null }) >= defectsOf(best);
    if (isWorse) continue;
    for (const { content, signed } of contentsOf(claim, body.bytes)) {
      tries += 1;
      if (!fits(claim, digestOf(claim.scheme, key.key, signed))) continue;
      const match: Match = { claim, body, key: key.fault, content, secret };
      if (!best || defectsOf(match) < defectsOf(best)) best = match;
      if (defectsOf(best) === 0) return best;
    }
  }
  return best;
}

interface Candidate {
  claim: Claim;
  body: BodyReading;
  secret: GivenSecret;
  key: KeyReading;
}

/** One thing amiss before two: the body as it is under every key, and every body under the keys as they are, come first. */
function* candidates(
  claims: readonly Claim[],
  bodies: readonly BodyReading[],
  secrets: readonly GivenSecret[],
): Generator<Candidate> {
  for (const isCompound of [false, true]) {
    for (const claim of claims) {
      for (const secret of secrets) {
        for (const key of keyReadingsOf(claim.scheme, secret.secret)) {
          for (const body of bodies) {
            if ((key.fault !== null && body.rewritten !== null) === isCompound) yield { claim, body, secret, key };
          }
        }
      }
    }
  }
}

/** What may have been signed: what the scheme says, or less than that. */
function contentsOf(
  { scheme, id, timestamp }: Claim,
  body: Buffer,
): { content: string | null; signed: (string | Buffer)[] }[] {
  const timed = [`${timestamp}.`, body];
  const alone = { content: 'the body alone, without the time', signed: [body] };
  if (scheme === GATEWAY) return [{ content: null, signed: timed }, alone];
  return [
    { content: null, signed: [`${id}.`, ...timed] },
    { content: 'time and body, without the id', signed: timed },
    alone,
  ];
}

function fits({ digest }: Claim, expected: string): boolean {
  return digest.cut ? expected.startsWith(digest.text) : expected === digest.text;
}

function defectsOf({ claim, body, key, content }: Match): number {
  return claim.mended.length + (body.rewritten === null ? 0 : 1) + (key === null ? 0 : 1) + (content === null ? 0 : 1);
}

function findingsOfMatch({ claim, body, key, content }: Match): Finding[] {
  const found: Finding[] = claim.mended.map((fault) => ({ certainty: 'proven', ...fault }));
  if (body.rewritten !== null) {
    found.push({
      cause: 'body_rewritten',
      certainty: 'proven',
      message: `The body is not the bytes that were signed: it was ${body.rewritten}.`,
      fix: 'Verify the raw bytes of the request before anything parses them: express.raw({ type: "application/json" }), request.text(), request.get_data().',
    });
  }
  if (key !== null) found.push({ certainty: 'proven', ...key });
  if (content !== null) {
    found.push({
      cause: 'wrong_content',
      certainty: 'proven',
      message: `Something else was signed than ${claim.scheme} says: ${content}.`,
      fix: `Sign ${claim.scheme === GATEWAY ? '"<t>.<raw body>"' : '"<webhook-id>.<webhook-timestamp>.<raw body>"'}.`,
    });
  }
  return found;
}

function staleness(ageSeconds: number | null, toleranceSeconds: number, isSigned: boolean): Finding[] {
  if (ageSeconds === null || Math.abs(ageSeconds) <= toleranceSeconds) return [];
  const limit = durationText(toleranceSeconds);
  const otherwise = isSigned ? 'Its signature is of that time' : 'Whether it was signed then is not known';
  const certainty = isSigned ? 'proven' : 'likely';
  if (ageSeconds < 0) {
    return [
      {
        cause: 'timestamp_future',
        certainty,
        message: `The time of the signature is ${durationText(-ageSeconds)} ahead of the clock here; at most ${limit} are let pass. ${otherwise}.`,
        fix: 'Set the clock of this machine, and that of the service, by NTP.',
      },
    ];
  }
  return [
    {
      cause: 'timestamp_stale',
      certainty,
      message: `It was signed ${durationText(ageSeconds)} ago; at most ${limit} are let pass. ${otherwise}.`,
      fix: `Verify a delivery when it arrives; have it sent anew with tillway events resend. For one of the past, --tolerance ${ageSeconds + 60}s.`,
    },
  ];
}

/** A right signature under the secret of one environment, where that of the other was asked for. */
function foreignEnvironment({ environment }: Received, event: Diagnosis['event'], match: Match): Finding[] {
  const is = event?.environment;
  const named = match.secret.name;
  const expected = environment ?? (named === 'sandbox' || named === 'production' ? named : undefined);
  if (!is || !expected || is === expected) return [];
  const asked =
    environment === undefined ? `the secret that fits is the one called ${named}` : `${expected} is expected`;
  return [
    {
      cause: 'other_environment',
      certainty: 'proven',
      message: `It is an event of ${is} (livemode ${String(is === 'production')}), and ${asked}.`,
      fix:
        is === 'sandbox'
          ? 'Never fulfil on it: no money has moved. Give sandbox and production an endpoint and a secret of their own.'
          : 'It is about real money: handle it where production is handled, with the secret of production.',
    },
  ];
}

function describeEvent(body: Buffer): Diagnosis['event'] {
  const event = eventIn(body);
  if (!event) return null;
  const { id, type, livemode } = event;
  const environment = typeof livemode === 'boolean' ? (livemode ? 'production' : 'sandbox') : null;
  return { id, type, environment };
}

function timestampOf(headers: readonly HeaderLine[]): string | undefined {
  const given =
    /\bt=(\d{1,12})(?!\d)/.exec(headerOf(headers, GATEWAY) ?? '')?.[1] ?? headerOf(headers, 'webhook-timestamp');
  return given !== undefined && /^\d{1,12}$/.test(given) ? given : undefined;
}
