import { type Paint, withoutStyle } from './command-context.ts';
import { type Cell, plain } from './cells.ts';

type Row = readonly Cell[];

// Amounts are aligned at their last digit.
const AMOUNT = /^-?\d+\.\d\d USD$/;
// Users copy ids into the next command, so they are never left out.
const ID = /^[a-z]{2,4}_\w{16,}$/;
const GAP = '  ';
/** The minimum width of a text that is broken into lines. */
const MIN_TEXT_WIDTH = 20;

/** Rows under headings; columns are as wide as their widest entry, and empty columns are left out. */
export function table(headings: readonly string[], rows: readonly Row[], paint: Paint = withoutStyle): string {
  if (rows.length === 0) return 'None.\n';
  const growing = growingTable(headings, paint);
  return growing.add(rows) + growing.end();
}

/** A table that is printed while its rows arrive. */
export interface GrowingTable {
  /** The lines of these rows, with headings above the first ones; columns never get narrower. */
  add(rows: readonly Row[]): string;
  /** The line below the table: the names of the columns that do not fit the terminal. */
  end(): string;
}

/**
 * On a narrow terminal, a text in the last column is broken at its words. If that is not enough, columns are left out from
 * the right, but never ids.
 */
export function growingTable(headings: readonly string[], paint: Paint): GrowingTable {
  const titles = headings.map((text): Cell => ({ text, style: 'bold' }));
  let widths: number[] | undefined;
  let leftOut = new Set<number>();
  return {
    add(rows) {
      const lines = widths ? rows : [titles, ...rows];
      const grown = headings.map((_, column) => {
        const before = widths?.[column] ?? 0;
        const isUsed = before > 0 || rows.some((row) => textOf(row[column]!) !== '');
        return isUsed ? Math.max(before, ...lines.map((row) => textOf(row[column]!).length)) : 0;
      });
      // The columns of the first rows decide, so that later rows are aligned with them.
      if (widths === undefined) leftOut = tooMany(grown, rows, paint.columns);
      widths = grown;
      const shown = grown.map((width, column) => (leftOut.has(column) ? 0 : width));
      return lines.map((row) => linesOf(row, shown, paint)).join('');
    },
    end() {
      const names = headings.filter((_, column) => leftOut.has(column) && widths![column]! > 0);
      return names.length === 0 ? '' : `${paint('dim', `wider terminal, or --json: ${names.join(' ')}`)}\n`;
    },
  };
}

/** The columns that do not fit the terminal. */
function tooMany(widths: readonly number[], rows: readonly Row[], columns = Infinity): Set<number> {
  const leftOut = new Set<number>();
  const least = widths.map((width, column) => {
    const isText = column === widths.length - 1 && rows.some((row) => textOf(row[column]!).includes(' '));
    return isText ? Math.min(width, MIN_TEXT_WIDTH) : width;
  });
  for (let column = widths.length - 1; column > 0; column--) {
    const shown = least.filter((width, index) => width > 0 && !leftOut.has(index));
    if (widthOf(shown) <= columns) break;
    if (!rows.some((row) => ID.test(textOf(row[column]!)))) leftOut.add(column);
  }
  return leftOut;
}

function widthOf(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, 0) + GAP.length * (widths.length - 1);
}

/** The lines of one row: more than one if its last text does not fit one line. */
function linesOf(row: Row, widths: readonly number[], paint: Paint): string {
  const used = row.map((cell, column) => ({ cell, width: widths[column]! })).filter(({ width }) => width > 0);
  const last = used.pop();
  if (!last) return '\n';
  const head = used.map(({ cell, width }) => aligned(cell, width, paint) + GAP).join('');
  const indent = widthOf([...used.map(({ width }) => width), 0]);
  const room = (paint.columns ?? Infinity) - indent;
  // If there is no room even for the minimum width, the terminal breaks the line.
  const [first = '', ...rest] =
    last.width > room && room >= MIN_TEXT_WIDTH ? brokenAtWords(textOf(last.cell), room) : [textOf(last.cell)];
  const cell = (text: string): Cell => (typeof last.cell === 'string' ? text : { ...last.cell, text });
  const width = last.width > room ? 0 : last.width;
  const lines = [
    head + aligned(cell(first), width, paint),
    ...rest.map((text) => `${' '.repeat(indent)}${painted(cell(text), paint)}`),
  ];
  return lines.map((line) => `${line.trimEnd()}\n`).join('');
}

function aligned(cell: Cell, width: number, paint: Paint): string {
  const text = textOf(cell);
  const space = ' '.repeat(Math.max(0, width - text.length));
  return AMOUNT.test(text) ? `${space}${painted(cell, paint)}` : `${painted(cell, paint)}${space}`;
}

/** Lines of at most that many characters; a longer word gets a separate line. */
export function brokenAtWords(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + 1 + word.length <= width) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** Facts about one record, one a line; empty facts are left out. */
export function facts(
  pairs: readonly (readonly [name: string, value: Cell | null | undefined])[],
  paint: Paint,
): string {
  const rows = pairs.filter(
    (pair): pair is [string, Cell] => pair[1] !== null && pair[1] !== undefined && textOf(pair[1]) !== '',
  );
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `${paint('dim', name.padEnd(width))}  ${painted(value, paint)}\n`).join('');
}

function painted(cell: Cell, paint: Paint): string {
  return typeof cell === 'string' ? plain(cell) : paint(cell.style, plain(cell.text));
}

function textOf(cell: Cell): string {
  return plain(typeof cell === 'string' ? cell : cell.text);
}
