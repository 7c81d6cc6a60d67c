import { createHmac } from 'node:crypto';
import { SAMPLE_WEBHOOK_SECRET } from '../../operations/samples.ts';
import { isSecret } from '../../webhooks/secret.ts';
import type { Scheme } from './schemes.ts';

/** A secret as it was given; `name` where several are told apart, such as `production`. */
export interface GivenSecret {
  name: string | null;
  secret: string;
}

/** A key that a signature may have been made with. */
export interface KeyReading {
  key: string | Buffer;
  /** What was given amiss, or keyed amiss; null for the secret as it was given, used as the scheme says. */
  fault: KeyFault | null;
}

export interface KeyFault {
  cause: 'secret_altered' | 'wrong_keying' | 'sample_secret';
  message: string;
  fix: string;
}

const PREFIX = 'whsec_';
const WELL_FORMED = /^whsec_[A-Za-z0-9+/]+={0,2}$/;
const WHOLE_FIX =
  'Pass the secret on exactly as it was issued: whsec_ and the base64 behind it, nothing before or after.';

const SAMPLE_SECRET: KeyFault = {
  cause: 'sample_secret',
  message:
    'It is a sample of the action webhook.example, signed with the secret of the samples, which everybody knows.',
  fix: `Verify samples with --secret ${SAMPLE_WEBHOOK_SECRET}, and never accept one in your shop.`,
};

/** The key of a whole `whsec_...` text under one of the schemes. */
export function keyOf(scheme: Scheme, secret: string): string | Buffer {
  return scheme === 'x-gateway-signature' ? secret : decoded(secret);
}

function decoded(secret: string): Buffer {
  return Buffer.from(secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret, 'base64');
}

/** Everything that may be the key where `given` is nearly right; as it was given first. */
export function keyReadingsOf(scheme: Scheme, given: string): KeyReading[] {
  const isGateway = scheme === 'x-gateway-signature';
  // Decoding is lenient about what stands around the base64; the libraries of receivers need not be.
  const readings: KeyReading[] =
    isGateway || WELL_FORMED.test(given) ? [{ key: keyOf(scheme, given), fault: null }] : [];
  const mended = mendedSecrets(given);
  for (const { secret, message } of mended) {
    readings.push({ key: keyOf(scheme, secret), fault: { cause: 'secret_altered', message, fix: WHOLE_FIX } });
  }
  for (const secret of [given, ...mended.map((each) => each.secret)].filter((each) => each.startsWith(PREFIX))) {
    const body = secret.slice(PREFIX.length);
    const faults: [key: string | Buffer, how: string][] = isGateway
      ? [
          [decoded(secret), 'the bytes that the secret stands for in base64'],
          [body, 'the text behind whsec_'],
        ]
      : [
          [secret, 'the whole text of the secret'],
          [body, 'the text behind whsec_, not decoded'],
        ];
    for (const [key, how] of faults) readings.push({ key, fault: wrongKeying(scheme, how) });
  }
  readings.push({ key: keyOf(scheme, SAMPLE_WEBHOOK_SECRET), fault: SAMPLE_SECRET });
  return readings;
}

function wrongKeying(scheme: Scheme, how: string): KeyFault {
  const right =
    scheme === 'x-gateway-signature'
      ? 'the whole text of the secret, whsec_ included'
      : 'the bytes that stand in base64 behind whsec_';
  return {
    cause: 'wrong_keying',
    message: `It was signed with the wrong key: ${how}. In ${scheme} the key is ${right}.`,
    fix: `Tillway signs with ${right}. Where you sign samples yourself, do the same.`,
  };
}

/** Whether it may be a secret, as it was given or mended. */
export function isPossible(given: string): boolean {
  return [given, ...mendedSecrets(given).map(({ secret }) => secret)].some(isSecret);
}

/** What stands in a shell, a file of settings or a log instead of the secret, and the secret that it stands for. */
function mendedSecrets(given: string): { secret: string; message: string }[] {
  const found: { secret: string; message: string }[] = [];
  const add = (secret: string, message: string) => {
    if (secret === given || found.some((each) => each.secret === secret)) return;
    found.push({ secret, message: `The secret that was given ${message}.` });
  };
  const trimmed = given.replace(/(?:\\[nrt]|\s)+$/, '').trimStart();
  add(trimmed, /\\[nrt]/.test(given) ? 'ends in a written-out line break' : 'has white space around it');
  const unnamed = trimmed.replace(/^(?:export\s+)?[A-Z][A-Z0-9_]*\s*=\s*/, '');
  const unquoted = unnamed.replace(/^(["'`])(.*)\1$/s, '$2').trim();
  add(unnamed, 'is a whole line of settings, with the name of the variable before it');
  add(unquoted, 'has quotation marks around it');
  add(unquoted.replace(/^(["'`])|(["'`])$/g, ''), 'has a quotation mark too many');
  const bare = unquoted.replace(/^whsec_/i, '');
  if (!unquoted.startsWith(PREFIX)) add(`${PREFIX}${bare}`, 'lacks the beginning whsec_');
  add(PREFIX + bare.replaceAll(/\s/g, '+'), 'has spaces where "+" was, as after URL decoding');
  if (/%[0-9a-f]{2}/i.test(bare)) add(PREFIX + fromUrl(bare), 'is URL-encoded');
  const standard = bare.replaceAll('-', '+').replaceAll('_', '/');
  add(PREFIX + standard, 'is written in base64url, with "-" and "_" for "+" and "/"');
  const unpadded = standard.replace(/=+$/, '');
  const padded = unpadded + '='.repeat((4 - (unpadded.length % 4)) % 4);
  add(PREFIX + padded, 'lacks the "=" at its end, or has too many');
  add(PREFIX + unpadded, 'has a "=" at its end that was not in it');
  add(
    PREFIX + decoded(padded).toString('base64'),
    'does not end as base64 of that length can: its last character is another',
  );
  if (/^(?:[0-9a-f]{2}){24,64}$/i.test(bare)) {
    add(PREFIX + Buffer.from(bare, 'hex').toString('base64'), 'is the decoded key in hex');
  }
  return found;
}

function fromUrl(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The digest of that content, as the scheme writes it: hex, or base64 without padding. */
export function digestOf(scheme: Scheme, key: string | Buffer, content: readonly (string | Buffer)[]): string {
  const hmac = createHmac('sha256', key);
  for (const part of content) hmac.update(part);
  return scheme === 'x-gateway-signature' ? hmac.digest('hex') : hmac.digest('base64').replaceAll('=', '');
}
