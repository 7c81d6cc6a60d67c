// @run needs=process
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { z } from 'zod';
import type { balancesQuery, entriesQuery, exportQuery, ledgerBalances, ledgerEntry } from '../../src/contract/ledger-contract.ts';
import type { settleRequest, settlement, settlementImport } from '../../src/contract/settlement-contract.ts';
import type { apiKeyResource, createdApiKey, keyRequest, keysQuery } from '../../src/contract/api-key-contract.ts';
import type { deliveriesQuery, delivery, deliveryDetails, recoverRequest, recovery } from '../../src/contract/delivery-contract.ts';
import type { capabilitiesResult, schemaResult } from '../../src/contract/capabilities-contract.ts';
import type { blockRequest, customer, customerExport, customersQuery, eraseRequest } from '../../src/contract/customer-contract.ts';
import type { changeEndpointRequest, createEndpointRequest, deletedEndpoint, endpointsQuery, rotateSecretRequest, webhookEndpoint, webhookEndpointWithSecret, webhookTest } from '../../src/contract/webhook-endpoint-contract.ts';
import type { eventsQuery, webhookEvent } from '../../src/contract/event-contract.ts';
import type { invoice, invoicesQuery, payment, paymentsQuery } from '../../src/contract/payment-contract.ts';
import type { overrideRequest, routeStanding, rulesQuery, rulesResource, standingsQuery, transitionResource, transitionsQuery } from '../../src/contract/routing-contract.ts';
import type { checkoutSession, sessionRequest, sessionsQuery } from '../../src/contract/session-contract.ts';
import type { discrepanciesQuery, discrepancy, resolveRequest } from '../../src/contract/discrepancy-contract.ts';
import type { refund, refundRequest, refundsOfPaymentQuery, refundsQuery } from '../../src/contract/refund-contract.ts';
import type { checkoutResult, feesEstimateRequest, feesEstimateResult, verifySampleRequest, verifySampleResult, webhookExampleRequest, webhookExampleResult } from '../../src/contract/action-contract.ts';
import type { listOf } from '../../src/contract/list-query.ts';
import type { routesListResult } from '../../src/contract/route-contract.ts';
import type { backtestRequest, backtestResult, dryRunRequest, dryRunResult, routingDecisions, routingReplay } from '../../src/contract/routing-decision-contract.ts';
import type { advanceRequest, testClockResource } from '../../src/contract/test-clock.ts';
import type {
  ApiKey,
  ApiKeyListParams,
  ApiKeyParams,
  BacktestParams,
  BlockParams,
  Capabilities,
  CheckoutParams,
  CheckoutResult,
  CheckoutSession,
  CreatedApiKey,
  Customer,
  CustomerExport,
  CustomerListParams,
  DeletedWebhookEndpoint,
  Delivery,
  DeliveryDetails,
  DeliveryListParams,
  Recovery,
  RecoverParams,
  EventFeedParams,
  Discrepancy,
  DiscrepancyListParams,
  DryRunParams,
  EraseParams,
  EventListParams,
  EventOf,
  FeesEstimate,
  FeesEstimateParams,
  HealthOverrideParams,
  Invoice,
  InvoiceListParams,
  LedgerBalanceParams,
  LedgerBalances,
  LedgerEntry,
  LedgerEntryListParams,
  LedgerExportParams,
  OperationSchema,
  Page,
  Payment,
  PaymentListParams,
  PaymentRefundListParams,
  Refund,
  RefundListParams,
  RefundParams,
  ProviderStatus,
  RotateSecretParams,
  ResolveParams,
  RouteList,
  RoutingBacktest,
  RoutingDecisions,
  RoutingDryRun,
  RoutingReplay,
  RoutingRoute,
  RoutingRouteListParams,
  RoutingRules,
  RoutingTransition,
  RuleSet,
  ServiceErrorCode,
  SettleParams,
  Settlement,
  SettlementImport,
  SessionListParams,
  TestClock,
  TillwayIssue,
  TransitionListParams,
  VerifiedSample,
  VerifySampleParams,
  WebhookEndpoint,
  WebhookEndpointListParams,
  WebhookEndpointParams,
  WebhookEndpointUpdate,
  WebhookEndpointWithSecret,
  WebhookEvent,
  WebhookEventType,
  WebhookExample,
  WebhookExampleParams,
  WebhookTest,
} from '../../sdk/src/index.ts';
import type { ErrorCode, Issue } from '../../src/domain/errors.ts';
import type { ruleSetSchema } from '../../src/routing/rules.ts';

