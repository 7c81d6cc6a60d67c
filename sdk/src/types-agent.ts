import type { CheckoutParams } from './types-requests.ts';
import type { Environment, FeeSplit, ProviderStatus, RouteKind, WebhookEvent } from './types.ts';

/** `live`: takes payments. `degraded`: takes payments, 10 points behind. `standby`: takes none now. */
export type RouteHealth = 'live' | 'degraded' | 'standby';

/** Identity check of the buyer: none, light, full, or left to the provider. */
export type KycPolicy = 'none' | 'light' | 'full' | 'provider';

/** A way for money to travel. */
export interface Route {
  id: string;
  /** Its name. */
  label: string;
  /** The provider that carries it. */
  integrationId: string;
  /** The provider's name. */
  integrationLabel: string;
  kind: RouteKind;
  /** The network it settles on. */
  network: string;
  /** What it settles in. */
  asset: string;
  /** 0 to 100 points, higher is better: the expected success now, less cost and wait, without chance. */
  score: number;
  health: RouteHealth;
  /** What the buyer reads. */
  payerLabel: string;
  /** How long until the payment is confirmed, in words. */
  eta: string;
  /** Fee that the buyer pays on top of the amount. A fraction: 0.029 is 2.9 %. */
  buyerFeeRate: number;
  /** Fee that the gateway keeps of the amount. A fraction: 0.029 is 2.9 %. */
  gatewayFeeRate: number;
  /** What the provider charges the gateway. A fraction: 0.029 is 2.9 %. */
  providerCostRate: number;
  kycPolicy: KycPolicy;
}

/** A checkout with the route and the fees that it was quoted. */
export interface CheckoutResult {
  /** The session, `chk_...`; in a preview, the id of a session that does not exist. */
  id: string;
  /** The merchant that the buyer sees. */
  merchant: string;
  product: string;
  /** US dollars, not cents. */
  amount: number;
  /** The buyer's email address. */
  customer: string;
  route: Route;
  feeSplit: FeeSplit;
  /** Give this to the buyer; in a preview it opens a page that says so. */
  checkoutUrl: string;
  /** Where the buyer goes afterwards. */
  redirectUrl: string;
  /** Always `routed`: created, waiting for the buyer. */
  status: 'routed';
  environment: Environment;
  /** true for a preview: nothing was written. */
  dryRun: boolean;
  /** The key given, or made by the client. */
  idempotencyKey?: CheckoutParams['idempotencyKey'];
  /** The reference given. */
  clientReferenceId?: CheckoutParams['clientReferenceId'];
}

export interface FeesEstimate {
  environment: Environment;
  route: Route;
  feeSplit: FeeSplit;
}

/** A delivery as it would arrive. */
export interface WebhookExample {
  /** Signed with the sample webhook secret that the capabilities name, over the compact JSON of `payload`. */
  headers: Record<string, string>;
  payload: WebhookEvent;
}

/** What became of a sample callback. What is not accepted is an error. */
export interface VerifiedSample {
  accepted: true;
  /** The provider given. */
  provider: string;
  /** The provider's id of the callback. */
  eventId: string;
  /** The session given. */
  sessionId: string;
  status: ProviderStatus;
  /** true only where a verified sample of an existing sandbox session really queued a merchant event. */
  merchantWebhookQueued: boolean;
  /** true where a signature was given and is right; false where it was a placeholder or absent. */
  signatureVerified: boolean;
}

export interface RouteList {
  ok: true;
  /** The routes, best first. */
  routes: Route[];
}

/** The schemas of one operation, as JSON Schema, draft 2020-12. */
export interface OperationSchema {
  ok: true;
  operation: string;
  /** Of the request body. */
  inputSchema: Record<string, unknown>;
  /** Of the `result` of an action, or of the whole answer of `routes.list` and `capabilities`. */
  outputSchema: Record<string, unknown>;
}

/** Everything that a program needs that knows nothing else of the service. */
export interface Capabilities {
  /** Name of the service. */
  product: string;
  /** What it is, how it is used, and the units of every number. */
  summary: string;
  entrypoints: CapabilityEntrypoint[];
  /** Events, headers, signatures, retries and rules for a receiver. */
  webhooks: Record<string, unknown>;
  /** Where the schemas stand: a template with `{operation}`, and the operations. */
  schemas: { url: string; operations: string[] };
  actions: CapabilityAction[];
  /** The payment routes of sandbox, best first: what one is chosen by. */
  routes: Pick<Route, 'id' | 'kind' | 'score' | 'health' | 'eta' | 'buyerFeeRate' | 'gatewayFeeRate' | 'kycPolicy'>[];
}

export interface CapabilityEntrypoint {
  /** Name of the endpoint. */
  id: string;
  method: 'GET' | 'POST';
  /** Absolute URL; parts in braces are yours to fill in. */
  url: string;
  /** What it is for, and its query parameters. */
  use: string;
}

export interface CapabilityAction {
  /** Dotted, for example `fees.estimate`. */
  name: string;
  /** What it does, when to use it, when not, and what it does not do. */
  description: string;
  method: 'POST';
  /** Where to send the input as JSON. */
  url: string;
  /** Where its input and output schemas stand. */
  schemaUrl: string;
  /** Hints with the meaning that the Model Context Protocol gives them. */
  annotations: {
    readOnlyHint: boolean;
    destructiveHint: boolean;
    idempotentHint: boolean;
    openWorldHint: boolean;
  };
  /** JSON Schema of the input. */
  inputSchema: Record<string, unknown>;
  /** One call: an input that works as it stands, and an excerpt of the result. */
  example: { request: Record<string, unknown>; response: Record<string, unknown> };
  /** The example as a command line for sh; it prints the answer. */
  cli: string;
  /** What can go wrong, besides what the summary names. */
  errors: { code: string; recovery: 'fix_input' | 'retry_same' | 'stop'; do: string }[];
  /** What to do after success. */
  next: string;
}
