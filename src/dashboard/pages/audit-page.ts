import { auditQuery } from '../../contract/audit-contract.ts';
import { inputReader } from '../../contract/input-problems.ts';
import { pageOf } from '../../contract/list-query.ts';
import { usd } from '../../domain/money.ts';
import { type Html, type HtmlValue, html } from '../../html/html.ts';
import { listAudit } from '../../operations/access/audit.ts';
import type { AuditEntry } from '../../store/tables/audit-table.ts';
import { type Column, breakable, table } from '../components/parts.ts';
import { zonedTime } from '../components/time.ts';
import type { PageRoutes, Visit } from '../visit.ts';

const PAGE_SIZE = '50';
const FILTERS = { actorId: 'person or key', action: 'action', subjectId: 'record', sessionId: 'session' };
const reader = inputReader(auditQuery);

/** The page of the audit entries, newest first. The address has the filters, and each cell of the table links to the list with its value as a further filter. */
export function auditPage(routes: PageRoutes): void {
  routes.get('/audit', async (visit) => {
    const { query, deps } = visit;
    const filter = { ...Object.fromEntries(query), limit: PAGE_SIZE };
    const { limit, startingAfter, endingBefore, ...wanted } = reader.read(filter, 'Clear the filter.');
    const { items, hasMore } = await listAudit(deps, wanted, pageOf({ limit, startingAfter, endingBefore }));
    const [last] = hasMore ? items.slice(-1) : [];
    const main = html`${renderFilter(query)}
    ${items.length > 0 ? table('Actions, newest first', columnsOf(visit), items) : html`<p>Nothing matches.</p>`}
    ${last && html`<p>${link(query, 'startingAfter', last.id, 'Older')}</p>`}`;
    return { title: 'Audit', main };
  });
}

function renderFilter(query: URLSearchParams): Html {
  const active = Object.entries(FILTERS).filter(([name]) => query.has(name));
  if (active.length === 0) return html`<p>Choose a person, an action or a record to see only its entries.</p>`;
  return html`<p>
    Only ${active.map(([name, label]) => html`${label} <code>${query.get(name)}</code> `)}
    <a href="?">Show all</a>
  </p>`;
}

function columnsOf({ deps, query }: Visit): Column<AuditEntry>[] {
  return [
    { name: 'Time', cell: ({ created }) => zonedTime(created, deps.reportingZone) },
    { name: 'Who', cell: ({ actorId, actorName }) => link(query, 'actorId', actorId, breakable(actorName)) },
    { name: 'Action', cell: ({ action }) => link(query, 'action', action, breakable(action)) },
    { name: 'Outcome', cell: ({ outcome }) => outcome },
    { name: 'Record', cell: ({ subjectId }) => subjectId !== null && link(query, 'subjectId', subjectId) },
    { name: 'Details', cell: ({ details }) => Object.entries(details).map(detailText).join(', ') },
  ];
}

const detailText = ([name, value]: [string, string | number]) =>
  `${name} ${name === 'amount' ? usd(Number(value)) : value}`;

/** A link to the list with one more filter, or to its next page. */
function link(query: URLSearchParams, name: string, value: string, text: HtmlValue = value): Html {
  const { startingAfter: _, ...others } = Object.fromEntries(query);
  return html`<a href="?${new URLSearchParams({ ...others, [name]: value }).toString()}">${text}</a>`;
}