// The types of the SDK are written by hand, for people to read; here the compiler holds them against the schemas of the
// service. `npm run check` fails where one side knows a field, a value or a null that the other does not.

/** Both written out in full: an interface that extends another equals one that does not. */
type Plain<Type> = Type extends (infer Item)[]
  ? Plain<Item>[]
  : Type extends readonly unknown[]
    ? Type
    : Type extends object
      ? { [Key in keyof Type]: Plain<Type[Key]> }
      : Type;
interface Probe<Of> {
  <Type>(value: Type): Type extends Of ? 1 : 2;
}
/** Identical for the compiler, not only assignable to each other. */
type Same<Left, Right> = Probe<Left> extends Probe<Right> ? true : false;
type Equal<Left, Right> = Same<Plain<Left>, Plain<Right>>;
type Holds<Statement extends true> = Statement;
/** Query parameters are text on the wire; the SDK takes numbers where they are numbers, and only values that can match. */
type QueryHolds<Params, Query> = [
  Same<keyof Params, keyof Query>,
  { [Key in keyof Params]: Params[Key] extends number | undefined ? string | undefined : Params[Key] } extends Query
    ? true
    : false,
] extends [true, true]
  ? true
  : false;

/** What an event is in the schema: type and status are not tied together there. */
type AnyEvent = EventOf<WebhookEventType, ProviderStatus>;

export type Resources = [
  Holds<Equal<CheckoutSession, z.output<typeof checkoutSession>>>,
  Holds<Equal<Customer, z.output<typeof customer>>>,
  Holds<Equal<Payment, z.output<typeof payment>>>,
  Holds<Equal<Invoice, z.output<typeof invoice>>>,
  Holds<Equal<Delivery, z.output<typeof delivery>>>,
  Holds<Equal<Recovery, z.output<typeof recovery>>>,
  Holds<Equal<Omit<DeliveryDetails, 'payload'>, Omit<z.output<typeof deliveryDetails>, 'payload'>>>,
  Holds<Equal<AnyEvent, z.output<typeof deliveryDetails>['payload']>>,
  Holds<Equal<AnyEvent, z.output<typeof webhookEvent>>>,
  Holds<WebhookEvent extends z.output<typeof webhookEvent> ? true : false>,
  Holds<Same<WebhookEventType, z.output<typeof webhookEvent>['type']>>,
  Holds<Equal<Page<Payment>, z.output<ReturnType<typeof listOf<typeof payment>>>>>,
  Holds<Equal<TestClock, z.output<typeof testClockResource>>>,
  Holds<Same<ServiceErrorCode, ErrorCode>>,
  Holds<Equal<TillwayIssue, Issue>>,
];

export type Actions = [
  Holds<Equal<CheckoutResult, z.output<typeof checkoutResult>>>,
  Holds<Equal<FeesEstimate, z.output<typeof feesEstimateResult>>>,
  Holds<Same<keyof WebhookExample, keyof z.output<typeof webhookExampleResult>>>,
  Holds<WebhookExample extends z.output<typeof webhookExampleResult> ? true : false>,
  Holds<Equal<VerifiedSample, z.output<typeof verifySampleResult>>>,
  Holds<Equal<RouteList, z.output<typeof routesListResult>>>,
  Holds<Equal<OperationSchema, z.output<typeof schemaResult>>>,
  Holds<Equal<Capabilities, z.output<typeof capabilitiesResult>>>,
];

