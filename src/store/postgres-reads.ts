import type { LongReads, Row, Select } from './keyset.ts';
import { type Connections, createConnections } from './postgres-connection.ts';
import { forPostgres } from './postgres-sql.ts';

const LONG_CONNECTIONS = 2;
const LONG_STATEMENT_TIMEOUT_MS = 2000;

/** Query function that runs prepared statements on the connections of a pool. */
export function selectOn(connections: Connections): Select {
  return (sql, ...params) => {
    const text = forPostgres(sql);
    return connections.use(async (client) => {
      const { rows } = await client.query<Row>({ name: nameOf(text), text, values: params });
      return rows;
    });
  };
}

const names = new Map<string, string>();

function nameOf(text: string): string {
  let name = names.get(text);
  if (name === undefined) names.set(text, (name = `read_${names.size}`));
  return name;
}

/** Long reads of a database. They log nothing, because the store's other connections log that the database is unavailable. */
export function createPostgresLongReads(url: string): LongReads {
  const log = { info: () => undefined, warn: () => undefined };
  const settings = { url, poolSize: LONG_CONNECTIONS, statementTimeoutMs: LONG_STATEMENT_TIMEOUT_MS };
  const connections = createConnections(settings, log);
  return { select: selectOn(connections), close: () => connections.close() };
}
