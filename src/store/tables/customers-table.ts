import { CUSTOMER_STATUSES, type Customer } from '../../domain/records.ts';
import { ENVIRONMENTS, type Environment } from '../../domain/route.ts';
import { type Select, filterKeyset } from '../keyset.ts';
import type { Page } from '../list-page.ts';
import { matching, pageOf } from '../named-page.ts';
import { createReader } from '../row-reader.ts';
import { describeTable, integer, text } from '../table-description.ts';

interface CustomerFilter {
  customerId?: string;
  email?: string;
  status?: string;
  environment?: Environment;
}

const CUSTOMERS = describeTable<Customer>('customers', {
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

const SELECT_BY_EMAIL = 'SELECT * FROM customers WHERE environment = ?1 AND email_key = ?2';
// Both environments by name: without them the index by environment and address could not be used.
const SELECT_ALL_BY_EMAIL =
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

/** The customers of an id, or of an address in either environment. */
export function customersNamed(select: Select, { id, email }: { id?: string | undefined; email?: string | undefined }) {
  const { all } = createReader(select);
  return id === undefined
    ? all(CUSTOMERS.fromRow, SELECT_ALL_BY_EMAIL, emailKey(email!))
    : all(CUSTOMERS.fromRow, CUSTOMERS.byId, id);
}

export function createCustomerReads(select: Select) {
  const { one, find, list } = createReader(select);
  return {
    customer: (id: string) => find(CUSTOMERS, id),
    /** The customer of an address, compared without case. */
    customerByEmail: (environment: Environment, email: string) =>
      one(CUSTOMERS.fromRow, SELECT_BY_EMAIL, environment, emailKey(email)),
    async listCustomers({ customerId: id, email, status, environment }: CustomerFilter, page: Page) {
      if (id === undefined && email === undefined) {
        const leading = { environment: ENVIRONMENTS, status: CUSTOMER_STATUSES };
        return list(filterKeyset('customers', { environment, status }, leading), page, CUSTOMERS.fromRow);
      }
      const named = matching(await customersNamed(select, { id, email }), { status, environment });
      const hasEmail = (item: Customer) => email === undefined || emailKey(item.email) === emailKey(email);
      return pageOf(named.filter(hasEmail), page);
    },
  };
}
