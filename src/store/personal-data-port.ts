import type { Customer, CustomerStatus, Session, SessionStatus } from '../domain/records.ts';
import type { MerchantEvent } from './webhooks-port.ts';

export type PersonalDataChange =
  /** Guarded by the status `from` which it moves. */
  | { type: 'customer_status_changed'; customer: Customer; from: CustomerStatus }
  /** Writes nothing. Guarded by the session's customer being active, so that no other customer starts a payment. */
  | { type: 'customer_active'; sessionId: string }
  /** Guarded by the status before, and by no record of the customer being in progress: see `underWayFor`. */
  | { type: 'customer_erased'; customer: Customer; from: CustomerStatus }
  /**
   * A session, its payments, invoices, events, deliveries and provider messages without the buyer's personal data.
   * Guarded by the session's version before, and by no payment of it being pending; `from` is its status before.
   */
  | { type: 'session_erased'; session: Session; from: SessionStatus; events: Pick<MerchantEvent, 'id' | 'body'>[] };

/** Ids of records in progress that prevent erasing a customer, a few of each kind. */
export interface PersonalWorkInProgress {
  payments: string[];
  refunds: string[];
  deliveries: string[];
}

export interface PersonalDataReads {
  workInProgressFor(customerId: string): Promise<PersonalWorkInProgress>;
  /** At most `limit` sessions of a customer that may still have personal data. */
  sessionsToErase(customerId: string, limit: number): Promise<Session[]>;
}
