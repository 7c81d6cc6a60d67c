import {
  DISCREPANCY_KINDS,
  DISCREPANCY_STATUSES,
  type Discrepancy,
  type DiscrepancyKind,
  type DiscrepancyStatus,
} from '../../domain/records.ts';
import { ENVIRONMENTS, type Environment } from '../../domain/route.ts';
import { type Select, filterKeyset, rowsNamed } from '../keyset.ts';
import type { Page } from '../list-page.ts';
import { createReader } from '../row-reader.ts';
import { describeTable, flag, integer, text } from '../table-description.ts';

interface DiscrepancyFilter {
  kind?: DiscrepancyKind;
  status?: DiscrepancyStatus;
  sessionId?: string;
  environment?: Environment;
}

export const DISCREPANCIES = describeTable<Discrepancy>('discrepancies', {
  id: text,
  environment: text,
  kind: text,
  status: text,
  version: integer,
  sessionId: text,
  customerId: text,
  paymentId: text,
  subject: text,
  provider: text,
  eventId: text,
  expected: integer,
  received: integer,
  currency: text,
  refunding: flag,
  refundId: text,
  resolution: text,
  note: text,
  created: integer,
  resolvedAt: integer,
});
const insert = DISCREPANCIES.insert({
  onConflict: 'ON CONFLICT (session_id, kind, subject) DO NOTHING',
  guard: 'version',
});
const MONEY = ['subject', 'provider', 'eventId', 'expected', 'received', 'refunding', 'refundId'] as const;
const update = DISCREPANCIES.update({
  key: ['id'],
  set: ['status', ...MONEY, 'resolution', 'note', 'resolvedAt'],
  versioned: true,
  guard: 'version',
});

export const SELECT_DISCREPANCIES_OF_SESSION = 'SELECT * FROM discrepancies WHERE session_id = ?1 ORDER BY id';
const LEADING = { environment: ENVIRONMENTS, kind: DISCREPANCY_KINDS, status: DISCREPANCY_STATUSES };

export const discrepancyWrites = {
  /** Guard: the session has no discrepancy with the same kind and subject. */
  discrepancy_opened: ({ discrepancy }: { discrepancy: Discrepancy }) => insert(discrepancy),
  /** Guard: the stored version is the previous one. */
  discrepancy_changed: ({ discrepancy }: { discrepancy: Discrepancy }) => update(discrepancy),
};

export function createDiscrepancyReads(select: Select) {
  const { find, list } = createReader(select);
  return {
    discrepancy: (id: string) => find(DISCREPANCIES, id),
    listDiscrepancies({ sessionId, ...filter }: DiscrepancyFilter, page: Page) {
      const named = rowsNamed([SELECT_DISCREPANCIES_OF_SESSION, sessionId]);
      return list(filterKeyset('discrepancies', filter, LEADING, named), page, DISCREPANCIES.fromRow);
    },
  };
}
