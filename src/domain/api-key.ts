import { hash } from 'node:crypto';
import type { RandomBytes } from './id.ts';
import type { Instant } from './records.ts';
import type { Environment } from './route.ts';

/**
 * Scopes of an API key. `read` reads the merchant's records, `write` also changes them, and `admin` also manages the operator's
 * settings. `agent` creates checkouts within spending limits.
 */
export const KEY_SCOPES = ['read', 'write', 'admin', 'agent'] as const;
export type KeyScope = (typeof KEY_SCOPES)[number];

/** Creator of a key: the API, the command line, or a setting. */
export const KEY_SOURCES = ['api', 'command', 'configuration'] as const;

/** Stored API key: a hash of its secret text, which only the owner of the key knows. */
export interface ApiKey {
  id: string;
  environment: Environment;
  name: string;
  scope: KeyScope;
  /** See {@link hashOfKey}. */
  hash: string;
  /** Last four characters of the key's text, by which the owner recognizes the key. */
  last4: string;
  /** Limit for the amount of one checkout, in cents; null without such a limit. Only for agent keys. */
  spendPerCheckout: number | null;
  /** Limit for the sum of all checkouts of a UTC day, in cents; null without such a limit. Only for agent keys. */
  spendPerDay: number | null;
  source: (typeof KEY_SOURCES)[number];
  created: Instant;
  /** Last use, accurate to one minute. */
  lastUsedAt: Instant | null;
  revokedAt: Instant | null;
}

/** An API key, and the sum in cents of the checkouts that it created today (UTC); null unless it is an agent key. */
export interface KnownKey {
  key: ApiKey;
  spentToday: number | null;
}

const PREFIXES = { sandbox: 'sk_sandbox_', production: 'sk_live_' } as const satisfies Record<Environment, string>;
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const SECRET_BYTES = 32;
// The fewest base62 characters that hold 32 bytes.
const SECRET_LENGTH = 43;
const KEY_PATTERN = /^sk_(sandbox|live)_[0-9A-Za-z]{43}$/;
const LAST_LENGTH = 4;
const DAY_MS = 24 * 3_600_000;

/** Secret text of a new key: the prefix of the environment, and 256 random bits in base62. */
export function newKeyText(environment: Environment, randomBytes: RandomBytes): string {
  let rest = BigInt(`0x${Buffer.from(randomBytes(SECRET_BYTES)).toString('hex')}`);
  let secret = '';
  while (secret.length < SECRET_LENGTH) {
    secret = ALPHABET[Number(rest % 62n)]! + secret;
    rest /= 62n;
  }
  return PREFIXES[environment] + secret;
}

/** Environment that the text of an API key names; undefined if `text` is not a well-formed key. */
export function environmentOfKey(text: string): Environment | undefined {
  const match = KEY_PATTERN.exec(text);
  if (!match) return undefined;
  return match[1] === 'live' ? 'production' : 'sandbox';
}

/** Stored hash of a key's text, in hex. 256 bits cannot be guessed, so a slow hash or a salt would add nothing. */
export function hashOfKey(text: string): string {
  return hash('sha256', text, 'hex');
}

export function lastCharactersOfKey(text: string): string {
  return text.slice(-LAST_LENGTH);
}

/** UTC date of an instant as YYYY-MM-DD: the period of an agent key's daily limit. */
export function dayOf(instant: Instant): string {
  return new Date(instant).toISOString().slice(0, 10);
}

/** Beginning of the next UTC day, at which the daily limit of agent keys is reset. */
export function nextDay(instant: Instant): Instant {
  return (Math.floor(instant / DAY_MS) + 1) * DAY_MS;
}
