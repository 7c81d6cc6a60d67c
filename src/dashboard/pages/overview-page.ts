import { invalidField } from '../../domain/gateway-error.ts';
import type { SalesSum } from '../../store/tables/sales-table.ts';
import { netOf, outcomesOf, shareOfPaid, totalOf } from '../../operations/sales-figures.ts';
import { type Html, type HtmlValue, html } from '../../html/html.ts';
import { type AttentionItem, needsAttention } from '../../operations/attention.ts';
import { type AttentionFacts, readAttentionFacts } from '../../operations/attention-facts.ts';
import { readOverview } from '../../operations/read-overview.ts';
import { type NewestSales, readNewestSales } from '../../operations/sales-report.ts';
import { countText, moneyText, percentText } from '../components/figures.ts';
import { status } from '../components/parts.ts';
import { timeText, zonedTime } from '../components/time.ts';
import { type PlotView, renderPlot } from '../plots/plot-frame.ts';
import { reasonsPlot, routesPlot, stagesPlot } from '../plots/row-plots.ts';
import { paidPlot, successPlot } from '../plots/time-plots.ts';
import type { PageRoutes, Visit } from '../visit.ts';

const RANGES: Record<string, string> = { 1: '24 hours', 7: '7 days', 30: '30 days', 90: '90 days', 365: '52 weeks' };

/** The first page of an environment: what needs attention, the figures of a period, and their plots. */
export function overviewPage(routes: PageRoutes): void {
  routes.get('', async (visit) => {
    const { deps, environment } = visit;
    const newest = await readNewestSales(deps, environment);
    const { allowsUnauthenticated } = deps;
    const [facts, period] = await Promise.all([
      readAttentionFacts(deps, environment, { allowsUnauthenticated, newest }),
      readPeriod(visit, newest),
    ]);
    const main = html`${renderAttention(visit, needsAttention(facts))} ${renderSetup(facts)}
    ${facts.hasSession && renderPeriod(period)}`;
    return { title: 'Overview', isLive: true, main };
  });
}

/** The sales and plots of the period in the address. */
async function readPeriod({ deps, environment, query }: Visit, newest: NewestSales) {
  const days = query.get('days') ?? '7';
  const range = Object.hasOwn(RANGES, days) && RANGES[days];
  if (!range) throw invalidField('days', 'invalid_value', 'is no range of the overview', 'Use 1, 7, 30, 90 or 365.');
  const { steps, step, usual, showsMoney, countedUntil } = await readOverview(deps, environment, Number(days), newest);
  const { routes } = deps.router.view(environment);
  const nameOf = (id: string) => routes.get(id)?.route.label ?? id;
  const view: PlotView = { zone: deps.reportingZone, step, showsMoney, nameOf };
  const sales = steps.flatMap((each) => each.sales);
  const before = steps.flatMap((each) => each.before);
  const ofSteps = [paidPlot(steps, view), successPlot(steps, usual, view)];
  const plots = [...ofSteps, routesPlot(sales, before, view), reasonsPlot(sales, view), stagesPlot(sales, view)];
  return { days, range, view, steps, sales, before, plots, countedUntil };
}

function renderAttention({ deps, path }: Visit, items: readonly AttentionItem[]): Html {
  if (items.length === 0) return html`<p>${status('Nothing needs attention.', 'good')}</p>`;
  const rows = items.map(({ text, since, solve }) => {
    const time = since !== null && html`<span class="small">Since ${zonedTime(since, deps.reportingZone)}.</span>`;
    const link = 'page' in solve && html`<a href="${path(solve.page)}">${solve.name}</a>`;
    return html`${text} ${time}
      <p>${'page' in solve ? link : html`<code>${solve.command}</code>`}</p>`;
  });
  return renderList('Needs attention', 'bad', rows);
}

/** Guide of a new service, until all its steps are done. */
function renderSetup({ environment, providers, hasSession, endpoints, hasKey }: AttentionFacts): Html | false {
  const here = ` --environment ${environment}`;
  const order = ' --product "Field guide" --amount 49.99 --customer buyer@example.com';
  const checkout = environment === 'sandbox' ? 'trigger payment.paid' : `checkout create${order}${here}`;
  type Step = [isDone: boolean, text: string, command: string];
  // Sandbox has the simulated provider.
  const connect: Step = [providers.length > 0, 'Connect a provider: docs/providers.md.', 'providers check'];
  const steps: Step[] = [
    ...(environment === 'production' ? [connect] : []),
    [hasSession, 'Make a checkout, and see its payment here.', checkout],
    [endpoints.length > 0, 'Create a webhook endpoint.', `endpoints create --to https://shop.example/webhooks${here}`],
    [hasKey, 'Create an API key.', `keys create --name "Shop backend" --scope write${here}`],
  ];
  if (steps.every(([isDone]) => isDone)) return false;
  const rows = steps.map(([isDone, text, command]) => {
    return html`${text} ${isDone ? status('done', 'good') : html`<p><code>tillway ${command}</code></p>`}`;
  });
  return renderList('Set up this service', '', rows);
}

function renderList(title: string, mood: string, rows: readonly HtmlValue[]): Html {
  return html`<section class="panel steps ${mood}" aria-label="${title}">
    <h2>${title}</h2>
    <ol>
      ${rows.map((row) => html`<li>${row}</li>`)}
    </ol>
  </section>`;
}

type Period = Awaited<ReturnType<typeof readPeriod>>;

function renderPeriod(period: Period): Html {
  const { days, range, view, steps, countedUntil, plots } = period;
  const place = `Last ${range}, ${view.zone}`;
  const links = Object.entries(RANGES).map(
    ([value, name]) => html`<a href="?days=${value}" ${value === days && html`aria-current="true"`}>${name}</a>`,
  );
  const counted =
    countedUntil !== null && html`Counted up to ${zonedTime(countedUntil, view.zone)}; later sales are being counted.`;
  return html`<nav class="ranges" aria-label="Range">${links}</nav>
    <p class="small">${place}: from ${timeText(steps[0]!.time, view.zone, view.step)} to now. ${counted}</p>
    ${renderFigures(period)}
    <div class="plots">${plots.map((plot) => renderPlot(plot, view, place))}</div>`;
}

type Figure = (sales: readonly SalesSum[]) => number | null;

function renderFigures({ sales, before, view: { showsMoney } }: Period): Html {
  const text = showsMoney ? moneyText : countText;
  const sum =
    (kind: string): Figure =>
    (of) =>
      totalOf(of, kind)[showsMoney ? 'total' : 'count'];
  const success: Figure = (of) => shareOfPaid(outcomesOf(of));
  const figure = (name: string, valueOf: Figure, write: (value: number) => string) => {
    const [now, then] = [sales, before].map(valueOf).map((value) => (value === null ? 'none' : write(value)));
    return html`<div>
      <dt>${name}</dt>
      <dd class="figure">${now}</dd>
      <dd class="small">${then} in the period before</dd>
    </div>`;
  };
  return html`<dl class="figures">
    ${figure('Paid', sum('paid'), text)} ${showsMoney && figure('Net', netOf, text)}
    ${figure('Success', success, percentText)} ${figure('Refunded', sum('refunded'), text)}
  </dl>`;
}
