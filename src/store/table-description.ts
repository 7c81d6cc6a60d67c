import { objectBuilder } from '../domain/object-builder.ts';
import type { Row, SqlValue } from './keyset.ts';
import { type Conflict, type Write, statement } from './write-statement.ts';

/** Storage of a property in one column. The column's name is `column`, or else the property's name in snake_case. */
interface Stored {
  type: 'TEXT' | 'BIGINT';
  column?: string;
}

interface Converted<Value> extends Stored {
  write(value: Value): SqlValue;
  read(stored: SqlValue): Value;
}

/** Storage of an object property in several columns. */
interface Group<Value> {
  group: Columns<Value>;
}

type ColumnFor<Value> =
  | ([Value] extends [string | null] ? { type: 'TEXT'; column?: string } : never)
  | ([Value] extends [number | null] ? { type: 'BIGINT'; column?: string } : never)
  | ([Value] extends [object] ? Group<Value> : never)
  | Converted<Value>;

/** Storage of every property of an item. */
type Columns<Item> = { readonly [Name in keyof Item]-?: ColumnFor<Item[Name]> };

export const text = { type: 'TEXT' } as const;
export const integer = { type: 'BIGINT' } as const;
/** Boolean column, stored as 0 or 1. */
export const flag: Converted<boolean> = {
  type: 'BIGINT',
  write: (value) => (value ? 1 : 0),
  read: (stored) => stored === 1,
};

/** Text column that contains the value as JSON. */
export function json<Value>(): Converted<Value> {
  return { type: 'TEXT', write: (value) => JSON.stringify(value), read: (stored) => JSON.parse(stored as string) };
}

/** A column whose values have a type that is narrower than `string` or `number`. */
interface Typed<Value> extends Stored {
  readonly of?: Value;
}

type ValueOf<Column> =
  Column extends Converted<infer Value>
    ? Value
    : Column extends Typed<unknown>
      ? 'of' extends keyof Column
        ? Exclude<Column['of'], undefined>
        : Column['type'] extends 'TEXT'
          ? string
          : number
      : never;

/** Text column with values of the type `Value`, such as the names of statuses. */
export function textOf<Value extends string>(): Typed<Value> {
  return text;
}

/** Column whose values can be null. */
export function orNull<Column extends Stored>(column: Column): Typed<ValueOf<Column> | null> {
  return column;
}

/** Column with a name that differs from the name of its property. */
export function named<Column extends Stored>(column: string, stored: Column): Column {
  return { ...stored, column };
}

/** Creates the statement for an item; `others` are the values of the parameters that follow the item's parameters. */
type WriteOf<Item> = (item: Item, ...others: SqlValue[]) => Write;

interface InsertOptions {
  /** Further columns, which are not properties of the item. */
  extra?: readonly string[];
  onConflict?: string;
  guard?: Conflict;
  /** SQL expressions of computed columns; `place` gives the placeholder of a column's parameter. */
  written?: (place: (column: string) => string) => Record<string, string>;
}

interface UpdateOptions<Item> {
  key: readonly (keyof Item)[];
  set: readonly (keyof Item)[];
  /** True if the update requires that the row has the version before the version of the item. */
  versioned?: boolean;
  guard?: Conflict;
}

/** Description of a table: its columns, and functions that create its statements and parse its rows. */
export interface Table<Item> {
  /** SQL that selects the row with the id `?1`. */
  byId: string;
  columns: readonly { name: string; type: Stored['type'] }[];
  values(item: Item): SqlValue[];
  fromRow(row: Row): Item;
  /** The columns for a join, with names that start with `prefix`, and the item in a joined row; undefined if the join found no row. */
  joined(prefix: string): { columns: string; fromRow(row: Row): Item | undefined };
  insert(options?: InsertOptions): WriteOf<Item>;
  /** With the earlier item, the statement sets only the columns that differ, so that indexes of unchanged columns are not written. */
  update(options: UpdateOptions<Item>): (item: Item, before?: Item) => Write;
}

/** One column. All parts have the same properties, with null for missing ones, so that row conversion stays fast. */
interface Part {
  /** Property of the item whose object contains `property`; null if `property` belongs to the item itself. */
  group: string | null;
  property: string;
  column: string;
  type: Stored['type'];
  write: ((value: unknown) => SqlValue) | null;
  read: ((stored: SqlValue) => unknown) | null;
}

