import type { ListDeliveriesParams } from './generated/types.ts';

export type { EventFeedParams, EventListParams } from './client-resources.ts';
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
export type * from './rule-condition.ts';
export type { Fetch } from './exchange.ts';
export { EventFeed } from './feed.ts';
export type * from './generated/types.ts';
export { type Page, type PageParams, TillwayList } from './list.ts';
export { type Answered, type ResponseInfo, TillwayPromise } from './promise.ts';
export type { QueryValue, RequestOptions, TillwayOptions } from './transport.ts';
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

/** Class of the response to a delivery attempt, such as `5xx`. */
export type AnswerClass = NonNullable<ListDeliveriesParams['statusClass']>;