export type Requests = [
  Holds<Equal<CheckoutParams, z.input<typeof sessionRequest>>>,
  Holds<Equal<FeesEstimateParams, z.input<typeof feesEstimateRequest>>>,
  Holds<Equal<WebhookExampleParams, z.input<typeof webhookExampleRequest>>>,
  Holds<Equal<VerifySampleParams, z.input<typeof verifySampleRequest>>>,
  Holds<Equal<DryRunParams, z.input<typeof dryRunRequest>>>,
  Holds<Equal<BacktestParams, z.input<typeof backtestRequest>>>,
  Holds<Equal<HealthOverrideParams, z.input<typeof overrideRequest>>>,
  Holds<Equal<RecoverParams, z.input<typeof recoverRequest>>>,
  Holds<Equal<{ seconds: number }, z.input<typeof advanceRequest>>>,
  Holds<Equal<RuleSet, z.input<typeof ruleSetSchema>>>,
];

export type Endpoints = [
  Holds<Equal<WebhookEndpoint, z.output<typeof webhookEndpoint>>>,
  Holds<Equal<WebhookEndpointWithSecret, z.output<typeof webhookEndpointWithSecret>>>,
  Holds<Equal<DeletedWebhookEndpoint, z.output<typeof deletedEndpoint>>>,
  Holds<Equal<WebhookTest, z.output<typeof webhookTest>>>,
  Holds<Equal<WebhookEndpointParams, z.input<typeof createEndpointRequest>>>,
  Holds<Equal<WebhookEndpointUpdate, z.input<typeof changeEndpointRequest>>>,
  Holds<Equal<RotateSecretParams, z.input<typeof rotateSecretRequest>>>,
  Holds<QueryHolds<WebhookEndpointListParams, z.input<typeof endpointsQuery>>>,
];

export type Keys = [
  Holds<Equal<ApiKey, z.output<typeof apiKeyResource>>>,
  Holds<Equal<CreatedApiKey, z.output<typeof createdApiKey>>>,
  Holds<Equal<ApiKeyParams, z.input<typeof keyRequest>>>,
  Holds<QueryHolds<ApiKeyListParams, z.input<typeof keysQuery>>>,
];

export type Routing = [
  Holds<Equal<RoutingDecisions, z.output<typeof routingDecisions>>>,
  Holds<Equal<RoutingReplay, z.output<typeof routingReplay>>>,
  Holds<Equal<RoutingDryRun, z.output<typeof dryRunResult>>>,
  Holds<Equal<RoutingBacktest, z.output<typeof backtestResult>>>,
  Holds<Equal<RoutingRules, z.output<typeof rulesResource>>>,
  Holds<Equal<RoutingRoute, z.output<typeof routeStanding>>>,
  Holds<Equal<RoutingTransition, z.output<typeof transitionResource>>>,
];

export type Books = [
  Holds<Equal<LedgerBalances, z.output<typeof ledgerBalances>>>,
  Holds<Equal<LedgerEntry, z.output<typeof ledgerEntry>>>,
  Holds<Equal<Settlement, z.output<typeof settlement>>>,
  Holds<Equal<SettlementImport, z.output<typeof settlementImport>>>,
  Holds<Equal<SettleParams, z.input<typeof settleRequest>>>,
  Holds<QueryHolds<LedgerEntryListParams, z.input<typeof entriesQuery>>>,
  Holds<QueryHolds<LedgerExportParams, z.input<typeof exportQuery>>>,
  Holds<QueryHolds<LedgerBalanceParams, z.input<typeof balancesQuery>>>,
];

