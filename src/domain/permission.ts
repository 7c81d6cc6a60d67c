import type { Principal } from './principal.ts';

/** Roles of an operator in one environment. */
export const ROLES = ['viewer', 'support', 'operator', 'admin'] as const;
export type Role = (typeof ROLES)[number];

const HELPERS: readonly Role[] = ['support', 'operator', 'admin'];
const OPERATORS: readonly Role[] = ['operator', 'admin'];
const ADMINS: readonly Role[] = ['admin'];

/** The roles that have each permission. */
export const PERMISSIONS = {
  /** Lists, payments with their timeline, webhooks. */
  'payments.read': ROLES,
  /** Addresses, metadata and bodies, which are masked without it. */
  'personal_data.read': HELPERS,
  /** Sums, ledger, settlements. */
  'money.read': ['viewer', 'operator', 'admin'],
  'payments.export': ['viewer', 'operator', 'admin'],
  /** Support refunds within a limit. */
  'refund.create': HELPERS,
  'session.expire': HELPERS,
  'delivery.send': HELPERS,
  'customer.block': HELPERS,
  'discrepancy.resolve': OPERATORS,
  /** Audit entries of everybody. Every operator reads the own entries. */
  'audit.read': OPERATORS,
  'operator.change': ADMINS,
} as const satisfies Record<string, readonly Role[]>;
export type Permission = keyof typeof PERMISSIONS;

/** Time after proving a factor in which an operator may use the permissions of {@link needsStepUp}. */
export const STEP_UP_MS = 5 * 60_000;

/** True for the permissions that only admins have. */
export function needsStepUp(permission: Permission): boolean {
  return PERMISSIONS[permission] === ADMINS;
}

/** True if the principal has the permission in its environment. */
export function can({ role }: Pick<Principal, 'role'>, permission: Permission): boolean {
  return role !== null && (PERMISSIONS[permission] as readonly Role[]).includes(role);
}

/** True for an admin of production, who manages operators, because an operator has roles in both environments. */
export function managesOperators(principal: Principal): boolean {
  return principal.kind !== 'machine' && principal.environment === 'production' && can(principal, 'operator.change');
}
