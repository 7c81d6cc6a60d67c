import type { Connection, PoolClient, Submittable } from 'pg';
import { objectBuilder } from '../domain/object-builder.ts';
import type { Row, SqlValue } from './keyset.ts';
import { isServerAnswer, readerOf } from './postgres-connection.ts';

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

/** Prepared statements of a connection by SQL text, and the number of names used so far. */
interface Prepared {
  statements: Map<string, PreparedStatement>;
  made: number;
  /** Names that the server may have kept although their batch failed. The next batch closes them. */
  abandoned: string[];
}

interface PreparedStatement {
  name: string;
  /** Builds a row; undefined until the server has described the columns. If a migration changes them, the server refuses the statement. */
  rowOf?: (fields: (string | null)[]) => Row;
}

interface Field {
  name: string;
  dataTypeID: number;
}

/** Interface that `pg` expects from a query: it calls `submit`, then a handler for each message of the response. */
interface Exchange extends Submittable {
  query_timeout: number;
  /** `pg` wraps this callback to clear its timeout. */
  callback(error: Error | null): void;
  handleCommandComplete(message: { text: string }): void;
  handleError(error: Error): void;
  handleReadyForQuery(): void;
  handleRowDescription(message: { fields: Field[] }): void;
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
  if (!known) prepared.set(client, (known = { statements: new Map(), made: 0, abandoned: [] }));
  return exchange(client, statements, known, timeoutMs);
}

function exchange(
  client: PoolClient,
  statements: readonly Statement[],
  known: Prepared,
  timeoutMs: number,
): Promise<BatchResult> {
  const result: BatchResult = { counts: [], rows: statements.filter(({ answersRows }) => answersRows).map(() => []) };
  const { counts, rows } = result;
  const fresh = new Map<string, { statement: PreparedStatement; index: number }>();
  const preparedOf = (sql: string) => known.statements.get(sql) ?? fresh.get(sql)?.statement;
  /** Number of executed statements with `answersRows`. */
  let answered = 0;

  function submit(connection: Connection): void {
    // Corks the stream so that all messages leave in as few packets as possible.
    connection.stream.cork();
    for (const name of known.abandoned.splice(0)) connection.close({ type: 'S', name }, true);
    for (const [index, { sql, params, answersRows }] of statements.entries()) {
      let statement = preparedOf(sql);
      if (statement === undefined) {
        // Never reuses a name, because an error does not tell whether the server has prepared the statement.
        statement = { name: `statement_${known.made++}` };
        fresh.set(sql, { statement, index });
        connection.parse({ name: statement.name, text: sql, types: [] }, true);
      }
      connection.bind({ statement: statement.name, values: params.map(asText) }, true);
      if (answersRows && !statement.rowOf) connection.describe({ type: 'P' }, true);
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
        for (const [sql, { statement, index }] of fresh) {
          if (index < counts.length) known.statements.set(sql, statement);
          else known.abandoned.push(statement.name);
        }
        if (error) reject(error);
        else resolve(result);
      },
      handleRowDescription({ fields }) {
        preparedOf(statements[counts.length]!.sql)!.rowOf = rowBuilder(fields);
      },
      handleDataRow({ fields }) {
        const { sql, answersRows } = statements[counts.length]!;
        if (answersRows) rows[answered]!.push(preparedOf(sql)!.rowOf!(fields));
      },
      handleCommandComplete({ text }) {
        if (statements[counts.length]!.answersRows) answered++;
        counts.push(Number(text.slice(text.lastIndexOf(' ') + 1)));
      },
      handleError(error) {
        // An error that is not from the server means a lost connection: the outcome is unknown, and the promise rejects.
        if (isServerAnswer(error)) result.refusal = error;
        this.callback(isServerAnswer(error) ? null : error);
      },
      handleReadyForQuery() {
        this.callback(null);
      },
      handleEmptyQuery: () => undefined,
    };
    client.query(handlers);
  });
}

/** Compiles a function that builds a row from the texts of its columns. */
function rowBuilder(fields: readonly Field[]): (texts: (string | null)[]) => Row {
  const properties = fields.map(({ name, dataTypeID }, from) => ({ name, from, read: readerOf(dataTypeID) }));
  return objectBuilder(properties) as (texts: (string | null)[]) => Row;
}

function asText(value: SqlValue): string | null {
  return value === null ? null : String(value);
}
