import type { Principal } from './principal.ts';

/** Roles of an operator in one environment. */
export const ROLES = ['viewer', 'support', 'operator', 'admin'] as const;
export type Role = (typeof ROLES)[number];

const EVERYBODY: readonly Role[] = ROLES;
const HELPERS: readonly Role[] = ['support', 'operator', 'admin'];
const OPERATORS: readonly Role[] = ['operator', 'admin'];
const ADMINS: readonly Role[] = ['admin'];

/** The roles that have each permission. `dashboard/pages/roles-page.ts` shows this table. */
export const PERMISSIONS = {
  /** Lists, payments with their timeline, webhooks. */
  'payments.read': EVERYBODY,
  /** Addresses, metadata and bodies, which are masked without it. */
  'personal_data.read': HELPERS,
  /** Sums, ledger, settlements. */
  'money.read': ['viewer', 'operator', 'admin'],
  'payments.export': ['viewer', 'operator', 'admin'],
  /** Support refunds within a limit. */
  'refund.create': HELPERS,
  'session.create': HELPERS,
  'session.expire': HELPERS,
  'delivery.send': HELPERS,
  'customer.block': HELPERS,
  'delivery.recover': OPERATORS,
  'discrepancy.resolve': OPERATORS,
  'settlement.record': OPERATORS,
  'route.override': OPERATORS,
  /** Audit entries of everybody. Every operator reads the own entries. */
  'audit.read': OPERATORS,
  'rules.save': ADMINS,
  'endpoint.change': ADMINS,
  'key.change': ADMINS,
  'customer.export': ADMINS,
  'customer.erase': ADMINS,
  'operator.change': ADMINS,
} as const satisfies Record<string, readonly Role[]>;
export type Permission = keyof typeof PERMISSIONS;

/** Permissions that an operator uses only within {@link STEP_UP_MS} of proving a factor. */
export const STEP_UP: ReadonlySet<Permission> = new Set([
  'rules.save',
  'endpoint.change',
  'key.change',
  'customer.export',
  'customer.erase',
  'operator.change',
]);
export const STEP_UP_MS = 5 * 60_000;

/** True if the principal has the permission in its environment. */
export function can({ role }: Pick<Principal, 'role'>, permission: Permission): boolean {
  return role !== null && (PERMISSIONS[permission] as readonly Role[]).includes(role);
}
