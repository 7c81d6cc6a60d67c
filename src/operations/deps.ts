import type { Logger } from 'pino';
import type { InputReader } from '../contract/input-problems.ts';
import type { SessionRequest, Urls } from '../contract/session-contract.ts';
import type { Principal } from '../domain/principal.ts';
import type { NewId } from '../domain/id.ts';
import type { Route } from '../domain/route.ts';
import type { Provider } from '../providers/provider.ts';
import type { Store } from '../store/store.ts';
import type { WebhookTargets } from '../webhooks/address.ts';
import type { Deliverers } from '../webhooks/deliver.ts';
import type { SecretBox } from '../webhooks/secret-box.ts';
import type { Tracing } from '../telemetry/tracing.ts';
import type { CustomerDirectory } from './customer-directory.ts';
import type { Readiness } from './providers/readiness.ts';
import type { Router } from './routing/router.ts';
import type { TestClock } from './test-clock.ts';

/** Time limits of the handoff of an attempt, in milliseconds. */
interface HandoffLimits {
  /** For all handoffs of the attempt. */
  totalMs: number;
  /** Limits of the first request (`handoffMs`), of the repeated request and of the inquiry. */
  handoffMs: number;
  againMs: number;
  inquiryMs: number;
  /** Time that must remain of `totalMs` to try another route. */
  leastMs: number;
}

/** Dependencies of operations: time, randomness, network and database. */
export interface Deps {
  /** For a request with a principal, the store restricted to its environment; otherwise the unrestricted store. */
  store: Store;
  /** The principal of the request; undefined if the API requires no key, and for work of the service itself. */
  caller: Principal | undefined;
  directory: CustomerDirectory;
  /** Time of all stored data. */
  now(): number;
  /** Real time, which a test clock does not move, for exchanges that are not stored, such as a signature's age. */
  realNow(): number;
  /** Undefined if time cannot be moved. */
  testClock: TestClock | undefined;
  newId: NewId;
  routes: readonly Route[];
  providers: ReadonlyMap<string, Provider>;
  readiness: Readiness;
  router: Router;
  handoffLimits: HandoffLimits;
  /** Metadata key of sessions whose value the router learns from; undefined for none. */
  routingMetadataKey: string | undefined;
  /** Source of the routing rules. */
  rulesFrom: 'api' | 'file';
  urls: Urls;
  merchantName: string;
  /** IANA name of the time zone of sums and of the dashboard. */
  reportingZone: string;
  /** Metadata keys of sessions whose values can be searched for, at most 3. */
  searchMetadataKeys: readonly string[];
  /** App schemes that the operator allows in a redirectUrl, in addition to the default ones. */
  redirectSchemes: readonly string[];
  /** Reader of session bodies under these settings. */
  sessionReader: InputReader<SessionRequest>;
  /** Time until a session expires. */
  sessionTtlMs: number;
  webhooks: WebhookDeps;
  /** Counts a verified signal of a provider that names no record of this service. */
  countForeignSignal(provider: string): void;
  log: Logger;
  tracing: Tracing | undefined;
}

/** Dependencies of the management of webhook endpoints. */
export interface WebhookDeps {
  secretBox: SecretBox;
  /** Addresses that webhooks may be sent to. */
  targets: WebhookTargets;
  /** Senders of deliveries, also of test deliveries. The dispatcher closes them. */
  deliverers: Deliverers;
  /** The endpoint that the configuration of this process names. */
  configured: { endpointId: string; secret: string } | undefined;
}

/** Function that background work awaits after each of its batches. */
export type Pace = () => Promise<unknown>;
