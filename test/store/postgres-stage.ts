import { Client } from 'pg';
import { GatewayError } from '../../src/domain/gateway-error.ts';
import type { Change, Store } from '../../src/store/store.ts';
import { creationOf, familyOf, write } from '../fixtures/store-records.ts';
import { openTestStore, settingsOf } from '../support/database.ts';
import { type Databases, sharedPostgres } from '../support/postgres.ts';

export const family = familyOf(0);
export const isUnavailable = (error: unknown) => error instanceof GatewayError && error.code === 'unavailable';
/** Ends the connections to a database, and waits until they are gone. */
export const END_CONNECTIONS = 'SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = $1';
/** Finds a statement that waits for a lock. */
export const WAITING = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";

export interface OpenedPostgres {
  store: Store;
  /** A connection of another program. */
  client: Client;
  postgres: Databases;
  name: string;
  url: string;
}

/** A store with one family on a database of its own. */
export async function withPostgres(use: (opened: OpenedPostgres) => Promise<void>, cluster?: Databases): Promise<void> {
  const postgres = cluster ?? (await sharedPostgres());
  const name = await postgres.createDatabase();
  const url = postgres.url(name);
  const store = await openTestStore(settingsOf(url));
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await write(store, ...creationOf(family));
    await use({ store, client, postgres, name, url });
  } finally {
    await client.end();
    await store.close();
    await postgres.dropDatabase(name);
  }
}

/** Moves the session of the family on by so many versions, and its payment along. */
export function moved(by: number): Change[] {
  const version = family.session.version + by;
  return [
    { type: 'session_changed', session: { ...family.session, version } },
    { type: 'payment_changed', payment: { ...family.payment, txHash: `version ${version}` } },
  ];
}
