import { once } from 'node:events';
import { Readable } from 'node:stream';
import { FAILURE_CODES } from '../../domain/failure.ts';
import { invalidField } from '../../domain/gateway-error.ts';
import { isId, timeOfId } from '../../domain/id.ts';
import { startOfLocalDay } from '../../domain/reporting-time.ts';
import { centsFromText, formatUsd } from '../../domain/money.ts';
import { can } from '../../domain/permission.ts';
import { PAYMENT_STATUSES } from '../../domain/records.ts';
import { type Html, html } from '../../html/html.ts';
import { withAudit } from '../../operations/access/audit.ts';
import { type OwnFilter, exportPayments, listPayments } from '../../operations/list-payments.ts';
import type { PageResult } from '../../store/list-page.ts';
import type { SoldPayment } from '../../store/tables/payments-table.ts';
import { type Choice, choicesOf, field, select } from '../components/action-form.ts';
import { words } from '../components/figures.ts';
import { type Column, breakable, idWithCopy, status, table } from '../components/parts.ts';
import { zonedTime } from '../components/time.ts';
import { MODES, linkToOther } from '../shell.ts';
import type { PageRoutes, Visit } from '../visit.ts';

const ROWS = 50;

/** Field of the filter form: its choices or its input. `filter` returns an undefined part for an invalid value. */
interface Field {
  label: string;
  choices?(visit: Visit): readonly Choice[];
  type?: 'date' | 'hidden';
  filter(value: string, zone: string): Record<string, unknown>;
  /** Message and suggestion of the error about an invalid value. Default: {@link NO_VALUE}. */
  fault?: readonly [message: string, advice: string];
}

const ONLY: readonly Choice[] = [
  ['refunded', 'refunded, wholly or in part'],
  ['unsettled', 'paid and not settled'],
  ['wrongAmount', 'with a wrong amount'],
];

const DAY = { type: 'date', fault: ['is no day of the calendar', 'Choose a day such as 2026-02-28.'] } as const;
const AMOUNT = { fault: ['is no amount in US dollars', 'Type an amount such as 20 or 20.50.'] } as const;
const NO_VALUE = ['has no valid value', 'Set the filter again.'] as const;

const FIELDS: Record<string, Field> = {
  from: { ...DAY, label: 'From day', filter: (day, zone) => ({ from: startOfLocalDay(day, zone) }) },
  to: { ...DAY, label: 'To day', filter: (day, zone) => ({ until: startOfLocalDay(day, zone, 1) }) },
  status: { label: 'Status', choices: () => choicesOf(PAYMENT_STATUSES), filter: (value) => ({ status: value }) },
  route: {
    label: 'Route',
    choices: ({ deps: { routes }, environment }) =>
      routes.filter((route) => route.environment === environment).map(({ id, label }) => [id, label]),
    filter: (value) => ({ route: value }),
  },
  reason: {
    label: 'Reason',
    choices: () => choicesOf(FAILURE_CODES),
    filter: (value) => ({ reason: FAILURE_CODES.find((code) => code === value) }),
  },
  amountFrom: { ...AMOUNT, label: 'Amount from', filter: (value) => ({ amountFrom: centsFromText(value) }) },
  amountTo: { ...AMOUNT, label: 'Amount to', filter: (value) => ({ amountTo: centsFromText(value) }) },
  only: {
    label: 'Only',
    choices: () => ONLY,
    filter: (value) => (ONLY.some(([name]) => name === value) ? { [value]: true } : { only: undefined }),
  },
  customer: { label: 'Customer', type: 'hidden', filter: (id) => ({ customerId: isId(id, 'cus') ? id : undefined }) },
};

/** The fields of the filter that have a value. */
function activeOf({ query }: Visit): [name: string, value: string][] {
  const given = Object.keys(FIELDS).map((name): [string, string] => [name, query.get(name)?.trim() ?? '']);
  return given.filter(([, value]) => value !== '');
}

/** The filter in the address. Throws GatewayError `invalid_input`. */
function filterOf(visit: Visit): OwnFilter {
  const filter: Record<string, unknown> = { environment: visit.environment };
  for (const [name, value] of activeOf(visit)) {
    Object.assign(filter, FIELDS[name]!.filter(value, visit.deps.reportingZone));
    if (!Object.values(filter).includes(undefined)) continue;
    const [message, advice] = FIELDS[name]!.fault ?? NO_VALUE;
    throw invalidField(FIELDS[name]!.label, 'invalid_value', message, advice);
  }
  return filter as unknown as OwnFilter;
}

/** Path and query of a page with the active filter. */
function addressOf(visit: Visit, page: string, more: Record<string, string> = {}): string {
  return `${page}?${new URLSearchParams([...activeOf(visit), ...Object.entries(more)]).toString()}`;
}

