import type { Paint } from './command-context.ts';
import { facts, table } from './table.ts';
import { type Cell, dollars, metadataFact, secondsOf, statusCell } from './cells.ts';

/** The value of a column or fact: a property in its usual format, or a function of the record. Null is an empty cell. */
type Field<Item> = (keyof Item & string) | ((item: Item) => Cell | null | undefined);

/** Columns of a table or facts about a record, by heading, in their order. */
export type Fields<Item> = Readonly<Record<string, Field<Item>>>;

const FORMATS: Record<string, (value: never) => Cell | null> = {
  status: statusCell,
  ledgerStatus: statusCell,
  amount: dollars,
  expected: dollars,
  received: dollars,
  created: secondsOf,
  updated: secondsOf,
  resolvedAt: secondsOf,
  expiresAt: secondsOf,
  nextAttemptAt: secondsOf,
  disabledAt: secondsOf,
  failingSince: secondsOf,
  lastSuccessAt: secondsOf,
  settledAt: secondsOf,
  lastUsedAt: secondsOf,
  started: secondsOf,
  from: secondsOf,
  until: secondsOf,
  attempts: String,
  number: String,
  statusCode: String,
  actions: (names: readonly string[]) => names.join(', '),
  metadata: metadataFact,
};

function cellOf<Item>(item: Item, field: Field<Item>): Cell {
  if (typeof field === 'function') return field(item) ?? '';
  const value = item[field];
  if (value === null) return '';
  const format = FORMATS[field];
  return format ? (format(value as never) ?? '') : (value as Cell);
}

/** Facts about one record, a line each; empty ones are left out. */
export function showFacts<Item>(fields: Fields<Item>): (item: Item, paint: Paint) => string {
  return (item, paint) =>
    facts(
      Object.entries(fields).map(([name, field]) => [name, cellOf(item, field)] as const),
      paint,
    );
}

export function rowOf<Item>(columns: Fields<Item>, item: Item): Cell[] {
  return Object.values(columns).map((field) => cellOf(item, field));
}

/** A table of records. */
export function showTable<Item>(columns: Fields<Item>): (items: readonly Item[], paint?: Paint) => string {
  return (items, paint) =>
    table(
      Object.keys(columns),
      items.map((item) => rowOf(columns, item)),
      paint,
    );
}
