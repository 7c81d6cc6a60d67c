import type { Paint } from './command-context.ts';
import { nameValueLines, table } from './table.ts';
import { type Cell, dollars, secondsOf, statusCell } from './cells.ts';

/** Source of a cell: the name of a property, shown in its usual format, or a function of the record. Null is an empty cell. */
type Field<Item> = (keyof Item & string) | ((item: Item) => Cell | null | undefined);

/** Columns of a table by heading, in display order. */
export type Fields<Item> = Readonly<Record<string, Field<Item>>>;

/** Cells by name. A cell with the name of a property replaces its usual format, any other cell is added, and null omits the property. */
export type Cells<Item> = Readonly<Record<string, ((item: Item) => Cell | null | undefined) | null>>;

const AMOUNTS = new Set(['amount', 'expected', 'received', 'debit', 'credit', 'refundedAmount', 'refundPendingAmount']);
const STATUSES = new Set(['status', 'ledgerStatus', 'health']);
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$/;
/** Properties that are never shown. */
const NOT_SHOWN = new Set(['object', 'currency']);
const FIRST = ['id', 'status'];
const LAST = ['metadata', 'environment', 'created', 'updated'];

/** Formats a property of a record by its name and type. */
export function usualCell(name: string, value: unknown): Cell {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.every((each) => typeof each === 'string') ? value.join(', ') : '';
  if (typeof value === 'object') {
    const pairs = Object.entries(value as Record<string, string>).map(([key, each]) => `${key}=${each}`);
    return name === 'metadata' ? pairs.join(', ') : '';
  }
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (AMOUNTS.has(name)) return dollars(value as number);
  if (STATUSES.has(name)) return statusCell(value as string);
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return TIME.test(text) ? secondsOf(text) : text;
}

function fieldOf<Item>(cells: Cells<Item>, name: string): Field<Item> {
  return cells[name] ?? (name as keyof Item & string);
}

function cellOf<Item>(item: Item, field: Field<Item>): Cell {
  return typeof field === 'function' ? (field(item) ?? '') : usualCell(field, item[field]);
}

/** Label of a property: `nextAttemptAt` becomes `Next attempt at`. `one` names the record, and is the label of its id. */
function labelOf(property: string, one: string): string {
  const name = property === 'id' ? one : property;
  const words = name.replaceAll(/_|(?=[A-Z])/g, ' ').toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Creates a formatter that writes one record, with a line for each non-empty property or cell. `one` is the label of the id. */
export function showRecord<Item extends object>(
  one: string,
  cells: Cells<Item> = {},
): (item: Item, paint: Paint) => string {
  return (item, paint) => {
    const names = [...new Set([...FIRST, ...Object.keys(item), ...Object.keys(cells)])];
    const shown = names.filter((name) => !NOT_SHOWN.has(name) && cells[name] !== null);
    const ordered = shown.toSorted((a, b) => LAST.indexOf(a) - LAST.indexOf(b));
    const pairs = ordered.map((name) => [labelOf(name, one), cellOf(item, fieldOf(cells, name))] as const);
    return nameValueLines(pairs, paint);
  };
}

/** Names of the columns of a table, which are properties or cells of a record. */
export interface Columns<Item> {
  /** Singular name of the record: `payment`. */
  one: string;
  columns: readonly string[];
  /** Cells that replace or extend the properties of a record. */
  cells?: Cells<Item>;
}

export function columnsOf<Item>({ one, columns, cells = {} }: Columns<Item>): Fields<Item> {
  return Object.fromEntries(columns.map((name) => [labelOf(name, one).toUpperCase(), fieldOf(cells, name)]));
}

export function rowOf<Item>(columns: Fields<Item>, item: Item): Cell[] {
  return Object.values(columns).map((field) => cellOf(item, field));
}

/** Creates a formatter for a table of records. */
export function showTable<Item>(columns: Fields<Item>): (items: readonly Item[], paint?: Paint) => string {
  return (items, paint) =>
    table(
      Object.keys(columns),
      items.map((item) => rowOf(columns, item)),
      paint,
    );
}
