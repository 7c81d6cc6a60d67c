import { instantFrom } from '../contract/settlement-contract.ts';
import { can } from '../domain/permission.ts';
import type { PageResult, Page } from '../store/list-page.ts';
import type { AuditEntry, AuditFilter } from '../store/tables/audit-table.ts';
import { assertCan } from './access/caller.ts';
import type { Deps } from './deps.ts';

/** Filter of entries, with the time range in ISO 8601. */
type Filter = Omit<AuditFilter, 'from' | 'until'> & { [Name in 'from' | 'until']?: string | undefined };

/** Audit entries, newest first. Without the permission `audit.read`, only the caller's own; throws GatewayError `forbidden` for others. */
export async function listAudit(
  deps: Pick<Deps, 'store' | 'caller' | 'realNow'>,
  { from, until, ...filter }: Filter,
  page: Page,
): Promise<PageResult<AuditEntry>> {
  const { caller, store } = deps;
  const range = { from: instantFrom(from), until: instantFrom(until) };
  if (!caller || can(caller, 'audit.read')) return store.listAudit({ ...filter, ...range }, page);
  if ((filter.actorId ?? caller.id) !== caller.id) assertCan(deps, 'audit.read');
  return store.listAudit({ ...filter, ...range, actorId: caller.id }, page);
}
