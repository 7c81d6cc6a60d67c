import { type Paint, withoutStyle } from './context.ts';
import { type Cell, plain } from './words.ts';

// Amounts stand under each other at their last figure.
const AMOUNT = /^-?\d+\.\d\d USD$/;

/** Rows under headings, columns as wide as their widest entry; a column without any entry is left out. */
export function table(
  headings: readonly string[],
  rows: readonly (readonly Cell[])[],
  paint: Paint = withoutStyle,
): string {
  return rows.length === 0 ? 'None.\n' : growingTable(headings, paint)(rows);
}

/** The same page by page: headings above the first rows alone, columns never narrower than they were. */
export function growingTable(
  headings: readonly string[],
  paint: Paint,
): (rows: readonly (readonly Cell[])[]) => string {
  let widths: number[] | undefined;
  return (rows) => {
    const titles = headings.map((text): Cell => ({ text, style: 'bold' }));
    const lines = widths ? rows : [titles, ...rows];
    const before = widths ?? headings.map(() => 0);
    const grown = before.map((width, column) => {
      const used = width > 0 || rows.some((row) => textOf(row[column]!) !== '');
      return used ? Math.max(width, ...lines.map((row) => plain(textOf(row[column]!)).length)) : 0;
    });
    widths = grown;
    return lines.map((row) => `${lineOf(row, grown, paint)}\n`).join('');
  };
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

function lineOf(row: readonly Cell[], widths: readonly number[], paint: Paint): string {
  const used = row.map((cell, column) => ({ cell, width: widths[column]! })).filter(({ width }) => width > 0);
  const padded = used.map(({ cell, width }) => {
    const text = plain(textOf(cell));
    const space = ' '.repeat(width - text.length);
    return AMOUNT.test(text) ? `${space}${painted(cell, paint)}` : `${painted(cell, paint)}${space}`;
  });
  return padded.join('  ').trimEnd();
}

function painted(cell: Cell, paint: Paint): string {
  return typeof cell === 'string' ? plain(cell) : paint(cell.style, plain(cell.text));
}

function textOf(cell: Cell): string {
  return typeof cell === 'string' ? cell : cell.text;
}