/** The list of payments, and the export of everything that its filter matches. */
export function paymentsPage(routes: PageRoutes): void {
  routes.get('/payments', async (visit) => {
    const startingAfter = visit.query.get('startingAfter') ?? '';
    const isFirst = !isId(startingAfter, 'pay');
    const page = { limit: ROWS, ...(!isFirst && { startingAfter }) };
    const found = await listPayments(visit.deps, filterOf(visit), page);
    const rest = found.items.length > 0 || found.hasMore ? renderList(visit, found, isFirst) : renderEmpty(visit);
    return { title: 'Payments', isLive: isFirst, main: html`${renderForm(visit)} ${rest}` };
  });
  routes.get('/payments.csv', async (visit) => {
    const { query, environment, reply } = visit;
    const text = Readable.from(exportPayments(() => visit.renewedDeps(), filterOf(visit)));
    // An error before the first part is an error page. A later error closes the connection, so the download fails.
    await withAudit(visit.deps, { action: 'exportPayments', kind: 'read' }, () => once(text, 'readable'));
    const range = [query.get('from') ?? 'first', query.get('to') ?? 'last'].join('-to-').replaceAll(/[^\w-]/g, '');
    reply.header('content-disposition', `attachment; filename="tillway-payments-${environment}-${range}.csv"`);
    reply.type('text/csv; charset=utf-8; header=present');
    return { download: text };
  });
}

function renderForm(visit: Visit): Html {
  const active = activeOf(visit).map(([name, value]) => {
    const { label, choices } = FIELDS[name]!;
    return `${label.toLowerCase()} ${choices?.(visit).find(([one]) => one === value)?.[1] ?? value}`;
  });
  return html`<details class="filter-box">
      <summary>Filter</summary>
      <form class="filter" action="${visit.path('payments')}">
        ${Object.entries(FIELDS).map(([name, one]) => renderField(visit, name, one))}
        <button class="small-button">Filter</button>
      </form>
    </details>
    ${
      active.length > 0 &&
      html`<p>Payments: ${active.join(', ')}. <a href="${visit.path('payments')}">Clear the filter</a></p>`
    }`;
}

function renderField(visit: Visit, name: string, { label, choices, type }: Field): Html | false {
  const value = visit.query.get(name) ?? '';
  if (type === 'hidden') return value !== '' && html`<input type="hidden" name="${name}" value="${value}" />`;
  const control = choices
    ? select(name, 'All', choices(visit), value)
    : html`<input id="${name}" name="${name}" type="${type ?? 'text'}" value="${value}" size="10" />`;
  return field(name, label, control);
}

function renderList(visit: Visit, { items, hasMore, searchedTo }: PageResult<SoldPayment>, isFirst: boolean): Html {
  const zone = visit.deps.reportingZone;
  const link = (text: string, more?: Record<string, string>) =>
    html`<a class="small-button" href="${addressOf(visit, visit.path('payments'), more)}">${text}</a>`;
  const startingAfter = searchedTo ?? items.at(-1)!.id;
  const csv = html`<a class="small-button" href="${addressOf(visit, visit.path('payments.csv'))}" download
    >Export all as CSV</a
  >`;
  return html`${items.length > 0 && table(`Times in ${zone}`, columnsOf(visit), items)}
    ${searchedTo && html`<p>Searched back to ${zonedTime(timeOfId(searchedTo), zone)}.</p>`}
    <p class="actions">
      ${!isFirst && link('Newest')} ${hasMore && link(searchedTo ? 'Continue' : 'Older', { startingAfter })}
      ${can(visit.visitor.principal, 'payments.export') && csv}
    </p>`;
}

function columnsOf({ deps, path }: Visit): Column<SoldPayment>[] {
  const [orderKey = ''] = deps.searchMetadataKeys;
  const time = ({ created, sessionId }: SoldPayment) =>
    html`<a class="row-link" href="${path(`payments/${sessionId}`)}">${zonedTime(created, deps.reportingZone)}</a>`;
  const order = ({ metadata, clientReferenceId }: SoldPayment) => metadata[orderKey] ?? clientReferenceId;
  return [
    { name: 'Time', cell: time },
    { name: 'Total', isNumber: true, cell: renderTotal },
    { name: 'Status', cell: renderStatus },
    { name: 'Buyer', cell: ({ customerEmail }) => breakable(customerEmail) },
    { name: 'Product', cell: ({ product }) => html`<bdi>${product}</bdi>` },
    { name: 'Order', cell: (sold) => html`<bdi>${order(sold)}</bdi>` },
    { name: 'Route', cell: ({ route }) => route.label },
    { name: 'Id', cell: ({ id }) => idWithCopy(id) },
  ];
}

/** The total and, if it contains a fee of the buyer, also the amount without it, by which the filter selects. */
function renderTotal({ amount, fees }: SoldPayment): Html {
  const hint = html`<span class="hint">amount ${formatUsd(amount)}</span>`;
  return html`${formatUsd(fees.total)} ${fees.total !== amount && hint}`;
}

function renderStatus({ status: state, failureCode, refunded, fees }: SoldPayment): Html {
  if (state === 'pending') return status('Pending', 'waiting');
  if (state === 'failed') return html`${status('Failed', 'bad')} ${words(failureCode ?? '')}`;
  if (refunded === 0) return status('Paid', 'good');
  return status(refunded < fees.total ? 'Partly refunded' : 'Refunded', 'neutral');
}

/** A list without rows: nothing exists yet, or nothing matches. */
function renderEmpty(visit: Visit): Html {
  const { name } = MODES[visit.environment];
  const isFiltered = activeOf(visit).length > 0;
  const canTry = !isFiltered && visit.environment === 'sandbox';
  return html`<p class="lead">${isFiltered ? 'No payment matches' : 'There are no payments yet'} in ${name}.</p>
    ${canTry && html`<p><a href="/">Start a test checkout</a>, and pay with a test card.</p>`}
    <p>${linkToOther(visit, 'Look in', addressOf(visit, '/payments'))}</p>`;
}
