/** `command`: a local command on the database. */
export const ACTOR_KINDS = ['key', 'operator', 'machine', 'command'] as const;
/** `read`: an export. */
export const AUDIT_KINDS = ['change', 'read'] as const;
/** `refused`: the actor lacked the permission. */
export const AUDIT_OUTCOMES = ['done', 'refused'] as const;

const SUBJECTS =
  'chk session, pay payment, ref refund, cus customer, dis discrepancy, dlv delivery, rcv recovery, whe endpoint, key key, opr operator, exp experiment';
const KINDS = new Map(SUBJECTS.split(', ').map((each) => each.split(' ') as [prefix: string, kind: string]));

/** Kind of the record with this id; null for other text, which an entry must not repeat. */
export function subjectKindOf(id: string): string | null {
  const prefix = /^([a-z]{3})_[0-9a-z]{36}$/.exec(id)?.[1];
  return (prefix !== undefined && KINDS.get(prefix)) || null;
}
