import { plain } from './words.ts';

/** Rows under headings, columns as wide as their widest entry; a column without any entry is left out. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return 'None.\n';
  const used = headings.map((_, column) => column).filter((column) => rows.some((row) => row[column] !== ''));
  const all = [headings, ...rows].map((row) => used.map((column) => plain(row[column]!)));
  const widths = used.map((_, column) => Math.max(...all.map((row) => row[column]!.length)));
  const line = (row: readonly string[]) =>
    row
      .map((text, column) => text.padEnd(widths[column]!))
      .join('  ')
      .trimEnd();
  return `${all.map(line).join('\n')}\n`;
}
