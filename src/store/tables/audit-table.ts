import { type ACTOR_KINDS, AUDIT_KINDS, type AUDIT_OUTCOMES, type AuditDetail } from '../../domain/audit.ts';
import { firstIdAt } from '../../domain/id.ts';
import type { Instant } from '../../domain/records.ts';
import { ENVIRONMENTS, type Environment } from '../../domain/route.ts';
import { type Select, filterKeyset, rowsNamed } from '../keyset.ts';
import type { Page } from '../list-page.ts';
import { createReader } from '../row-reader.ts';
import { type ItemOf, defineTable, integer, json, orNull, text, textOf } from '../table-description.ts';

type Text = 'kind' | 'action' | 'actorId' | 'subjectId' | 'sessionId';
type Times = { from: Instant | undefined; until: Instant | undefined };
/** Filter of entries. The time range begins at `from` and ends before `until`. */
export type AuditFilter = Partial<Times & { environment: Environment | undefined } & Record<Text, string | undefined>>;

const ENTRIES = defineTable('audit_entries', {
  id: text,
  // `both` instead of NULL, because an index cannot find NULL among the values of a leading column.
  environment: textOf<Environment | 'both'>(),
  created: integer,
  actorKind: textOf<(typeof ACTOR_KINDS)[number]>(),
  actorId: text,
  /** Name of the actor at the time of the action. */
  actorName: text,
  /** Operation id of the API, such as `createRefund`. */
  action: text,
  kind: textOf<(typeof AUDIT_KINDS)[number]>(),
  subjectKind: orNull(text),
  subjectId: orNull(text),
  sessionId: orNull(text),
  outcome: textOf<(typeof AUDIT_OUTCOMES)[number]>(),
  details: json<{ [Name in AuditDetail]?: string | number }>(),
  requestId: orNull(text),
});
export type AuditEntry = ItemOf<typeof ENTRIES>;
const insert = ENTRIES.insert();

const LEADING = { environment: [...ENVIRONMENTS, 'both'], kind: AUDIT_KINDS };

export const auditWrites = { audit_recorded: ({ entry }: { entry: AuditEntry }) => insert(entry) };

export function createAuditReads(select: Select) {
  const { list } = createReader(select);
  const idAt = (instant: Instant | undefined) => (instant === undefined ? undefined : firstIdAt('aud', instant));
  return {
    /** Entries, newest first. An id contains the time of its entry. */
    async listAudit({ actorId, subjectId, sessionId, from, until, ...filter }: AuditFilter, page: Page) {
      const rowsOf = (column: string) => `SELECT * FROM audit_entries WHERE ${column} = ?1`;
      const among = rowsNamed([rowsOf('subject_id'), subjectId], [rowsOf('session_id'), sessionId]);
      const columns = { ...filter, actor_id: actorId, session_id: sessionId };
      // With both bounds, SQLite takes a wrong index. The bound behind the page only cuts the page.
      const isBackward = page.endingBefore !== undefined;
      const ids = { from: isBackward ? idAt(from) : undefined, below: isBackward ? undefined : idAt(until) };
      const range = { ...filterKeyset('audit_entries', columns, LEADING, among), ids };
      const { items, hasMore } = await list(range, page, ENTRIES.fromRow);
      const within = items.filter(({ created }) => created >= (from ?? -Infinity) && created < (until ?? Infinity));
      return { items: within, hasMore: hasMore && within.length === items.length };
    },
  };
}
