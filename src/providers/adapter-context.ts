import type { Logger } from 'pino';
import type { Environment } from '../domain/route.ts';
import type { Database } from '../store/database.ts';

/** Dependencies of an adapter. */
export interface AdapterContext {
  /** Milliseconds since 1970. */
  now(): number;
  /** URL for the provider's callbacks to this instance. */
  callbackUrl: string;
  log: Pick<Logger, 'info' | 'warn' | 'error'>;
  /** For records of the adapter itself; absent for a check without a service. */
  database?: Database;
  /** Called when this instance cannot take payments at once; `reason` is a clause: "the key was refused (401)". */
  onNotReady(reason: string): void;
  /** Called when the result of a new check would differ: the service checks this instance at once. */
  onNews(): void;
  /** Counts an inquiry about a payment whose result should have arrived in a callback long ago. */
  countLostCallback(): void;
}

/** A configured account at a provider. */
export interface Instance<Settings> {
  id: string;
  environment: Environment;
  settings: Settings;
}
