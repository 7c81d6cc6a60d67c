import { Pool, type PoolClient } from 'pg';
import { GatewayError } from '../domain/gateway-error.ts';
import { runWithoutOrigin } from '../telemetry/origin.ts';

export interface PostgresSettings {
  /** `postgres://user:password@host:port/database`, with the parameters of libpq. */
  url: string;
  /** Connections at most. */
  poolSize: number;
}

/** Total time that a caller waits for the database, in milliseconds; then the call fails as `unavailable`. */
export const DEADLINE_MS = 4500;
/** Limit for opening a connection, or waiting for a free one. */
export const CONNECT_TIMEOUT_MS = 2000;
/** Time limit of a read, without the wait for a connection. */
export const READ_TIMEOUT_MS = DEADLINE_MS - CONNECT_TIMEOUT_MS;
// Shorter than READ_TIMEOUT_MS, so that the server reports a slow statement before the client gives up the connection.
const STATEMENT_TIMEOUT_MS = 2250;
/** Limits for a lock in a shared transaction, and for a change set that is sent alone. */
const LOCK_TIMEOUT_MS = 250;
export const PATIENT_LOCK_TIMEOUT_MS = 2000;
const KEEP_ALIVE_AFTER_MS = 10_000;

// https://www.postgresql.org/docs/current/catalog-pg-type.html: int8, int4 and numeric; everything else stays text.
const NUMERIC_TYPES = new Set<number>([20, 23, 1700]);
const asNumber = (text: string) => Number(text);
const asText = (text: string) => text;
export const pgTypes = { getTypeParser: (type: number) => (NUMERIC_TYPES.has(type) ? asNumber : asText) };

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

/** Log for the operator. */
export interface StoreLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export interface Connections {
  /** Lends a connection for one exchange; closes the connection if the exchange ends without an answer. */
  use<Result>(exchange: (client: PoolClient) => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
}

/** Connections to a primary. Failures are GatewayError `unavailable` within {@link DEADLINE_MS}; the next use tries again. */
export function createConnections({ url, poolSize }: PostgresSettings, log: StoreLog): Connections {
  const pool = new Pool({
    ...connectionOptions(url),
    max: poolSize,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    lock_timeout: LOCK_TIMEOUT_MS,
    query_timeout: READ_TIMEOUT_MS,
  });
  // An idle connection was lost; the pool opens another one on demand.
  pool.on('error', ({ message: reason }) =>
    runWithoutOrigin(() => log.info({ reason }, 'a connection to the database was lost')),
  );
  // If a connection is lost while in use, its query fails. Without a listener its error event would end the process.
  pool.on('connect', (client) => client.on('error', () => undefined));
  /** Time of the last answer of each connection. Connections whose answer is before `suspectUntil` are closed. */
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
      // Another connection was lost after the last answer of this one, which may be half-open too.
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
          // A failure to open a connection is never a defect of the caller.
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

// Errors of the connection or the login, sessions ended by an operator or by a limit, and a server that became a standby:
// the next query needs a new connection.
const NO_MORE = /^(?:08|28|3D|57P|25P03|25P04|25006)/;

/** True if the error is an answer of the server and the connection is usable. The refused statement has then changed nothing. */
export function isServerAnswer(error: unknown): boolean {
  const code = sqlStateOf(error);
  return code !== '' && !NO_MORE.test(code);
}

// Another instance's migration has changed the table of a prepared SELECT; a new connection prepares it again.
const STALE_PLAN = '0A000';
// https://www.postgresql.org/docs/current/errcodes-appendix.html: lack of resources (such as a full disk), operator
// intervention, system errors, temporary states, lock timeouts, serialization failures and deadlocks.
const AWAY = /^(?:53|55|57|58|40001|40P01|0A000)/;

/** Converts an error to one of the store port: a defect to an Error, every other error to `unavailable`. */
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
