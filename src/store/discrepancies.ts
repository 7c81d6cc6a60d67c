import type { Discrepancy, DiscrepancyKind, DiscrepancyStatus } from '../domain/discrepancy.ts';
import type { Cents } from '../domain/money.ts';
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
  /** The same money is one record, however often it is reported: the largest word on its amount counts while nothing is decided.
   * A wrong amount of a payment moves the session on from the version that it was found at, since what is decided meanwhile
   * changes what came beyond; for surplus money the change of the session itself does. */
  | { type: 'discrepancy_opened'; discrepancy: Discrepancy; sessionVersion: number }
  /** Guarded by the version before. */
  | { type: 'discrepancy_changed'; discrepancy: Discrepancy }
  /** The whole amount has come after all: what is open of the payment's wrong amount is resolved, or is what came beyond it. */
  | { type: 'amount_completed'; paymentId: string; sessionId: string; completed: Completed; at: Instant };

/** How the right amount has moved what is accounted for of a payment; the subjects are those of what comes beyond it. */
export interface Completed {
  subject: { before: string; after: string };
  growth: Cents;
  /** With the buyer's fee. */
  total: Cents;
}

/** What is read of money that somebody has to look at. */
export interface DiscrepancyReads {
  discrepancy(id: string): Promise<Discrepancy | undefined>;
  listDiscrepancies(filter: DiscrepancyFilter, page: Page): Promise<Listed<Discrepancy>>;
}
