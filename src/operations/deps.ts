import type { Logger } from 'pino';
import type { Urls } from '../contract/render.ts';
import type { NewId } from '../domain/id.ts';
import type { Route } from '../domain/route.ts';
import type { Provider } from '../providers/provider.ts';
import type { Store } from '../store/store.ts';
import type { CustomerDirectory } from './customer-directory.ts';

/** What operations work with; time, randomness, network and database come in here. */
export interface Deps {
  store: Store;
  directory: CustomerDirectory;
  now(): number;
  newId: NewId;
  routes: readonly Route[];
  providers: ReadonlyMap<string, Provider>;
  urls: Urls;
  merchantName: string;
  /** How long a session waits for its buyer. */
  sessionTtlMs: number;
  log: Logger;
}
