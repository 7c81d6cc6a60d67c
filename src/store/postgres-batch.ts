import type { Connection, PoolClient, Submittable } from 'pg';
import type { Row, SqlValue } from './keyset.ts';
import { isServerAnswer, pgTypes } from './postgres-connection.ts';

/** A statement for PostgreSQL, with parameters `$1`, `$2` and so on. */
export interface Statement {
  sql: string;
  params: SqlValue[];
  /** True if the batch returns the rows of the statement; otherwise it returns only their number. */
  answersRows?: boolean;
}

/** Results of the statements of a batch. */
export interface BatchResult {
  /** Number of rows that each executed statement affected. */
  counts: number[];
  /** Rows of each statement with `answersRows`, in order. */
  rows: Row[][];
  /** Server error of the statement with the index `counts.length`, if one failed. The server has then rolled back the batch. */
  refusal?: Error;
}

/** Prepared statements of a connection: their names by SQL text, and the number of names used so far. */
interface Prepared {
  names: Map<string, string>;
  made: number;
}

/** Interface that `pg` expects from a query: it calls `submit`, then a handler for each message of the response. */
interface Exchange extends Submittable {
  query_timeout: number;
  /** `pg` wraps this callback to clear its timeout. */
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
 * Sends all statements in one round trip, as one transaction. If the promise resolves without `refusal`, the transaction is
 * durable; if it rejects, the outcome is unknown. The server runs the statements between two Sync messages as one transaction,
 * so the batch needs no BEGIN and COMMIT, and no transaction stays open while this process is paused.
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
    // Corks the stream so that all messages leave in as few packets as possible.
    connection.stream.cork();
    for (const [index, { sql, params, answersRows }] of statements.entries()) {
      let name = known.names.get(sql) ?? fresh.get(sql)?.name;
      if (name === undefined) {
        // Never reuses a name, because an error does not tell whether the server has prepared the statement.
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
        // An error that is not from the server means a lost connection: the outcome is unknown, and the promise rejects.
        if (isServerAnswer(error)) result.refusal = error;
        this.callback(isServerAnswer(error) ? null : error);
      },
      handleReadyForQuery() {
        this.callback(null);
      },
      handleRowDescription({ fields }) {
        columns = fields.map(({ name, dataTypeID }) => ({ name, parse: pgTypes.getTypeParser(dataTypeID) }));
        rows.push([]);
      },
      handleDataRow({ fields }) {
        const row: Row = {};
        for (const [index, { name, parse }] of columns.entries()) {
          const text = fields[index]!;
          row[name] = text === null ? null : parse(text);
        }
        // Drops the rows of statements without `answersRows`, because the server does not describe their columns.
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
