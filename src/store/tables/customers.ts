import { CUSTOMER_STATUSES, type Customer } from '../../domain/records.ts';
import { ENVIRONMENTS } from '../../domain/route.ts';
import { type KeysetQuery, type Row } from '../keyset.ts';
import type { CustomerFilter } from '../store.ts';
import { type Write, insertSql } from '../write.ts';

const INSERT = insertSql(
  'customers',
  ['id', 'environment', 'email', 'email_key', 'status', 'created'],
  'ON CONFLICT (environment, email_key) DO NOTHING',
);

export const SELECT_CUSTOMER = 'SELECT * FROM customers WHERE id = ?1';
export const SELECT_CUSTOMER_BY_EMAIL = 'SELECT * FROM customers WHERE environment = ?1 AND email_key = ?2';
// Both environments by name: without them the index by environment and address could not be used.
export const SELECT_CUSTOMERS_BY_EMAIL =
  "SELECT * FROM customers WHERE environment IN ('sandbox', 'production') AND email_key = ?1 ORDER BY id DESC";

/** Addresses are compared without case, whole. */
export function emailKey(email: string): string {
  return email.toLowerCase();
}

export function insertCustomer(customer: Customer): Write {
  const { id, environment, email, status, created } = customer;
  return {
    sql: INSERT,
    params: [id, environment, email, emailKey(email), status, created],
    guard: 'customer_exists',
    locks: `${environment} ${emailKey(email)}`,
  };
}

export function customerFromRow(row: Row): Customer {
  return {
    id: row['id'] as string,
    environment: row['environment'] as Customer['environment'],
    email: row['email'] as string,
    status: row['status'] as Customer['status'],
    statusReason: row['status_reason'] as string | null,
    created: row['created'] as number,
  };
}

/** The page's range, for filters that do not already name the customers. */
export function customerKeyset({ status, environment }: CustomerFilter): KeysetQuery {
  if (status === undefined && environment === undefined) return { table: 'customers', equals: {}, oneOf: {} };
  return {
    table: 'customers',
    equals: { ...(environment && { environment }), ...(status !== undefined && { status }) },
    oneOf: {
      ...(environment === undefined && { environment: ENVIRONMENTS }),
      ...(status === undefined && { status: CUSTOMER_STATUSES }),
    },
  };
}
