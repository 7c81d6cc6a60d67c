import { subjectKindOf } from '../../domain/audit.ts';
import { timeOfId } from '../../domain/id.ts';
import { can } from '../../domain/permission.ts';
import { type Principal, machinePrincipal } from '../../domain/principal.ts';
import type { Page, PageResult } from '../../store/list-page.ts';
import type { Change, CommitResult } from '../../store/store.ts';
import type { AuditEntry, AuditFilter } from '../../store/tables/audit-table.ts';
import { currentOrigin } from '../../telemetry/origin.ts';
import type { Deps } from '../deps.ts';
import { auditFacts } from './audit-facts.ts';
import { PermissionRefusal, assertCan } from './caller.ts';

type AuditDeps = Pick<Deps, 'store' | 'newId'> & Partial<Pick<Deps, 'caller'>>;

/** An action that the audit records. */
export interface AuditedAction {
  /** Operation id of the API, such as `createRefund`. */
  action: string;
  kind: AuditEntry['kind'];
  /** Path parameters of the request. The first id of a record among them is the subject of an export and of a refusal. */
  params?: unknown;
}

type Actor = { kind: AuditEntry['actorKind'] } & Pick<Principal, 'id' | 'name'>;

/**
 * Dependencies whose store adds an entry about `action` to the first successful commit with a purpose (see `auditFacts`). An operation
 * that changes nothing, or whose guard fails, leaves no entry.
 */
export function audited<Own extends AuditDeps>(deps: Own, action: string, actor: Actor = actorOf(deps)): Own {
  const { store } = deps;
  let isRecorded = false;
  let previous: Promise<unknown> = Promise.resolve();

  async function record(changes: Change[]): Promise<CommitResult> {
    const facts = isRecorded ? undefined : auditFacts(changes);
    if (!facts) return store.commit(changes);
    const entry = { ...facts, action, kind: 'change', outcome: 'done' } as const;
    const result = await store.commit([...changes, changeOf(deps, actor, entry)]);
    isRecorded = result.done;
    return result;
  }

  function commit(changes: Change[]): Promise<CommitResult> {
    if (isRecorded) return store.commit(changes);
    // A commit waits for the earlier ones, so that only one of several parallel commits records the entry.
    const result = previous.then(() => record(changes));
    previous = result.catch(() => undefined);
    return result;
  }
  return { ...deps, store: { ...store, commit } };
}

/** Runs an audited action. An export leaves an entry before its caller gets the data; a refusal leaves an entry of its own. */
export async function withAudit<Own extends AuditDeps, Result>(
  deps: Own,
  action: AuditedAction,
  work: (own: Own) => Promise<Result>,
): Promise<Result> {
  try {
    const result = await work(audited(deps, action.action));
    if (action.kind === 'read') await recordAlone(deps, action, 'done');
    return result;
  } catch (error) {
    if (error instanceof PermissionRefusal) await recordRefusal(deps, action);
    throw error;
  }
}

/** Records that the caller lacked a permission. Strangers leave no entries, so that they cannot fill the table. */
export async function recordRefusal(deps: AuditDeps, action: AuditedAction): Promise<void> {
  if (deps.caller) await recordAlone(deps, action, 'refused');
}

async function recordAlone(deps: AuditDeps, action: AuditedAction, outcome: AuditEntry['outcome']): Promise<void> {
  const named = Object.values((action.params ?? {}) as Record<string, string>);
  const subjectId = named.find((id) => subjectKindOf(id) !== null) ?? null;
  const subjectKind = subjectId && subjectKindOf(subjectId);
  const sessionId = subjectKind === 'session' ? subjectId : null;
  const subject = { environment: 'both', subjectKind, subjectId, sessionId, details: {} } as const;
  const entry = { ...subject, action: action.action, kind: action.kind, outcome };
  await deps.store.commit([changeOf(deps, actorOf(deps), entry)]);
}

/** The principal; requests of a service without keys come from this machine. */
const actorOf = ({ caller }: AuditDeps): Actor => caller ?? machinePrincipal('sandbox');

function changeOf(
  deps: AuditDeps,
  { kind: actorKind, id: actorId, name: actorName }: Actor,
  rest: Omit<AuditEntry, 'id' | 'created' | 'actorKind' | 'actorId' | 'actorName' | 'requestId'>,
): Change {
  const id = deps.newId('aud');
  const environment = deps.caller?.environment ?? rest.environment;
  const { requestId } = currentOrigin();
  const entry = { ...rest, id, created: timeOfId(id), environment, actorKind, actorId, actorName, requestId };
  return { type: 'audit_recorded', entry };
}

/** Audit entries, newest first. Without the permission `audit.read`, only the caller's own; throws GatewayError `forbidden` for others. */
export async function listAudit(
  deps: Pick<Deps, 'store' | 'caller' | 'realNow'>,
  filter: AuditFilter,
  page: Page,
): Promise<PageResult<AuditEntry>> {
  const { caller, store } = deps;
  if (!caller || can(caller, 'audit.read')) return store.listAudit(filter, page);
  if ((filter.actorId ?? caller.id) !== caller.id) assertCan(deps, 'audit.read');
  return store.listAudit({ ...filter, actorId: caller.id }, page);
}
