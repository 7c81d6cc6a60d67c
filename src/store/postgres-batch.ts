import type { Connection, PoolClient, Submittable } from 'pg';
import type { Row, SqlValue } from './keyset.ts';
import { isAnswer, types } from './postgres-connection.ts';

export interface Statement {
  sql: string;
  params: SqlValue[];
  /** Whether its rows are wanted, and not only their number. */
  answersRows?: boolean;
}

export interface BatchResult {
  /** How many rows each statement touched, of those that were run. */
  counts: number[];
  /** Of each statement whose rows are wanted, in turn. */
  rows: Row[][];
  /** Why the server refused the statement `counts.length`; then nothing of the batch is left in the database. */
  refusal?: Error;
}

/** Which statements are prepared on a connection, by their text. */
interface Prepared {
  names: Map<string, string>;
  made: number;
}

/** How `pg` lets others speak the protocol: it calls `submit`, then a handler for each message of the answer. */
interface Exchange extends Submittable {
  query_timeout: number;
  /** `pg` puts its own around it, which ends the timeout. */
  callback(error: Error | null): void;
  handleCommandComplete(message: { text: string }): void;
  handleError(error: Error): void;
  handleReadyForQuery(): void;
  handleRowDescription(message: { fields: { name: string; dataTypeID: number }[] }): void;
  handleDataRow(message: { fields: (string | null)[] }): void;
  handleEmptyQuery(): void;
}

const prepared = new WeakMap<PoolClient, Prepared>();

/**
 * Sends all statements in one round trip. They are one transaction, and durable when this answers without `refusal`:
 * what stands between two Sync messages of the protocol is, so that neither BEGIN nor COMMIT is sent, and no
 * transaction waits for this process, however long that is paused. Rejects where the outcome is not known.
 * https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-PIPELINING
 */
export function runBatch(
  client: PoolClient,
  statements: readonly Statement[],
  timeoutMs: number,
): Promise<BatchResult> {
  let known = prepared.get(client);
  if (!known) prepared.set(client, (known = { names: new Map(), made: 0 }));
  return exchange(client, statements, known, timeoutMs);
}

function exchange(
  client: PoolClient,
  statements: readonly Statement[],
  known: Prepared,
  timeoutMs: number,
): Promise<BatchResult> {
  const result: BatchResult = { counts: [], rows: [] };
  const { counts, rows } = result;
  let columns: { name: string; parse(text: string): SqlValue }[] = [];
  const fresh = new Map<string, { name: string; index: number }>();

  function submit(connection: Connection): void {
    // As few packets as it fits into.
    connection.stream.cork();
    for (const [index, { sql, params, answersRows }] of statements.entries()) {
      let name = known.names.get(sql) ?? fresh.get(sql)?.name;
      if (name === undefined) {
        // A new name each time: of one that is refused, nobody tells whether it had been prepared before.
        name = `write_${known.made++}`;
        fresh.set(sql, { name, index });
        connection.parse({ name, text: sql, types: [] }, true);
      }
      connection.bind({ statement: name, values: params.map(asText) }, true);
      if (answersRows) connection.describe({ type: 'P' }, true);
      connection.execute({}, true);
    }
    connection.sync();
    connection.stream.uncork();
  }

  return new Promise((resolve, reject) => {
    const handlers: Exchange = {
      query_timeout: timeoutMs,
      submit,
      callback(error) {
        for (const [sql, { name, index }] of fresh) if (index < counts.length) known.names.set(sql, name);
        if (error) reject(error);
        else resolve(result);
      },
      handleCommandComplete: ({ text }) => counts.push(Number(text.slice(text.lastIndexOf(' ') + 1))),
      handleError(error) {
        // Otherwise the connection is lost or silent, or the server ends it: what became of the batch is not known.
        if (isAnswer(error)) result.refusal = error;
        this.callback(isAnswer(error) ? null : error);
      },
      handleReadyForQuery() {
        this.callback(null);
      },
      handleRowDescription({ fields }) {
        columns = fields.map(({ name, dataTypeID }) => ({ name, parse: types.getTypeParser(dataTypeID) }));
        rows.push([]);
      },
      handleDataRow({ fields }) {
        const row: Row = {};
        for (const [index, { name, parse }] of columns.entries()) {
          const text = fields[index]!;
          row[name] = text === null ? null : parse(text);
        }
        // Those of a statement whose rows are not wanted are not described, and have nowhere to go.
        rows.at(-1)?.push(row);
      },
      handleEmptyQuery: () => undefined,
    };
    client.query(handlers);
  });
}

function asText(value: SqlValue): string | null {
  return value === null ? null : String(value);
}