export type Refunds = [
  Holds<Equal<Refund, z.output<typeof refund>>>,
  Holds<Equal<Discrepancy, z.output<typeof discrepancy>>>,
  Holds<Equal<ResolveParams, z.input<typeof resolveRequest>>>,
  Holds<Equal<BlockParams, z.input<typeof blockRequest>>>,
  Holds<Equal<EraseParams, z.input<typeof eraseRequest>>>,
  Holds<QueryHolds<DiscrepancyListParams, z.input<typeof discrepanciesQuery>>>,
  Holds<Equal<keyof CustomerExport, keyof z.output<typeof customerExport>>>,
  Holds<Equal<RefundParams, z.input<typeof refundRequest>>>,
  Holds<QueryHolds<RefundListParams, z.input<typeof refundsQuery>>>,
  Holds<QueryHolds<PaymentRefundListParams, z.input<typeof refundsOfPaymentQuery>>>,
];

export type Queries = [
  Holds<QueryHolds<SessionListParams, z.input<typeof sessionsQuery>>>,
  Holds<QueryHolds<CustomerListParams, z.input<typeof customersQuery>>>,
  Holds<QueryHolds<PaymentListParams, z.input<typeof paymentsQuery>>>,
  Holds<QueryHolds<InvoiceListParams, z.input<typeof invoicesQuery>>>,
  Holds<QueryHolds<EventListParams & EventFeedParams, z.input<typeof eventsQuery>>>,
  Holds<QueryHolds<DeliveryListParams, z.input<typeof deliveriesQuery>>>,
  Holds<QueryHolds<TransitionListParams, z.input<typeof transitionsQuery>>>,
  Holds<QueryHolds<RoutingRouteListParams, z.input<typeof standingsQuery>>>,
  Holds<QueryHolds<{ version?: number | undefined }, z.input<typeof rulesQuery>>>,
];

type PaymentSchema = z.output<typeof payment>;

/** The checks can fail: each of these is told by a difference of one kind. */
export type Mismatches = [
  // @ts-expect-error -- a field that the service does not have
  Holds<Equal<Payment & { refunded: boolean }, PaymentSchema>>,
  // @ts-expect-error -- a field that the SDK does not have
  Holds<Equal<Omit<Payment, 'fees'>, PaymentSchema>>,
  // @ts-expect-error -- another type of one field
  Holds<Equal<Omit<Payment, 'amount'> & { amount: string }, PaymentSchema>>,
  // @ts-expect-error -- a value that the service does not have
  Holds<Equal<Omit<Payment, 'status'> & { status: Payment['status'] | 'refused' }, PaymentSchema>>,
  // @ts-expect-error -- a null that the service does not answer
  Holds<Equal<Omit<Payment, 'route'> & { route: Payment['route'] | null }, PaymentSchema>>,
  // @ts-expect-error -- a field deep inside
  Holds<Equal<Omit<Payment, 'route'> & { route: Omit<Payment['route'], 'kind'> }, PaymentSchema>>,
  // @ts-expect-error -- a field that may be left out
  Holds<Equal<Omit<Payment, 'created'> & { created?: string }, PaymentSchema>>,
  // @ts-expect-error -- a parameter that the service does not have
  Holds<QueryHolds<PaymentListParams & { colour?: string }, z.input<typeof paymentsQuery>>>,
  // @ts-expect-error -- a parameter that the SDK does not have
  Holds<QueryHolds<Omit<PaymentListParams, 'status'>, z.input<typeof paymentsQuery>>>,
];

test('the types of the SDK are those of the service: the compiler compares them', async () => {
  const root = new URL('../../', import.meta.url);
  const tsc = fileURLToPath(new URL('node_modules/typescript/bin/tsc', root));
  const ended = await new Promise<string>((resolve) => {
    execFile(process.execPath, [tsc, '--noEmit', '-p', fileURLToPath(root)], (error, stdout) =>
      resolve(error ? stdout : ''),
    );
  });
  assert.equal(ended, '');
});
