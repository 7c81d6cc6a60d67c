import { type Paint, withoutStyle } from './context.ts';
import { type Cell, plain } from './words.ts';

type Row = readonly Cell[];

// Amounts stand under each other at their last figure.
const AMOUNT = /^-?\d+\.\d\d USD$/;
// What is copied into the next command is never left out.
const ID = /^[a-z]{2,4}_\w{16,}$/;
const GAP = '  ';
/** A text that is broken into lines shorter than this is no longer read. */
const MIN_TEXT_WIDTH = 20;

/** Rows under headings, columns as wide as their widest entry; a column without any entry is left out. */
export function table(headings: readonly string[], rows: readonly Row[], paint: Paint = withoutStyle): string {
  if (rows.length === 0) return 'None.\n';
  const growing = growingTable(headings, paint);
  return growing.add(rows) + growing.end();
}

/** A table that is written while its rows arrive. */
export interface GrowingTable {
  /** The lines of these rows: headings above the first alone, columns never narrower than they were. */
  add(rows: readonly Row[]): string;
  /** What is to be said under it: which columns the terminal had no room for. */
  end(): string;
}

/**
 * On a terminal that is too narrow, a text in the last column is broken at its words; where that does not help, columns
 * are left out from the right, ids never.
 */
export function growingTable(headings: readonly string[], paint: Paint): GrowingTable {
  const titles = headings.map((text): Cell => ({ text, style: 'bold' }));
  let widths: number[] | undefined;
  let leftOut = new Set<number>();
  return {
    add(rows) {
      const grown = grownWidths(widths ?? headings.map(() => 0), rows, titles, widths === undefined);
      // Those that were shown before stay where they are.
      if (widths === undefined) leftOut = tooMany(grown, rows, paint.columns);
      const lines = widths ? rows : [titles, ...rows];
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

function grownWidths(before: readonly number[], rows: readonly Row[], titles: Row, isFirst: boolean): number[] {
  const lines = isFirst ? [titles, ...rows] : rows;
  return before.map((width, column) => {
    const used = width > 0 || rows.some((row) => textOf(row[column]!) !== '');
    return used ? Math.max(width, ...lines.map((row) => textOf(row[column]!).length)) : 0;
  });
}

/** The columns that a terminal has no room for. */
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

/** One row: one line, or more where its last text has no room on one. */
function linesOf(row: Row, widths: readonly number[], paint: Paint): string {
  const used = row.map((cell, column) => ({ cell, width: widths[column]! })).filter(({ width }) => width > 0);
  const last = used.pop();
  if (!last) return '\n';
  const head = used.map(({ cell, width }) => aligned(cell, width, paint) + GAP).join('');
  const indent = widthOf([...used.map(({ width }) => width), 0]);
  const room = (paint.columns ?? Infinity) - indent;
  // Where even that is not there, the terminal breaks the line as it likes.
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

/** Lines of at most that many characters; a word that is longer stands on a line of its own, whole. */
export function brokenAtWords(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + 1 + word.length <= width) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** Facts about one thing, one a line, under each other; those without a text are left out. */
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