/** Describes the storage of every property of an item; the compiler checks each column against its property. */
export function describeTable<Item extends object>(name: string, columns: Columns<Item>): Table<Item> {
  const parts = partsOf(columns);
  return {
    byId: `SELECT * FROM ${name} WHERE id = ?1`,
    columns: parts.map(({ column, type }) => ({ name: column, type })),
    values: (item) => valuesOf(parts, item),
    fromRow: readerOf(parts) as (row: Row) => Item,
    joined(prefix) {
      const aliased = parts.map((part) => ({ ...part, column: prefix + part.column }));
      const fromRow = readerOf(aliased) as (row: Row) => Item;
      return {
        columns: parts.map(({ column }) => `${name}.${column} AS ${prefix}${column}`).join(', '),
        fromRow: (row) => (row[aliased[0]!.column] === null ? undefined : fromRow(row)),
      };
    },
    insert({ extra = [], onConflict = '', guard, written } = {}) {
      const names = [...parts.map(({ column }) => column), ...extra];
      const place = (column: string) => `?${names.indexOf(column) + 1}`;
      const values = { ...Object.fromEntries(names.map((column) => [column, place(column)])), ...written?.(place) };
      const sql = `INSERT INTO ${name} (${names.join(', ')}) VALUES (${Object.values(values).join(', ')}) ${onConflict}`;
      return (item, ...others) => statement(sql, valuesOf(parts, item, others), guard);
    },
    update({ key, set, versioned = false, guard }) {
      const statements = new Map<string, ReturnType<typeof setting>>();

      function setting(changed: readonly (keyof Item)[]) {
        const named = [...key, ...changed, ...(versioned ? ['version'] : [])];
        const used = named.flatMap((wanted) => parts.filter(({ group, property }) => (group ?? property) === wanted));
        const assigned = used.map(({ column }, index) => `${column} = ?${index + 1}`);
        const conditions = assigned.splice(0, key.length);
        if (versioned) conditions.push(`version + 1 = ?${used.length}`);
        return { sql: `UPDATE ${name} SET ${assigned.join(', ')} WHERE ${conditions.join(' AND ')}`, used };
      }

      return (item, before) => {
        const differing = before ? set.filter((property) => item[property] !== before[property]) : set;
        const changed = differing.length > 0 || versioned ? differing : set;
        const names = changed.join();
        const known = statements.get(names) ?? setting(changed);
        statements.set(names, known);
        return statement(known.sql, valuesOf(known.used, item), guard);
      };
    },
  };
}

/** Describes a table, and derives the type of its items from the description. */
export function defineTable<const Described extends Record<string, Stored>>(
  name: string,
  columns: Described,
): Table<{ -readonly [Name in keyof Described]: ValueOf<Described[Name]> }> {
  return describeTable(name, columns as never);
}

/** Type of the items of a described table. */
export type ItemOf<Described> = Described extends Table<infer Item> ? Item : never;

/** Creates a write that inserts version 1 of an item, and updates the row for a later version if it has the version before. */
export function saveVersions<Item extends { version: number }>(
  table: Table<Item>,
  { key, set, guard }: Omit<UpdateOptions<Item>, 'versioned'> & { guard: Conflict },
): WriteOf<Item> {
  const insert = table.insert({ onConflict: 'ON CONFLICT DO NOTHING', guard });
  const update = table.update({ key, set, versioned: true, guard });
  return (item, ...others) => (item.version === 1 ? insert(item, ...others) : update(item));
}

function partsOf(columns: object, group: string | null = null): Part[] {
  return Object.entries(columns as Record<string, (Stored & Partial<Converted<unknown>>) | Group<object>>).flatMap(
    ([property, stored]) => {
      if ('group' in stored) return partsOf(stored.group, property);
      const { type, column = property.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) } = stored;
      return [{ group, property, column, type, write: stored.write ?? null, read: stored.read ?? null }];
    },
  );
}

type Values = Record<string, unknown>;

function valuesOf(parts: readonly Part[], item: object, others: readonly SqlValue[] = []): SqlValue[] {
  const values = parts.map(({ group, property, write }) => {
    const holder = (group === null ? item : (item as Values)[group]) as Values;
    return write === null ? (holder[property] as SqlValue) : write(holder[property]);
  });
  values.push(...others);
  return values;
}

function readerOf(parts: readonly Part[]): (row: Row) => Values {
  const groups = Map.groupBy(parts, ({ group, property }) => group ?? property);
  const built = (part: Part) => ({ name: part.property, from: part.column, read: part.read });
  return objectBuilder(
    Array.from(groups, ([name, members]) =>
      members[0]!.group === null ? built(members[0]!) : { name, properties: members.map(built) },
    ),
  );
}
