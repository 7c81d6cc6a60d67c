import { Client } from 'pg';
import { GatewayError } from '../../src/domain/gateway-error.ts';
import type { Change, Store } from '../../src/store/store.ts';
import { creationOf, checkoutRecords, write } from '../fixtures/store-records.ts';
import { openTestStore, settingsOf } from '../support/database.ts';
import { type Databases, sharedPostgres } from '../support/postgres.ts';

export const records = checkoutRecords(0);
export const isUnavailable = (error: unknown) => error instanceof GatewayError && error.code === 'unavailable';
/** SQL that terminates the connections to database `$1` and waits until they are closed. */
export const END_CONNECTIONS = 'SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = $1';
/** SQL that returns a row if some statement in this database waits for a lock. */
export const WAITING = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";

export interface OpenedPostgres {
  store: Store;
  /** A connection that stands for another program. */
  client: Client;
  postgres: Databases;
  name: string;
  url: string;
}

/** Runs `use` on a store in a new database that holds `records`. */
export async function withPostgres(use: (opened: OpenedPostgres) => Promise<void>, cluster?: Databases): Promise<void> {
  const postgres = cluster ?? (await sharedPostgres());
  const name = await postgres.createDatabase();
  const url = postgres.url(name);
  const store = await openTestStore(settingsOf(url));
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await write(store, ...creationOf(records));
    await use({ store, client, postgres, name, url });
  } finally {
    await client.end();
    await store.close();
    await postgres.dropDatabase(name);
  }
}

/** Changes that raise the version of the session by `by` and write the new version into the payment. */
export function versionRaised(by: number): Change[] {
  const version = records.session.version + by;
  return [
    { type: 'session_changed', session: { ...records.session, version } },
    { type: 'payment_changed', payment: { ...records.payment, txHash: `version ${version}` } },
  ];
}
