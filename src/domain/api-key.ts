import { hash } from 'node:crypto';
import type { RandomBytes } from './id.ts';
import type { Instant } from './records.ts';
import type { Environment } from './route.ts';

/**
 * `read` reads the merchant's records, `write` also changes them, `admin` also manages the operator's settings, and
 * `agent` sells within limits.
 */
export const KEY_SCOPES = ['read', 'write', 'admin', 'agent'] as const;
export type KeyScope = (typeof KEY_SCOPES)[number];

/** Creator of a key: the API, the command line, or a setting. */
export const KEY_SOURCES = ['api', 'command', 'configuration'] as const;

/** Stored key. Only its owner knows its text. */
export interface ApiKey {
  id: string;
  environment: Environment;
  name: string;
  scope: KeyScope;
  /** See {@link hashOfKey}. */
  hash: string;
  /** The end of its text, by which its owner recognizes it. */
  last4: string;
  /** Cents that one checkout may cost; null without such a limit. Only for agent keys. */
  spendPerCheckout: number | null;
  /** Cents that the checkouts of a day (UTC) may cost together; null without such a limit. Only for agent keys. */
  spendPerDay: number | null;
  source: (typeof KEY_SOURCES)[number];
  created: Instant;
  /** Last use, accurate to one minute. */
  lastUsedAt: Instant | null;
  revokedAt: Instant | null;
}

/** A key, and the cents that it has spent today; null for keys without limits. */
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

/** Text of a new key: its environment, and 256 random bits. */
export function newKeyText(environment: Environment, randomBytes: RandomBytes): string {
  let rest = BigInt(`0x${Buffer.from(randomBytes(SECRET_BYTES)).toString('hex')}`);
  let secret = '';
  while (secret.length < SECRET_LENGTH) {
    secret = ALPHABET[Number(rest % 62n)]! + secret;
    rest /= 62n;
  }
  return PREFIXES[environment] + secret;
}

/** Environment of a key by its text; undefined for other texts. */
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

/** UTC day of an instant, for the spending of agents. */
export function dayOf(instant: Instant): string {
  return new Date(instant).toISOString().slice(0, 10);
}

/** Beginning of the next UTC day. */
export function nextDay(instant: Instant): Instant {
  return (Math.floor(instant / DAY_MS) + 1) * DAY_MS;
}
