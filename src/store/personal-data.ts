import type { Customer, CustomerStatus, Session, SessionStatus } from '../domain/records.ts';
import type { MerchantEvent } from './webhooks.ts';

/** What is written of blocking and erasing customers. */
export type PersonalDataChange =
  /** Guarded by the status `from` which it moves. */
  | { type: 'customer_status_changed'; customer: Customer; from: CustomerStatus }
  /** Writes nothing. Guarded by the session's customer being active: no payment is begun for another one. */
  | { type: 'customer_active'; sessionId: string }
  /** Guarded by the status before, and by nothing being under way for the customer: see `underWayFor`. */
  | { type: 'customer_erased'; customer: Customer; from: CustomerStatus }
  /**
   * A session, its payments, invoices, events, deliveries and provider messages without what can name the buyer.
   * Guarded by the session's version before, and by no payment of it being pending; `from` is its status before.
   */
  | { type: 'session_erased'; session: Session; from: SessionStatus; events: Pick<MerchantEvent, 'id' | 'body'>[] };

/** What stands in the way of erasing a customer: ids, a few of each. */
export interface UnderWay {
  payments: string[];
  refunds: string[];
  deliveries: string[];
}

/** What is read for exporting and erasing customers. */
export interface PersonalDataReads {
  underWayFor(customerId: string): Promise<UnderWay>;
  /** Sessions of a customer in which something may be left that names the buyer, `limit` at most. */
  sessionsToErase(customerId: string, limit: number): Promise<Session[]>;
}
