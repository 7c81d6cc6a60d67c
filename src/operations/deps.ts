import type { Logger } from 'pino';
import type { InputReader } from '../contract/problems.ts';
import type { SessionRequest, Urls } from '../contract/session-contract.ts';
import type { ApiKey } from '../domain/api-key.ts';
import type { NewId } from '../domain/id.ts';
import type { Route } from '../domain/route.ts';
import type { Provider } from '../providers/provider.ts';
import type { Store } from '../store/store.ts';
import type { WebhookTargets } from '../webhooks/address.ts';
import type { Deliverers } from '../webhooks/deliver.ts';
import type { SecretBox } from '../webhooks/secret-box.ts';
import type { Tracing } from '../telemetry/tracing.ts';
import type { CustomerDirectory } from './customer-directory.ts';
import type { Router } from './routing/router.ts';
import type { TestClock } from './test-clock.ts';

/** How long a buyer who starts to pay waits for providers, in milliseconds. */
export interface HandoffLimits {
  /** For all that is tried. */
  totalMs: number;
  /** For one answer; for one to the same request again; for one about what became of it. */
  handoffMs: number;
  againMs: number;
  inquiryMs: number;
  /** Another route is not begun with less than that. */
  leastMs: number;
}

/** What operations work with; time, randomness, network and database come in here. */
export interface Deps {
  /** Of a request by a key, what that may see and change; else everything. */
  store: Store;
  /** The key of the request; undefined where the service asks for none, and for what it does by itself. */
  caller: ApiKey | undefined;
  directory: CustomerDirectory;
  /** The time by which everything happens that is kept. */
  now(): number;
  /**
   * The time outside, which is the same unless that was moved: for what passes between programs and is not kept, such as
   * the age of a signature and how long an answer may take.
   */
  realNow(): number;
  /** Undefined where time cannot be moved. */
  testClock: TestClock | undefined;
  newId: NewId;
  routes: readonly Route[];
  providers: ReadonlyMap<string, Provider>;
  router: Router;
  handoffLimits: HandoffLimits;
  /** Whether the routing rules are the API's, or those of a file. */
  rulesFrom: 'api' | 'file';
  urls: Urls;
  merchantName: string;
  /** App schemes that the operator allows in a redirectUrl, in addition to the default ones. */
  redirectSchemes: readonly string[];
  /** Reads the body of a session under these settings. */
  sessionReader: InputReader<SessionRequest>;
  /** How long a session waits for its buyer. */
  sessionTtlMs: number;
  webhooks: WebhookDeps;
  log: Logger;
  /** Undefined where nothing is traced. */
  tracing: Tracing | undefined;
}

/** What the endpoints of webhooks are managed with. */
export interface WebhookDeps {
  secretBox: SecretBox;
  /** Which addresses webhooks may go to. */
  targets: WebhookTargets;
  /** For test deliveries; the dispatcher has its own. */
  deliverers: Deliverers;
  /** The endpoint that the configuration of this process names. */
  configured: { endpointId: string; secret: string } | undefined;
}
