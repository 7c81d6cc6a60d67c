import { Pool, type PoolClient } from 'pg';
import { GatewayError } from '../domain/gateway-error.ts';
import { runWithoutOrigin } from '../telemetry/origin.ts';
import type { StoreLog } from './database.ts';

export interface PostgresSettings {
  /** `postgres://user:password@host:port/database`, with the parameters of libpq. */
  url: string;
  /** Maximum number of connections. */
  poolSize: number;
  /** Time limit of a statement; by default a little less than the time limit of a read. */
  statementTimeoutMs?: number;
}

/** Total time that a caller waits for the database, in milliseconds; then the call fails as `unavailable`. */
export const DEADLINE_MS = 4500;
/** Time limit for opening a connection, or for the wait for a free connection, in milliseconds. */
export const CONNECT_TIMEOUT_MS = 2000;
/** Time limit of a read after it has a connection, in milliseconds. */
export const READ_TIMEOUT_MS = DEADLINE_MS - CONNECT_TIMEOUT_MS;
// Shorter than READ_TIMEOUT_MS, so that the server reports a slow statement before the client gives up the connection.
const STATEMENT_TIMEOUT_MS = 2250;
/** Time limit for the wait for a lock in a batch of several change sets. */
const LOCK_TIMEOUT_MS = 250;
/** Time limit for the wait for a lock in a transaction of one change set, which delays no other change set. */
export const PATIENT_LOCK_TIMEOUT_MS = 2000;
const KEEP_ALIVE_AFTER_MS = 10_000;

// Parses int8, int4 and numeric as numbers; all other types stay text. https://www.postgresql.org/docs/current/catalog-pg-type.html
const NUMERIC_TYPES = new Set<number>([20, 23, 1700]);
const asNumber = (text: string | null) => (text === null ? null : Number(text));
const asText = (text: string) => text;
const pgTypes = { getTypeParser: (type: number) => readerOf(type) ?? asText };

/** Converts a value of a type from its text; null if the text is the value. */
export const readerOf = (type: number) => (NUMERIC_TYPES.has(type) ? asNumber : null);

/** Options of every connection. */
export function connectionOptions(url: string) {
  return {
    connectionString: url,
    application_name: 'tillway',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
    types: pgTypes,
  };
}

/** Pool of connections, which runs each exchange on one of them. */
export interface Connections {
  /** Runs an exchange on a connection of the pool; closes the connection if the exchange fails without an answer of the server. */
  use<Result>(exchange: (client: PoolClient) => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
}

/** Pool of connections to a primary. If the database is unreachable, `use` throws GatewayError `unavailable`. */
export function createConnections(
  { url, poolSize, statementTimeoutMs = STATEMENT_TIMEOUT_MS }: PostgresSettings,
  log: StoreLog,
): Connections {
  const pool = new Pool({
    ...connectionOptions(url),
    max: poolSize,
    statement_timeout: statementTimeoutMs,
    lock_timeout: LOCK_TIMEOUT_MS,
    query_timeout: READ_TIMEOUT_MS,
  });
  // The pool reports the loss of an idle connection, and opens a new connection on demand.
  pool.on('error', ({ message: reason }) =>
    runWithoutOrigin(() => log.info({ reason }, 'a connection to the database was lost')),
  );
  // If a connection is lost while in use, its query fails. Without a listener its error event would end the process.
  pool.on('connect', (client) => client.on('error', () => undefined));
  /** Time of the last answer of each connection. A connection whose last answer is before `suspectUntil` is closed, not used. */
  const answered = new WeakMap<PoolClient, number>();
  let suspectUntil = 0;
  let awaySince: number | undefined;

  /** Logs one line when the database becomes unavailable, and one when it is available again. */
  function note(failure?: unknown): void {
    if (failure === undefined && awaySince !== undefined) {
      const seconds = Math.round((performance.now() - awaySince) / 1000);
      awaySince = undefined;
      log.info({ seconds }, 'the database is available again');
    } else if (failure !== undefined && awaySince === undefined) {
      awaySince = performance.now();
      log.warn({ reason: (failure as Error).message }, 'the database is unavailable');
    }
  }

  async function acquire(): Promise<PoolClient> {
    for (;;) {
      const client = await pool.connect();
      if ((answered.get(client) ?? Infinity) >= suspectUntil) return client;
      // This connection may be half-open: another connection was lost after the last answer on this connection.
      client.release(true);
    }
  }

  return {
    async use(exchange) {
      for (let attempt = 0; ; attempt++) {
        let client: PoolClient | undefined;
        try {
          client = await acquire();
          const result = await exchange(client);
          answered.set(client, performance.now());
          client.release();
          note();
          return result;
        } catch (error) {
          const [answer, stale] = [isServerAnswer(error), sqlStateOf(error) === STALE_PLAN];
          if (client && !answer) suspectUntil = performance.now();
          client?.release(!answer || stale);
          if (!answer) note(error);
          // The caller did not cause a failure to open a connection, so the error is always `unavailable`.
          if (!client) throw unavailable(error);
          if (!stale || attempt === poolSize) throw toStoreError(error);
        }
      }
    },
    close: () => pool.end(),
  };
}

/** SQLSTATE of an error that the server sent; empty for every other error. */
export function sqlStateOf(error: unknown): string {
  const code = (error as { code?: unknown }).code;
  return error instanceof Error && 'severity' in error && typeof code === 'string' ? code : '';
}

// SQLSTATE codes after which the connection is unusable: errors of the connection or the login, a connection ended by an
// operator or by a timeout, and a server that became a standby.
const NO_MORE = /^(?:08|28|3D|57P|25P03|25P04|25006)/;

/** True if the server answered with an error and the connection stays usable. The failed statement has then changed nothing. */
export function isServerAnswer(error: unknown): boolean {
  const code = sqlStateOf(error);
  return code !== '' && !NO_MORE.test(code);
}

// SQLSTATE if a migration by another instance has changed the table of a prepared SELECT. A new connection prepares it again.
const STALE_PLAN = '0A000';
// https://www.postgresql.org/docs/current/errcodes-appendix.html: lack of resources (such as a full disk), operator
// intervention, system errors, temporary states, lock timeouts, serialization failures and deadlocks.
const AWAY = /^(?:53|55|57|58|40001|40P01|0A000)/;

/** Converts a database error to an error of the store port: a defect to an Error, every other error to `unavailable`. */
export function toStoreError(error: unknown): unknown {
  if (error instanceof GatewayError) return error;
  if (isServerAnswer(error) && !AWAY.test(sqlStateOf(error)))
    return new Error(`database: ${(error as Error).message}`, { cause: error });
  return unavailable(error);
}

function unavailable(cause: unknown): GatewayError {
  const message = 'The database cannot be reached, or does not answer in time.';
  const suggestion = 'Send the request again after the seconds in Retry-After, with the same idempotencyKey.';
  return new GatewayError('unavailable', message, { suggestion }, { cause });
}
