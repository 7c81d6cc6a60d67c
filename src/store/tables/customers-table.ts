import { CUSTOMER_STATUSES, type Customer } from '../../domain/records.ts';
import { ENVIRONMENTS, type Environment } from '../../domain/route.ts';
import { type Query, type Select, filterKeyset } from '../keyset.ts';
import type { Page } from '../list-page.ts';
import { createReader } from '../row-reader.ts';
import { describeTable, integer, text } from '../table-description.ts';

interface CustomerFilter {
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

const SELECT_BY_EMAIL = 'SELECT * FROM customers WHERE environment = ?1 AND email_key = ?2';
// Lists both environments, so that the database can use the index by environment and email address.
const SELECT_ALL_BY_EMAIL =
  "SELECT * FROM customers WHERE environment IN ('sandbox', 'production') AND email_key = ?1 ORDER BY id DESC";

/** Lookup key of an email address: the address in lower case. */
export function emailKey(email: string): string {
  return email.toLowerCase();
}

export const customerWrites = {
  customer_created({ customer }: { customer: Customer }) {
    const key = emailKey(customer.email);
    return { ...insert(customer, key), locks: `${customer.environment} ${key}` };
  },
};

/** Query of the customer with an id, or of the customers with an email address, one per environment. */
export function customersNamed(id: string | undefined, email: string | undefined): Query | undefined {
  if (id !== undefined) return { sql: CUSTOMERS.byId, params: [id] };
  return email === undefined ? undefined : { sql: SELECT_ALL_BY_EMAIL, params: [emailKey(email)] };
}

export function createCustomerReads(select: Select) {
  const { one, find, list } = createReader(select);
  return {
    customer: (id: string) => find(CUSTOMERS, id),
    /** The customer with an email address, ignoring case. */
    customerByEmail: (environment: Environment, email: string) =>
      one(CUSTOMERS.fromRow, SELECT_BY_EMAIL, environment, emailKey(email)),
    listCustomers({ customerId, email, status, environment }: CustomerFilter, page: Page) {
      const leading = { environment: ENVIRONMENTS, status: CUSTOMER_STATUSES };
      const filter = { environment, status, email_key: email === undefined ? undefined : emailKey(email) };
      const keyset = filterKeyset('customers', filter, leading, customersNamed(customerId, email));
      return list(keyset, page, CUSTOMERS.fromRow);
    },
  };
}
