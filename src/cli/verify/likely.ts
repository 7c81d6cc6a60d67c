import type { Diagnosis, Finding, Received } from './diagnosis.ts';
import { SECRET_FORM } from '../../webhooks/secret.ts';
import { claimsOf, headerOf } from './headers.ts';
import { isPossible } from './keys.ts';
import { type Scheme, GATEWAY, STANDARD } from './schemes.ts';

interface Unexplained {
  /** The headers that no reading makes right; empty where there is no header at all. */
  unmatched: readonly Scheme[];
  event: Diagnosis['event'];
  /** The scheme under which the same delivery is right. */
  matched: Scheme | undefined;
}

type Facts = Omit<Finding, 'certainty'>;

const RAW = 'Take the body as raw bytes, whole, before a framework or proxy reads it.';

/**
 * Where no reading makes the signature right: what is wrong for certain, such as bytes that are missing, and what the
 * delivery looks like. Never empty.
 */
export function likelyCauses(received: Received, { unmatched, event, matched }: Unexplained): Finding[] {
  const proven = (facts: Facts): Finding => ({ certainty: 'proven', ...facts });
  const likely = (facts: Facts): Finding => ({ certainty: 'likely', ...facts });
  if (unmatched.length === 0) return [proven(noSignature(received))];

  const unreadable = unmatched.filter((scheme) => claimsOf(scheme, received.headers, ['']).length === 0);
  const found = unreadable.map((scheme) => proven(unreadableSignature(scheme, received)));
  if (unreadable.length === unmatched.length) return found;
  if (matched !== undefined) return [...found, likely(changedSignature(unmatched, matched))];

  const impossible = impossibleSecrets(received);
  if (impossible.length > 0) return [...found, ...impossible.map(proven)];

  const incomplete = incompleteBody(received, event);
  if (incomplete) return [...found, incomplete.certain ? proven(incomplete.facts) : likely(incomplete.facts)];
  return [...found, likely(wrongSecret(received, event))];
}

function noSignature({ headers }: Received): Facts {
  const provider = headers.some(([name]) => name === 'x-provider-signature');
  if (provider) {
    return {
      cause: 'wrong_header',
      message:
        'There is only an x-provider-signature: that is how a provider signs to the gateway, not the gateway to you.',
      fix: `Verify what arrives at your own endpoint, with ${GATEWAY} or ${STANDARD}.`,
    };
  }
  const names = headers.map(([name]) => name).join(', ');
  return {
    cause: 'no_signature',
    message: `There is neither ${GATEWAY} nor ${STANDARD}${names === '' ? ': no header was given at all' : ` among ${names}`}.`,
    fix: "Pass the headers as they arrived, with --headers FILE (name: value lines) or --header 'name: value'.",
  };
}

function unreadableSignature(scheme: Scheme, { headers }: Received): Facts {
  const value = headerOf(headers, scheme) ?? '';
  const needs =
    scheme === GATEWAY
      ? 't=<unix seconds>,v1=<64 hex digits>'
      : 'v1,<base64> along with webhook-id and webhook-timestamp';
  const isTimeless =
    scheme === STANDARD ? headerOf(headers, 'webhook-timestamp') === undefined : !/t\s*=\s*\d/.test(value);
  if (isTimeless && value.length > 20) {
    const where = scheme === GATEWAY ? `t in ${GATEWAY}` : 'webhook-timestamp';
    return {
      cause: 'timestamp_missing',
      message: `The time at which it was signed is missing: there is no ${where}.`,
      fix: 'Pass it on along with the signature: the time is a part of what is signed.',
    };
  }
  return {
    cause: 'signature_format',
    message: `${scheme} holds no signature${value === '' ? ': it is empty' : ''}. It looks like ${needs}.`,
    fix: 'Pass the header on exactly as it arrived: do not split, trim, quote or join it.',
  };
}

function changedSignature(unmatched: readonly Scheme[], matched: Scheme): Facts {
  return {
    cause: 'signature_changed',
    message: `${unmatched.join(' and ')} is not right, though body, secret and time are: ${matched} of the same delivery proves them.`,
    fix: 'Look for what changes that header on its way, or mixes headers of two deliveries.',
  };
}

function incompleteBody(
  { headers, body }: Received,
  event: Diagnosis['event'],
): { certain: boolean; facts: Facts } | undefined {
  if (body.length === 0) {
    const message = 'The body is empty: something has read it before, or it was not passed on.';
    return { certain: true, facts: { cause: 'body_empty', message, fix: RAW } };
  }
  const length = headerOf(headers, 'content-length');
  const announced = length !== undefined && /^\d{1,12}$/.test(length) ? Number(length) : undefined;
  if (announced !== undefined && announced > body.length) {
    const message = `The body is cut off: Content-Length says ${announced} bytes, and there are ${body.length}.`;
    return { certain: true, facts: { cause: 'body_truncated', message, fix: RAW } };
  }
  if (announced !== undefined && announced < body.length) {
    const message = `The body was changed: Content-Length says ${announced} bytes, and there are ${body.length}. None of the usual ways to write it anew explains it.`;
    return { certain: true, facts: { cause: 'body_changed', message, fix: RAW } };
  }
  if (event !== null) return undefined;
  const isBegun = body.toString().trimStart().startsWith('{');
  const message = isBegun
    ? 'The body is the beginning of JSON only: it seems to be cut off.'
    : 'The body is not the JSON of an event: it was changed, or it is another request.';
  return { certain: false, facts: { cause: isBegun ? 'body_truncated' : 'body_changed', message, fix: RAW } };
}

const MAX_QUOTED_LENGTH = 16;

/** What is wrong with the secrets, where none of them can be one. */
function impossibleSecrets({ secrets }: Received): Facts[] {
  if (secrets.some(({ secret }) => isPossible(secret))) return [];
  return secrets.map(({ name, secret }) => {
    const called = name === null ? '' : ` as ${name}`;
    if (secret.trim() === '') {
      const fix = 'Is the variable set in this shell? echo "$WEBHOOK_SECRET"';
      return { cause: 'secret_empty', message: `The secret that was given${called} is empty.`, fix };
    }
    // What is longer may be nearly the secret.
    const quoted = secret.length > MAX_QUOTED_LENGTH ? 'What was given' : JSON.stringify(secret);
    return {
      cause: 'secret_impossible',
      message: `${quoted}${called} cannot be a secret: it is ${SECRET_FORM}.`,
      fix: 'Pass WEBHOOK_SECRET of the service, or the secret that tillway listen printed.',
    };
  });
}

function wrongSecret({ secrets, environment }: Received, event: Diagnosis['event']): Facts {
  const is = event?.environment;
  const which = secrets.length > 1 ? 'None of the secrets fits' : 'The secret does not fit';
  const asked = is !== undefined && is !== null && environment !== undefined && is !== environment;
  if (asked) {
    return {
      cause: 'other_environment',
      message: `It is an event of ${is}, ${environment} is expected, and the secret does not fit: it seems to be the one of ${environment}.`,
      fix: `Verify events of ${is} with the secret of ${is}, or pass both: --secret production=whsec_... --secret sandbox=whsec_...`,
    };
  }
  const of = is ? ` It is an event of ${is}: is this the secret of ${is}?` : '';
  return {
    cause: 'wrong_secret',
    message: `${which}, and no usual change of body, secret or header explains it: it was signed with another secret, or what the body says was changed.${of}`,
    fix: 'Compare it with WEBHOOK_SECRET of the service, or with what tillway listen printed at its start: without --secret or WEBHOOK_SECRET each run has one of its own.',
  };
}
