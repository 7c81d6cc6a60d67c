import { formatUsd } from '../../domain/money.ts';
import { can } from '../../domain/permission.ts';
import { maskedAddress } from '../../domain/personal-data.ts';
import type { Customer, Session } from '../../domain/records.ts';
import { type Html, type HtmlValue, html } from '../../html/html.ts';
import { type SearchHits, searchRecords } from '../../operations/search-records.ts';
import type { PageResult } from '../../store/list-page.ts';
import { type Column, table } from '../components/parts.ts';
import { zonedTime } from '../components/time.ts';
import { MODES, linkToOther } from '../shell.ts';
import type { PageRoutes, Visit } from '../visit.ts';

/** Finds a record by anything that a person knows about it. One hit leads to the record itself. */
export function searchPage(routes: PageRoutes): void {
  routes.get('/search', async (visit) => {
    const text = visit.query.get('q') ?? '';
    const hits = await searchRecords(visit.deps, visit.environment, text);
    const [first, second] = [...hits.sessions.items, ...hits.customers.items];
    if (first && !second) return { goTo: addressOf(visit, first) };
    return { title: 'Search', main: first ? renderHits(visit, hits) : renderNothing(visit) };
  });
}

/** Address of the page of a checkout, or of the payments of a customer. */
function addressOf({ path }: Visit, record: Session | Customer): string {
  return 'product' in record ? path(`payments/${record.id}`) : `${path('payments')}?customer=${record.id}`;
}

function renderHits(visit: Visit, { sessions, customers }: SearchHits): Html {
  const { caller, reportingZone } = visit.deps;
  const mayRead = !caller || can(caller, 'personal_data.read');
  const address = (email: string) => html`<bdi>${mayRead ? email : maskedAddress(email)}</bdi>`;
  const time = (one: Session | Customer) =>
    html`<a class="row-link" href="${addressOf(visit, one)}">${zonedTime(one.created, reportingZone)}</a>`;
  return html`${renderGroup<Session>('Payments', sessions, [
    { name: 'Time', cell: time },
    { name: 'Amount', isNumber: true, cell: ({ amount }) => formatUsd(amount) },
    { name: 'Status', cell: ({ status }) => status },
    { name: 'Buyer', cell: ({ customerEmail }) => address(customerEmail) },
    { name: 'Product', cell: ({ product }) => html`<bdi>${product}</bdi>` },
  ])}
  ${renderGroup<Customer>('Customers', customers, [
    { name: 'Since', cell: time },
    { name: 'Address', cell: ({ email }) => address(email) },
    { name: 'Status', cell: ({ status }) => status },
  ])}`;
}

function renderGroup<Row>(name: string, { items, hasMore }: PageResult<Row>, columns: Column<Row>[]): HtmlValue {
  if (items.length === 0) return false;
  return html`<h2>${name}</h2>
    ${table(hasMore ? 'Five of more' : 'All that match', columns, items)}`;
}

function renderNothing(visit: Visit): Html {
  return html`<p>
      Nothing in ${MODES[visit.environment].name} matches. You can search for ids, order numbers, references,
      transactions, idempotency keys, amounts such as 49.99, and email addresses or their beginning.
    </p>
    <p>${linkToOther(visit, 'Search in', `/search?${visit.query.toString()}`)}</p>`;
}
