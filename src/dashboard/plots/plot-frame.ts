import type { ShareInterval } from '../../domain/statistics.ts';
import { Html, type HtmlValue, escapeText, html } from '../../html/html.ts';
import { countText, moneyText, percentText } from '../components/figures.ts';
import { table } from '../components/parts.ts';
import { timeText } from '../components/time.ts';

/** Settings of all plots of a page. */
export interface PlotView {
  zone: string;
  step: 'hour' | 'day' | 'week';
  /** False for roles that see counts only. */
  showsMoney: boolean;
  /** Label of a route. */
  nameOf(route: string): string;
}

/** A number of a plot. Times are instants, amounts are cents, shares are from 0 to 1. */
interface Cell {
  kind: 'text' | 'time' | 'count' | 'money' | 'share';
  name: string;
  value: string | number | null;
  /** Length of its bar on an axis from 0 to 1, if it has one; with an interval, it is a mark on the axis. */
  part: number | undefined;
  interval: ShareInterval | undefined;
}
export type Cells = readonly Cell[];

/** A plot: a drawing, and the same numbers. */
export interface Plot {
  /** Prefix of the ids of its elements. */
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

/** Width of every plot in units of its view box. */
export const WIDTH = 480;

export function cell(
  kind: Cell['kind'],
  name: string,
  value: Cell['value'],
  part?: number,
  interval?: ShareInterval,
): Cell {
  return { kind, name, value, part, interval };
}

/** The plot in a panel; `note` is the text between title and drawing. */
export function renderPlot({ id, question, text, height, drawing, numbers }: Plot, view: PlotView, note: string): Html {
  const shown = (cells: Cells) => cells.filter(({ kind }) => view.showsMoney || kind !== 'money');
  const columns = shown(numbers[0] ?? []).map(({ name, kind }, index) => ({
    name,
    isNumber: kind !== 'text' && kind !== 'time',
    cell: (row: Cells) => textOf(row[index]!, view),
  }));
  const box = { class: 'drawing', viewBox: `0 0 ${WIDTH} ${height}`, role: 'img' };
  const names = [svg('title', { id: `${id}-title` }, question), svg('desc', { id: `${id}-text` }, text)];
  return html`<section class="panel plot" id="${id}">
    <h2>${question}</h2>
    <p class="small">${note}</p>
    ${svg('svg', { ...box, 'aria-labelledby': `${id}-title ${id}-text` }, names, drawing)}
    <details id="${id}-numbers">
      <summary>Numbers</summary>
      <p class="small">${text}</p>
      <div class="numbers" tabindex="0" role="region" aria-label="${question}">
        ${table(question, columns, numbers.map(shown))}
      </div>
    </details>
  </section>`;
}

const WRITERS = { count: countText, money: moneyText, share: percentText, text: String };

export function textOf({ kind, value }: Cell, { zone, step }: PlotView): string {
  if (typeof value !== 'number') return value ?? '-';
  return kind === 'time' ? timeText(value, zone, step) : WRITERS[kind](value);
}

/** An SVG element. Names are constants of this program; values are escaped, and coordinates have one decimal. */
export function svg(name: string, attributes: Record<string, string | number>, ...children: HtmlValue[]): Html {
  let markup = `<${name}`;
  for (const key in attributes) {
    const value = attributes[key]!;
    markup += ` ${key}="${typeof value === 'number' ? Math.round(value * 10) / 10 : escapeText(value)}"`;
  }
  return new Html(`${markup}>${html`${children}`.markup}</${name}>`);
}

export function label(x: number, y: number, text: HtmlValue, anchor = 'start', kind = ''): Html {
  return svg('text', { x, y, 'text-anchor': anchor, class: kind }, text);
}
