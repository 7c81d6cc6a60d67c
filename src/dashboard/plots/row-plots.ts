import { salesByReason, salesByRoute, shareOfPaid, totalOf } from '../../operations/sales-figures.ts';
import type { SalesSum } from '../../store/tables/sales-table.ts';
import { wilsonInterval } from '../../domain/statistics.ts';
import type { HtmlValue } from '../../html/html.ts';
import { countText, moneyText, percentText, words } from '../components/figures.ts';
import { type Cells, type Plot, type PlotView, WIDTH, cell, label, svg, textOf } from './plot-frame.ts';

const [ROW, GAP, BAR] = [72, 18, { y: 46, height: 12 }];
/** Characters of a name that leave room for the text at the end of its line. The numbers have the whole name. */
const NAME_LENGTH = 28;
const [MOST_ROUTES, MOST_REASONS] = [8, 6];

/** A row for each of the numbers: its first cell, `aside` at the end of the line, and the bars of its cells on common axes. */
function drawRows(numbers: readonly Cells[], aside: readonly HtmlValue[], view: PlotView) {
  if (numbers.length === 0) return { height: 64, drawing: label(WIDTH / 2, 38, 'None in this period.', 'middle') };
  const drawing = numbers.map((cells, row) => {
    const drawn = cells.filter(({ part }) => part !== undefined);
    const width = (WIDTH + GAP) / drawn.length - GAP;
    const bars = drawn.map((one, column) => {
      const [x, text] = [column * (width + GAP), `${one.name} ${textOf(one, view)}`];
      return [label(x, 40, text, 'start', 'value'), drawBar(one, x, width)];
    });
    const name = textOf(cells[0]!, view);
    const short = name.length > NAME_LENGTH ? `${name.slice(0, NAME_LENGTH - 1).toWellFormed()}…` : name;
    const head = [label(0, 18, short, 'start', 'name'), label(WIDTH, 18, aside[row] ?? '', 'end')];
    return svg('g', { transform: `translate(0 ${row * ROW})` }, head, bars);
  });
  return { height: numbers.length * ROW, drawing };
}

function drawBar({ part = 0, interval }: Cells[number], x: number, width: number): HtmlValue {
  const end = Math.max(0, Math.min(1, part)) * width;
  const track = svg('rect', { class: 'track', x, width, ...BAR });
  if (!interval) return [track, svg('rect', { class: 'bar', x, width: end, ...BAR })];
  const band = { x: x + interval.low * width, width: (interval.high - interval.low) * width, ...BAR };
  return [track, svg('rect', { class: 'band', ...band }), svg('circle', { class: 'mark', cx: x + end, cy: 52, r: 5 })];
}

/** A row per route: attempts, success with its interval and in the period before, and share of all attempts. */
export function routesPlot(sales: readonly SalesSum[], before: readonly SalesSum[], view: PlotView): Plot {
  const routes = salesByRoute(sales);
  const earlier = new Map(salesByRoute(before).map(({ route, outcomes }) => [route, shareOfPaid(outcomes)]));
  const most = Math.max(1, ...routes.map(({ started }) => started));
  const all = Math.max(1, totalOf(sales, 'started').count);
  const rows = routes.map(({ route, started, outcomes, lost }) => {
    const { paid, failed } = outcomes;
    const [success, then] = [shareOfPaid(outcomes), earlier.get(route) ?? null];
    const interval = wilsonInterval(paid, paid + failed);
    const worse = success !== null && then !== null && interval.high < then && `worse: ${percentText(then)} before`;
    const aside = [worse, view.showsMoney && `lost ${moneyText(lost)}`].filter((part) => part !== false).join(', ');
    const cells = [
      cell('text', 'Route', view.nameOf(route)),
      cell('text', 'Id', route),
      cell('count', 'Attempts', started, started / most),
      cell('share', 'Success', success, success ?? 0, interval),
      cell('share', 'Before', then),
      cell('share', 'Share', started / all, started / all),
      cell('count', 'Paid', paid),
      cell('count', 'Failed', failed),
      cell('money', 'Lost', lost),
    ];
    return { aside, cells };
  });
  const numbers = rows.map(({ cells }) => cells);
  return {
    id: 'routes',
    question: 'Which route?',
    text: `Attempts, success with its interval of 95 %, and share of all attempts of each route. A route is worse if its interval is below its success in the period before. The route whose failures lost the largest amount is first. The drawing has at most ${MOST_ROUTES} routes.`,
    ...drawRows(
      numbers.slice(0, MOST_ROUTES),
      rows.map(({ aside }) => aside),
      view,
    ),
    numbers,
  };
}

/** Parties that cause failures. */
const FAULTS: Record<string, string> = {
  buyer: 'the buyer',
  issuer: 'the bank',
  route: 'the provider',
  gateway: 'this service',
};

/** Bars by reason: the six most frequent ones and the rest. */
export function reasonsPlot(sales: readonly SalesSum[], view: PlotView): Plot {
  const reasons = salesByReason(sales);
  const rest = reasons.slice(MOST_REASONS);
  const others = { source: '', code: `other reasons (${rest.length})`, count: 0, amount: 0 };
  for (const { count } of rest) others.count += count;
  const most = Math.max(others.count, ...reasons.map(({ count }) => count));
  const faultOf = ({ source }: typeof others) => FAULTS[source] ?? 'several or unknown';
  const cellsOf = (reason: typeof others) => [
    cell('text', 'Reason', words(reason.code)),
    cell('text', 'Caused by', faultOf(reason)),
    cell('count', 'Failed', reason.count, reason.count / most),
    cell('money', 'Amount', reason.amount),
  ];
  const shown = [...reasons.slice(0, MOST_REASONS), ...(rest.length > 0 ? [others] : [])];
  const aside = shown.map((reason) => `by ${faultOf(reason)}`);
  return {
    id: 'reasons',
    question: 'Why do payments fail?',
    text: 'Failed attempts by reason, and who caused the failure: the buyer, the bank of the buyer, the provider or this service.',
    ...drawRows(shown.map(cellsOf), aside, view),
    numbers: reasons.map(cellsOf),
  };
}

/** Checkouts created, attempts started and payments paid, with the loss after each. */
export function stagesPlot(sales: readonly SalesSum[], view: PlotView): Plot {
  const failed = totalOf(sales, ({ kind }) => kind.startsWith('failed/')).count;
  const stages = [
    ['Checkouts created', totalOf(sales, 'created'), `${countText(totalOf(sales, 'expired').count)} expired unstarted`],
    ['Attempts started', totalOf(sales, 'started'), `${countText(Math.max(0, failed))} failed`],
    ['Paid', totalOf(sales, 'paid'), null],
  ] as const;
  const most = Math.max(1, ...stages.map(([, { count }]) => count));
  const numbers = stages.map(([stage, { count, amount }, loss]) => [
    cell('text', 'Stage', stage),
    cell('count', 'In all', count, count / most),
    cell('text', 'Of these', loss),
    cell('money', 'Amount', amount),
  ]);
  const aside = stages.map(([, , loss]) => loss);
  return {
    id: 'stages',
    question: 'Where do buyers leave?',
    text: 'Checkouts created, attempts started and payments paid, with the loss after each. A checkout can have several attempts.',
    ...drawRows(numbers, aside, view),
    numbers,
  };
}
