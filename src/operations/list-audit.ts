import { can } from '../domain/permission.ts';
import type { PageResult, Page } from '../store/list-page.ts';
import type { AuditEntry, AuditFilter } from '../store/tables/audit-table.ts';
import { assertCan } from './access/caller.ts';
import type { Deps } from './deps.ts';

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
