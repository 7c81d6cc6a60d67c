import type { LongReads, Select } from './keyset.ts';
import { runBatch } from './postgres-batch.ts';
import { type Connections, READ_TIMEOUT_MS, createConnections } from './postgres-connection.ts';
import { forPostgres } from './postgres-sql.ts';

const LONG_CONNECTIONS = 2;
const LONG_STATEMENT_TIMEOUT_MS = 2000;

/** Query function that runs prepared statements on the connections of a pool. */
export function selectOn(connections: Connections): Select {
  return (sql, ...params) => {
    const statement = { sql: forPostgres(sql), params, answersRows: true };
    return connections.use(async (client) => {
      const { rows, refusal } = await runBatch(client, [statement], READ_TIMEOUT_MS);
      if (refusal) throw refusal;
      return rows[0]!;
    });
  };
}

/** Long reads of a database. They log nothing, because the store's other connections log that the database is unavailable. */
export function createPostgresLongReads(url: string): LongReads {
  const log = { info: () => undefined, warn: () => undefined };
  const settings = { url, poolSize: LONG_CONNECTIONS, statementTimeoutMs: LONG_STATEMENT_TIMEOUT_MS };
  const connections = createConnections(settings, log);
  return { select: selectOn(connections), close: () => connections.close() };
}
