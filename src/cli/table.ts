import { type Paint, withoutStyle } from './command-context.ts';
import { type Cell, plain } from './cells.ts';

type Row = readonly Cell[];

// Amounts are right-aligned.
const AMOUNT = /^-?\d+\.\d\d USD$/;
// Ids are never omitted, because users copy them into the next command.
const ID = /^[a-z]{2,4}_\w{16,}$/;
const GAP = '  ';

/** Formats rows under headings. Omits empty columns, and columns that do not fit the terminal. */
export function table(headings: readonly string[], rows: readonly Row[], paint: Paint = withoutStyle): string {
  if (rows.length === 0) return 'None.\n';
  const growing = growingTable(headings, paint);
  return growing.add(rows) + growing.end();
}

/** A table that is printed while its rows arrive. */
export interface GrowingTable {
  /** Formats these rows, with headings above the first rows. Columns can only grow wider. */
  add(rows: readonly Row[]): string;
  /** Returns the line below the table, which names the columns that do not fit the terminal. */
  end(): string;
}

/** Creates a table that omits columns from the right if the terminal is too narrow, but never ids. */
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
      // The first rows decide which columns are omitted, so that later rows have the same columns.
      if (widths === undefined) leftOut = tooMany(grown, rows, paint.columns);
      widths = grown;
      const shown = grown.map((width, column) => (leftOut.has(column) ? 0 : width));
      return lines.map((row) => lineOf(row, shown, paint)).join('');
    },
    end() {
      const names = headings.filter((_, column) => leftOut.has(column) && widths![column]! > 0);
      return names.length === 0 ? '' : `${paint('dim', `omitted columns: ${names.join(' ')}`)}\n`;
    },
  };
}

/** The columns that do not fit the terminal. */
function tooMany(widths: readonly number[], rows: readonly Row[], columns = Infinity): Set<number> {
  const leftOut = new Set<number>();
  for (let column = widths.length - 1; column > 0; column--) {
    const shown = widths.filter((width, index) => width > 0 && !leftOut.has(index));
    const total = shown.reduce((sum, width) => sum + width, 0) + GAP.length * (shown.length - 1);
    if (total <= columns) break;
    if (!rows.some((row) => ID.test(textOf(row[column]!)))) leftOut.add(column);
  }
  return leftOut;
}

function lineOf(row: Row, widths: readonly number[], paint: Paint): string {
  const cells = row.flatMap((cell, column) => (widths[column]! > 0 ? [aligned(cell, widths[column]!, paint)] : []));
  return `${cells.join(GAP).trimEnd()}\n`;
}

function aligned(cell: Cell, width: number, paint: Paint): string {
  const text = textOf(cell);
  const space = ' '.repeat(Math.max(0, width - text.length));
  return AMOUNT.test(text) ? `${space}${painted(cell, paint)}` : `${painted(cell, paint)}${space}`;
}

/** Formats name and value pairs, one per line; omits empty values. */
export function nameValueLines(
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
