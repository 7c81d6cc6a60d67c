import type { Discrepancy, DiscrepancyKind, DiscrepancyStatus } from '../domain/records.ts';
import type { Environment } from '../domain/route.ts';
import type { PageResult, Page } from './list-page.ts';

export interface DiscrepancyFilter {
  kind?: DiscrepancyKind;
  status?: DiscrepancyStatus;
  sessionId?: string;
  environment?: Environment;
}

export type DiscrepancyChange =
  /** Guarded by its subject being new among those of its session and kind. */
  | { type: 'discrepancy_opened'; discrepancy: Discrepancy }
  /** Guarded by the version before. */
  | { type: 'discrepancy_changed'; discrepancy: Discrepancy };

export interface DiscrepancyReads {
  discrepancy(id: string): Promise<Discrepancy | undefined>;
  listDiscrepancies(filter: DiscrepancyFilter, page: Page): Promise<PageResult<Discrepancy>>;
}
