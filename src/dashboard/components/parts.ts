import { type Html, type HtmlValue, html } from '../../html/html.ts';

/** Colour and icon of a status, from the style sheet. */
export type Mood = 'good' | 'bad' | 'waiting' | 'neutral';

/** A status as a word with an icon. */
export function status(word: string, mood: Mood): Html {
  return html`<span class="status ${mood}">${word}</span>`;
}

/** An email address or the name of an action: where it does not fit, it breaks after `@` and dots, and before capitals. */
export function breakable(text: string): Html {
  const parts = text.split(/(?<=[@.])|(?=[A-Z])/);
  return html`<bdi>${parts.map((part, index) => html`${index > 0 && html`<wbr />`}${part}`)}</bdi>`;
}

/** A whole id with a button that copies it. */
export function idWithCopy(id: string): Html {
  return html`<code>${id}</code>
    <button class="copy" type="button" data-copy="${id}" aria-label="Copy ${id}">Copy</button>`;
}

/** Names with their values; a value of `false` or `null` leaves the row out. */
export function facts(rows: readonly (readonly [name: string, value: HtmlValue])[]): Html {
  const shown = rows.filter(([, value]) => value !== false && value !== null && value !== undefined);
  return html`<dl class="facts">
    ${shown.map(
      ([name, value]) =>
        html`<dt>${name}</dt>
          <dd>${value}</dd>`,
    )}
  </dl>`;
}

export interface Column<Row> {
  name: string;
  /** True for amounts and counts, which are aligned at their end. */
  isNumber?: boolean;
  cell(row: Row): HtmlValue;
}

/** A table whose rows are cards on phones. */
export function table<Row>(caption: string, columns: readonly Column<Row>[], rows: readonly Row[]): Html {
  const head = columns.map(({ name, isNumber }) => html`<th scope="col" class="${isNumber && 'number'}">${name}</th>`);
  // The attributes of a column are the same in all rows.
  const own = columns.map(({ name, isNumber }) => html`class="${isNumber && 'number'}" data-label="${name}"`);
  const cellsOf = (row: Row) =>
    columns.map((column, index) => html`<td ${own[index]}><span>${column.cell(row)}</span></td>`);
  return html`<table class="table">
    <caption>
      ${caption}
    </caption>
    <thead>
      <tr>
        ${head}
      </tr>
    </thead>
    <tbody>
      ${rows.map(
        (row) =>
          html`<tr>
            ${cellsOf(row)}
          </tr>`,
      )}
    </tbody>
  </table>`;
}
