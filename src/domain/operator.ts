import { hash } from 'node:crypto';
import { type Role, ROLES } from './permission.ts';
import type { Instant } from './records.ts';
import { ENVIRONMENTS, type Environment } from './route.ts';

/** Role of an operator in each environment; null without one. An operator without any role cannot log in. */
export type Roles = Record<Environment, Role | null>;
export const NO_ROLES: Roles = { sandbox: null, production: null };

/** A person with access to the dashboard. Rows are never deleted. */
export interface Operator {
  id: string;
  version: number;
  /** In lower case. */
  email: string;
  roles: Roles;
  passwordHash: string | null;
  /** Encrypted secret of the time-based codes, and the time step of the last used code, because a code is valid once. */
  totpSealed: string | null;
  totpStep: number;
  created: Instant;
  /** Time at which the operator first used an invitation; null before. */
  joinedAt: Instant | null;
  lastLoginAt: Instant | null;
}

export const NO_FACTORS = { passwordHash: null, totpSealed: null, totpStep: 0 };
/** Cents that an operator of the role `support` may refund in a UTC day. */
export const REFUND_LIMIT = 20_000;
export const INVITE_MS = 60 * 60_000;
export const CHALLENGE_MS = 5 * 60_000;
/** Failed logins after which a name is locked, and for how long. */
export const LOCK = { failures: 5, ms: 15 * 60_000 };
export const IDLE_MS = 30 * 60_000;
const LIFETIME_MS = 12 * 60 * 60_000;
const SECRET_BYTES = 32;

/** A secret of 256 random bits, for a cookie or a link. */
export function newSecret(randomBytes: (size: number) => Uint8Array): string {
  return Buffer.from(randomBytes(SECRET_BYTES)).toString('base64url');
}

/** Stored hash of a random secret, which cannot be guessed and so needs no slow hash. */
export function hashOfSecret(secret: string): string {
  return hash('sha256', secret, 'hex');
}

/** True after 30 minutes without an activity, or 12 hours in all. */
export function isSessionOver(
  { created, lastActiveAt, endedAt }: { created: Instant; lastActiveAt: Instant; endedAt: Instant | null },
  now: Instant,
): boolean {
  return endedAt !== null || now - lastActiveAt >= IDLE_MS || now - created >= LIFETIME_MS;
}

/** The first environment in which `wanted` changes a role to one above `own`; undefined if nobody gets a role that the granter lacks. */
export function roleBeyond(own: Roles, before: Roles, wanted: Roles): Environment | undefined {
  const rank = (role: Role | null) => (role === null ? -1 : ROLES.indexOf(role));
  return ENVIRONMENTS.find((one) => wanted[one] !== before[one] && rank(wanted[one]) > rank(own[one]));
}

/** True for an operator with a role. */
export function hasAccess({ roles }: Pick<Operator, 'roles'>): boolean {
  return roles.sandbox !== null || roles.production !== null;
}
