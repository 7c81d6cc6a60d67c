import { type ACTOR_KINDS, AUDIT_KINDS, type AUDIT_OUTCOMES } from '../../domain/audit.ts';
import { ENVIRONMENTS, type Environment } from '../../domain/route.ts';
import { type Select, filterKeyset, rowsNamed } from '../keyset.ts';
import type { Page } from '../list-page.ts';
import { createReader } from '../row-reader.ts';
import { type ItemOf, defineTable, integer, json, orNull, text, textOf } from '../table-description.ts';

type Text = 'kind' | 'action' | 'actorId' | 'subjectId' | 'sessionId';
export type AuditFilter = Partial<{ environment: Environment | undefined } & Record<Text, string | undefined>>;

export const AUDIT_ENTRIES = defineTable('audit_entries', {
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
  details: json<Record<string, string | number>>(),
  requestId: orNull(text),
});
export type AuditEntry = ItemOf<typeof AUDIT_ENTRIES>;
const insert = AUDIT_ENTRIES.insert();

const LEADING = { environment: [...ENVIRONMENTS, 'both'], kind: AUDIT_KINDS };

export const auditWrites = { audit_recorded: ({ entry }: { entry: AuditEntry }) => insert(entry) };

export function createAuditReads(select: Select) {
  const { list } = createReader(select);
  return {
    /** Entries, newest first. */
    async listAudit({ actorId, subjectId, sessionId, ...filter }: AuditFilter, page: Page) {
      const rowsOf = (column: string) => `SELECT * FROM audit_entries WHERE ${column} = ?1`;
      const among = rowsNamed([rowsOf('subject_id'), subjectId], [rowsOf('session_id'), sessionId]);
      const columns = { ...filter, actor_id: actorId, session_id: sessionId };
      return list(filterKeyset('audit_entries', columns, LEADING, among), page, AUDIT_ENTRIES.fromRow);
    },
  };
}
