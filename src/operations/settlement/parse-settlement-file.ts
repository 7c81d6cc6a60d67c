import type * as csv from 'csv-parse/sync';
import { GatewayError } from '../../domain/gateway-error.ts';
import {
  SETTLEMENT_COLUMNS,
  type SettlementCells,
  type SettlementColumn,
  type SettlementLine,
  type CellFault,
  headerFault,
  isKnown,
  readLine,
} from '../../domain/settlement-file.ts';

/** Maximum number of lines, without the header. */
const MAX_LINES = 10_000;
/** Limit of the file size, in bytes. */
export const MAX_FILE_BYTES = 1024 * 1024;

/** One line of a settlement file, with its line number: the header is line 1. */
export interface FileLine {
  number: number;
  /** Raw cells, for the report. */
  cells: SettlementCells;
  read: SettlementLine | { fault: CellFault };
}

interface Row {
  record: string[];
  /** Number of the line on which the record ends. */
  number: number;
}

const SUGGESTION = `Send CSV with a header line: payment_id or reference, amount, currency, and settled_at and cost if you have them; at most ${MAX_LINES} lines.`;

/** Cells of a CSV file. */
export interface Table {
  /** Names of the columns, in small letters. */
  names: string[];
  rows: Row[];
}

/** Parses a CSV file with a header. Throws GatewayError `invalid_input` for another file. */
export async function readTable(text: string): Promise<Table> {
  const [header, ...rows] = rowsOf(text, await import('csv-parse/sync'));
  if (!header) throw refused('The file is empty.');
  if (rows.length > MAX_LINES) throw refused(`The file has ${rows.length} lines, and ${MAX_LINES} is the limit.`);
  return { names: header.record.map((name) => name.toLowerCase()), rows };
}

/** Reads a settlement file. Throws GatewayError `invalid_input` for another format. An invalid line has a fault in `read`. */
export function readSettlementFile(
  { names, rows }: Table,
  now: number,
): { lines: FileLine[]; ignoredColumns: string[] } {
  const problem = headerFault(names);
  if (problem !== undefined) throw refused(problem);
  if (rows.length === 0) throw refused('The file has a header and no line.');
  const places = SETTLEMENT_COLUMNS.map((column) => [column, names.indexOf(column)] as const);
  const lines = rows.map((row) => lineOf(row, places, names.length, now));
  return { lines, ignoredColumns: names.filter((name) => !isKnown(name)) };
}

function lineOf(
  { record, number }: Row,
  places: readonly (readonly [SettlementColumn, number])[],
  width: number,
  now: number,
): FileLine {
  const cells = Object.fromEntries(places.map(([column, index]) => [column, record[index] || null])) as SettlementCells;
  const { length } = record;
  const message = `cannot be read: the line has ${length} cells, and the header ${width}`;
  const read = length === width ? readLine(cells, now) : { fault: { column: 'amount' as const, message } };
  return { number, cells, read };
}

function rowsOf(text: string, { CsvError, parse }: typeof csv): Row[] {
  if (text.includes('\0')) throw refused('The file has a NUL character in it.');
  try {
    const parsed = parse(text, {
      bom: true,
      info: true,
      record_delimiter: ['\r\n', '\n'],
      relax_column_count: true,
      skip_empty_lines: true,
      skip_records_with_empty_values: true,
      trim: true,
    }) as unknown as { record: string[]; info: { lines: number } }[];
    return parsed.map(({ record, info }) => ({ record, number: info.lines }));
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw refused(`The file is not CSV: ${error.message}.`);
  }
}

function refused(message: string): GatewayError {
  return new GatewayError('invalid_input', message, { suggestion: SUGGESTION });
}
