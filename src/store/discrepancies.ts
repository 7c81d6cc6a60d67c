import type { Discrepancy, DiscrepancyKind, DiscrepancyStatus } from '../domain/discrepancy.ts';
import type { Instant } from '../domain/records.ts';
import type { Environment } from '../domain/route.ts';
import type { Listed, Page } from './page.ts';

export interface DiscrepancyFilter {
  kind?: DiscrepancyKind;
  status?: DiscrepancyStatus;
  sessionId?: string;
  environment?: Environment;
}

/** What is written of money that somebody has to look at. */
export type DiscrepancyChange =
  /** The same money is one record, however often it is reported: the newest word on its amount counts while it is open. */
  | { type: 'discrepancy_opened'; discrepancy: Discrepancy }
  /** Guarded by the version before. */
  | { type: 'discrepancy_changed'; discrepancy: Discrepancy }
  /** The whole amount has come after all: what is open of the payment's wrong amount is resolved. */
  | { type: 'amount_completed'; paymentId: string; sessionId: string; at: Instant };

/** What is read of money that somebody has to look at. */
export interface DiscrepancyReads {
  discrepancy(id: string): Promise<Discrepancy | undefined>;
  listDiscrepancies(filter: DiscrepancyFilter, page: Page): Promise<Listed<Discrepancy>>;
}
