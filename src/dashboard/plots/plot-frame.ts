import { timestamp } from '../../contract/resource-fields.ts';
import { amountFromCents } from '../../domain/money.ts';
import type { ShareInterval } from '../../domain/statistics.ts';
import { type Html, type HtmlValue, html } from '../../html/html.ts';
import { countText, moneyText, percentText } from '../components/figures.ts';
import { table } from '../components/parts.ts';
import { timeText } from '../components/time.ts';
import { WIDTH, svg } from './svg.ts';

/** Settings of all plots of a page. */
export interface PlotView {
  zone: string;
  step: 'hour' | 'day' | 'week';
  /** False for roles that see counts only. */
  showsMoney: boolean;
  /** True if failures by buyers and banks count in the success rate. */
  countsAll: boolean;
  /** Label of a route. */
  nameOf(route: string): string;
}

/** A bar on an axis from 0 to 1, or an estimate with its interval. */
export interface Bar {
  part: number;
  interval?: ShareInterval;
  /** Fill of the bar, if it differs from the style sheet. */
  fill?: string;
}

/** A number of a plot. Times are instants, amounts are cents, shares are from 0 to 1. */
interface Cell {
  kind: 'text' | 'time' | 'count' | 'money' | 'share';
  name: string;
  value: string | number | null;
  bar?: Bar | undefined;
}
export type Cells = readonly Cell[];

/** A plot: a drawing, and the same numbers. */
export interface Plot {
  /** Name of the plot in addresses, and prefix of the ids of its elements. */
  id: string;
  /** Question that the plot answers: its title. */
  question: string;
  /** Explanation of the drawing. */
  text: string;
  height: number;
  drawing: HtmlValue;
  /** Rows with the same columns. */
  numbers: readonly Cells[];
}

export function cell(kind: Cell['kind'], name: string, value: Cell['value'], bar?: Bar): Cell {
  return { kind, name, value, bar };
}

/** The plot in a panel. `csv` is the address of its numbers as CSV, `note` the text between title and drawing. */
export function renderPlot(plot: Plot, view: PlotView, csv: string, note: Html): Html {
  const { id, question, text, height, drawing } = plot;
  const [numbers, box] = [numbersOf(plot, view), { class: 'drawing', viewBox: `0 0 ${WIDTH} ${height}`, role: 'img' }];
  const columns = (numbers[0] ?? []).map(({ name, kind }, index) => ({
    name,
    isNumber: kind !== 'text' && kind !== 'time',
    cell: (row: Cells) => textOf(row[index]!, view),
  }));
  const names = [svg('title', { id: `${id}-title` }, question), svg('desc', { id: `${id}-text` }, text)];
  return html`<section class="panel plot" id="${id}">
    <h2>${question}</h2>
    <p class="small">${note}</p>
    ${svg('svg', { ...box, 'aria-labelledby': `${id}-title ${id}-text` }, names, drawing)}
    <details id="${id}-numbers">
      <summary>Numbers</summary>
      <p class="small">${text} <a href="${csv}">Download as CSV</a></p>
      <div class="numbers" tabindex="0" role="region" aria-label="${question}">
        ${table(question, columns, numbers)}
      </div>
    </details>
  </section>`;
}

/** The numbers without sums of money for roles that see counts only. */
function numbersOf({ numbers }: Plot, { showsMoney }: PlotView): Cells[] {
  return numbers.map((cells) => cells.filter(({ kind }) => showsMoney || kind !== 'money'));
}

export function textOf({ kind, value }: Cell, { zone, step }: PlotView): string {
  if (typeof value !== 'number') return value ?? '–';
  const writers = { count: countText, money: moneyText, share: percentText, text: String };
  return kind === 'time' ? timeText(value, zone, step) : writers[kind](value);
}

/** The numbers as CSV (RFC 4180). Times are in UTC and in the reporting zone, amounts are dollars. */
export async function numbersCsv(plot: Plot, view: PlotView): Promise<string> {
  const { stringify } = await import('csv-stringify/sync');
  const numbers = numbersOf(plot, view);
  const isTime = ({ kind }: Cell) => kind === 'time';
  const head = (numbers[0] ?? []).flatMap((one) => [one.name, ...(isTime(one) ? [`${one.name} (${view.zone})`] : [])]);
  const rows = numbers.map((cells) =>
    cells.flatMap((one) => [csvText(one), ...(isTime(one) ? [textOf(one, view)] : [])]),
  );
  // Cells that spreadsheets would take for formulas get an apostrophe: https://owasp.org/www-community/attacks/CSV_Injection
  return stringify([head, ...rows], { record_delimiter: 'windows', escape_formulas: true });
}

function csvText({ kind, value }: Cell): string {
  if (typeof value !== 'number') return value ?? '';
  if (kind === 'money') return amountFromCents(value).toFixed(2);
  return kind === 'time' ? timestamp(value) : String(value);
}
