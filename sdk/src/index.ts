export { Tillway, type RawRequest } from './client.ts';
export {
  TillwayConnectionError,
  TillwayError,
  WebhookVerificationError,
  type ClientErrorCode,
  type ServiceErrorCode,
  type TillwayErrorCode,
  type TillwayErrorDetails,
  type TillwayIssue,
  type WebhookFailureReason,
} from './errors.ts';
export type { Fetch } from './exchange.ts';
export { EventFeed } from './feed.ts';
export { TillwayList } from './list.ts';
export { type Answered, type ResponseInfo, TillwayPromise } from './promise.ts';
export type { QueryValue, RequestOptions, TillwayOptions } from './transport.ts';
export type * from './types-agent.ts';
export type * from './types-endpoints.ts';
export type * from './types-keys.ts';
export type * from './types-ledger.ts';
export type * from './types-operator.ts';
export type * from './types-refunds.ts';
export type * from './types-deliveries.ts';
export type * from './types-requests.ts';
export type * from './types-routing.ts';
export type * from './types-rules.ts';
export type * from './types.ts';
export { VERSION } from './version.ts';
export type { SampleOverrides } from './sample-event.ts';
export type { WebhookHeaders } from './webhook-signature.ts';
export {
  type RawBody,
  type SignParams,
  type SignedWebhook,
  type VerifyOptions,
  type WebhookCheck,
  webhooks,
} from './webhooks.ts';
