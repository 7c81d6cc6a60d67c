import type { Customer } from '../../domain/records.ts';
import type { Environment } from '../../domain/route.ts';
import { describeTable, integer, text } from '../table-description.ts';

export interface CustomerFilter {
  customerId?: string;
  email?: string;
  status?: string;
  environment?: Environment;
}

export const CUSTOMERS = describeTable<Customer>('customers', {
  id: text,
  environment: text,
  email: text,
  status: text,
  statusReason: text,
  created: integer,
});
const insert = CUSTOMERS.insert({
  extra: ['email_key'],
  onConflict: 'ON CONFLICT (environment, email_key) DO NOTHING',
  guard: 'customer_exists',
});

export const SELECT_CUSTOMER_BY_EMAIL = 'SELECT * FROM customers WHERE environment = ?1 AND email_key = ?2';
// Both environments by name: without them the index by environment and address could not be used.
export const SELECT_CUSTOMERS_BY_EMAIL =
  "SELECT * FROM customers WHERE environment IN ('sandbox', 'production') AND email_key = ?1 ORDER BY id DESC";

/** Addresses are compared without case, whole. */
export function emailKey(email: string): string {
  return email.toLowerCase();
}

export const customerWrites = {
  customer_created({ customer }: { customer: Customer }) {
    const key = emailKey(customer.email);
    return { ...insert(customer, key), locks: `${customer.environment} ${key}` };
  },
};
