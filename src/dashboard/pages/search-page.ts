import { formatUsd } from '../../domain/money.ts';
import { can } from '../../domain/permission.ts';
import { maskedAddress } from '../../domain/personal-data.ts';
import type { Session } from '../../domain/records.ts';
import { type Html, html } from '../../html/html.ts';
import { searchRecords } from '../../operations/search-records.ts';
import type { PageResult } from '../../store/list-page.ts';
import { type Column, breakable, table } from '../components/parts.ts';
import { zonedTime } from '../components/time.ts';
import { MODES, linkToOther } from '../shell.ts';
import type { PageRoutes, Visit } from '../visit.ts';

/** Finds a payment by anything that a person knows about it. One hit leads to its page, and a buyer to the list of payments. */
export function searchPage(routes: PageRoutes): void {
  routes.get('/search', async (visit) => {
    const { deps, environment, query, path } = visit;
    const { sessions, customerId } = await searchRecords(deps, environment, query.get('q') ?? '');
    if (customerId !== undefined) return { goTo: `${path('payments')}?customer=${customerId}` };
    const [first, second] = sessions.items;
    if (first && !second) return { goTo: path(`payments/${first.id}`) };
    return { title: 'Search', main: first ? renderHits(visit, sessions) : renderNothing(visit) };
  });
}

function renderHits({ deps, path, visitor }: Visit, { items, hasMore }: PageResult<Session>): Html {
  const mayRead = can(visitor.principal, 'personal_data.read');
  const time = ({ id, created }: Session) =>
    html`<a class="row-link" href="${path(`payments/${id}`)}">${zonedTime(created, deps.reportingZone)}</a>`;
  const columns: Column<Session>[] = [
    { name: 'Time', cell: time },
    { name: 'Amount', isNumber: true, cell: ({ amount }) => formatUsd(amount) },
    { name: 'Status', cell: ({ status }) => status },
    { name: 'Buyer', cell: ({ customerEmail: email }) => breakable(mayRead ? email : maskedAddress(email)) },
    { name: 'Product', cell: ({ product }) => html`<bdi>${product}</bdi>` },
  ];
  return table(hasMore ? 'Payments, five of more' : 'Payments, all that match', columns, items);
}

function renderNothing(visit: Visit): Html {
  return html`<p>
      Nothing in ${MODES[visit.environment].name} matches. You can search for ids, order numbers, references,
      transactions, idempotency keys, amounts such as 49.99, and email addresses.
    </p>
    <p>${linkToOther(visit, 'Search in', `/search?${visit.query.toString()}`)}</p>`;
}
