import type { Customer, Metadata, Session } from './records.ts';

/** Replacement of a stored JSON body, such as a provider's message. */
export const ERASED_BODY = '{"erased":true}';
const NO_METADATA: Metadata = {};
const ERASED_DOMAIN = '@erased.invalid';

/** Address of an erased customer, which can never be delivered to (RFC 2606). */
export function erasedAddress(customerId: string): string {
  return `erased+${customerId}${ERASED_DOMAIN}`;
}

/** True if the session's buyer has been erased. */
export function isErased({ customerEmail, customerId }: Pick<Session, 'customerEmail' | 'customerId'>): boolean {
  return customerEmail === erasedAddress(customerId);
}

/** Address for a person who may not read personal data: its first letter only. */
export function maskedAddress(address: string): string {
  return `${Array.from(address)[0] ?? ''}•••@•••`;
}

export function eraseCustomer(customer: Customer): Customer {
  return { ...customer, status: 'erased', email: erasedAddress(customer.id), statusReason: null };
}

/** The session without its buyer's data, expired if it was not started. The store hashes its idempotency key. */
export function eraseSession(session: Session): Session {
  const isOpen = session.status === 'routed';
  return {
    ...session,
    version: session.version + 1,
    ...(isOpen && { status: 'expired', wakeAt: null }),
    customerEmail: erasedAddress(session.customerId),
    redirectUrl: null,
    metadata: NO_METADATA,
    clientReferenceId: null,
    requestHash: null,
  };
}

/** The body of a merchant event without the merchant's metadata; everything else in it is ids, money and routes. */
export function eraseEventBody(body: string): string {
  return JSON.stringify(JSON.parse(body), (key, value: unknown) => (key === 'metadata' ? NO_METADATA : value));
}
