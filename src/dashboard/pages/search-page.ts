import { formatUsd } from '../../domain/money.ts';
import { can } from '../../domain/permission.ts';
import { maskedAddress } from '../../domain/personal-data.ts';
import type { Customer, Session } from '../../domain/records.ts';
import { type Html, type HtmlValue, html } from '../../html/html.ts';
import { type SearchHits, searchRecords } from '../../operations/search-records.ts';
import type { PageResult } from '../../store/list-page.ts';
import { type Column, table } from '../components/parts.ts';
import { zonedTime } from '../components/time.ts';
import { MODES, otherEnvironment } from '../shell.ts';
import type { PageRoutes, Visit } from '../visit.ts';

const countOf = ({ sessions, customers }: SearchHits) => sessions.items.length + customers.items.length;

/** Finds a record by anything that a person knows about it. One hit leads to the record itself. */
export function searchPage(routes: PageRoutes): void {
  routes.get('/search', async (visit) => {
    const text = visit.query.get('q') ?? '';
    const hits = await searchRecords(visit.deps, visit.environment, text);
    const [session] = hits.sessions.items;
    if (countOf(hits) === 1) return { goTo: addressOf(visit, session ?? hits.customers.items[0]!) };
    return { title: 'Search', main: countOf(hits) > 0 ? renderHits(visit, hits) : await renderNothing(visit, text) };
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

function renderGroup<Row>(
  name: string,
  { items, hasMore }: PageResult<Row>,
  columns: readonly Column<Row>[],
): HtmlValue {
  return (
    items.length > 0 &&
    html`<h2>${name}</h2>
      ${table(hasMore ? 'Five of more' : 'All that match', columns, items)}`
  );
}

/** Says that nothing was found here, and first whether the other environment has it. */
async function renderNothing({ depsOf, environment }: Visit, text: string): Promise<Html> {
  const other = otherEnvironment(environment);
  const there = await depsOf(other);
  const isThere = there && countOf(await searchRecords(there, other, text)) > 0;
  const address = `/dashboard/${other}/search?${new URLSearchParams({ q: text }).toString()}`;
  return html`${isThere && html`<p class="lead"><a href="${address}">Found in ${MODES[other].name}</a></p>`}
    <p>
      Nothing in ${MODES[environment].name} matches. You can search for ids, order numbers, references, transactions,
      idempotency keys, amounts such as 49.99, and email addresses or their beginning.
    </p>`;
}
