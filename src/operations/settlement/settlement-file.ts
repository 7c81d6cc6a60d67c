import { parse } from 'csv-parse/sync';
import { GatewayError } from '../../domain/errors.ts';
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

/** How many lines a file may have beside its header. */
export const MAX_LINES = 10_000;
/** How large a file may be, in bytes. */
export const MAX_FILE_BYTES = 1024 * 1024;

/** One line of a file, with its number there: the header is line 1. */
export interface FileLine {
  number: number;
  /** As it stands in the file, for the report. */
  cells: SettlementCells;
  read: SettlementLine | { fault: CellFault };
}

export interface SettlementFile {
  lines: FileLine[];
  /** Columns that mean nothing here. */
  ignoredColumns: string[];
}

// Of a provider's own file many mean nothing here; more than this no file has.
const MAX_COLUMNS = 100;

interface Parsed {
  record: string[];
  info: { lines: number };
}

const SUGGESTION = `Send CSV with a header line: payment_id or reference, amount, currency, and settled_at if you have it; at most ${MAX_LINES} lines of ${MAX_COLUMNS} columns.`;

/** Throws GatewayError `invalid_input` for what is no such file; what is wrong with one line, that line says. */
export function readSettlementFile(text: string, now: number): SettlementFile {
  const [header, ...rows] = rowsOf(text);
  if (!header) throw refused('The file is empty.');
  if (header.record.length > MAX_COLUMNS)
    throw refused(`The header has ${header.record.length} columns, and ${MAX_COLUMNS} are read.`);
  const names = header.record.map((name) => name.toLowerCase());
  const problem = headerFault(names);
  if (problem !== undefined) throw refused(problem);
  if (rows.length === 0) throw refused('The file has a header and no line.');
  if (rows.length > MAX_LINES) throw refused(`The file has ${rows.length} lines, and ${MAX_LINES} are taken at once.`);
  const places = SETTLEMENT_COLUMNS.map((column) => [column, names.indexOf(column)] as const);
  const lines = rows.map((row) => lineOf(row, places, names.length, now));
  return { lines, ignoredColumns: names.filter((name) => !isKnown(name)) };
}

function lineOf(
  { record, info }: Parsed,
  places: readonly (readonly [SettlementColumn, number])[],
  width: number,
  now: number,
): FileLine {
  const cells = Object.fromEntries(places.map(([column, index]) => [column, record[index] || null])) as SettlementCells;
  const { length } = record;
  const message = `cannot be told: the line has ${length} cells, and the header ${width}`;
  const read = length === width ? readLine(cells, now) : { fault: { column: 'amount' as const, message } };
  return { number: info.lines, cells, read };
}

function rowsOf(text: string): Parsed[] {
  if (text.includes('\0')) throw refused('The file has a NUL character in it.');
  try {
    return parse(text, {
      bom: true,
      info: true,
      relax_column_count: true,
      skip_empty_lines: true,
      skip_records_with_empty_values: true,
      trim: true,
    }) as unknown as Parsed[];
  } catch (error) {
    throw refused(`The file is not CSV: ${(error as Error).message}.`);
  }
}

function refused(message: string): GatewayError {
  return new GatewayError('invalid_input', message, { suggestion: SUGGESTION });
}
