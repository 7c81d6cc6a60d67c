/** Public names of the SDK, by the name of a schema or, for query parameters, by the id of an operation in the document. */
export const NAMES: Record<string, string> = {
  AdvanceTestClockRequest: 'AdvanceParams',
  BacktestRoutingRequest: 'BacktestParams',
  BlockCustomerRequest: 'BlockParams',
  CreateApiKeyRequest: 'ApiKeyParams',
  CreateRefundRequest: 'RefundParams',
  CreateWebhookEndpointRequest: 'WebhookEndpointParams',
  DryRunRoutingRequest: 'DryRunParams',
  EraseCustomerRequest: 'EraseParams',
  FeesEstimateRequest: 'FeesEstimateParams',
  OperationSchemas: 'OperationSchema',
  OverrideRouteHealthRequest: 'HealthOverrideParams',
  RecoverDeliveriesRequest: 'RecoverParams',
  ResolveDiscrepancyRequest: 'ResolveParams',
  RotateWebhookSecretRequest: 'RotateSecretParams',
  RouteStanding: 'RoutingRoute',
  RouteSummary: 'Route',
  RouteSummaryList: 'RouteList',
  SessionRequest: 'CheckoutParams',
  SettlePaymentRequest: 'SettleParams',
  UpdateWebhookEndpointRequest: 'WebhookEndpointUpdate',
  VerifySampleRequest: 'VerifySampleParams',
  VerifySampleResult: 'VerifiedSample',
  WebhookExampleRequest: 'WebhookExampleParams',
  exportLedger: 'LedgerExportParams',
  getLedgerBalances: 'LedgerBalanceParams',
  getRoutingRules: 'RoutingRulesParams',
  importSettlements: 'SettlementImportParams',
  listApiKeys: 'ApiKeyListParams',
  listCustomers: 'CustomerListParams',
  listDeliveries: 'DeliveryListParams',
  listDiscrepancies: 'DiscrepancyListParams',
  listEvents: 'EventQuery',
  listInvoices: 'InvoiceListParams',
  listLedgerEntries: 'LedgerEntryListParams',
  listPayments: 'PaymentListParams',
  listRefunds: 'RefundListParams',
  listRefundsOfPayment: 'PaymentRefundListParams',
  listRoutes: 'RouteListParams',
  listRoutingRoutes: 'RoutingRouteListParams',
  listRoutingTransitions: 'TransitionListParams',
  listSessions: 'SessionListParams',
  listWebhookEndpoints: 'WebhookEndpointListParams',
};

/** Types of parts of schemas. Every other part with the same values or properties gets the same name. */
export const PARTS: Record<string, string> = {
  BacktestTotals: 'RoutingBacktest.was',
  CapabilityAction: 'Capabilities.actions[]',
  CapabilityEntrypoint: 'Capabilities.entrypoints[]',
  CustomerStatus: 'Customer.status',
  DeliveryAttempt: 'DeliveryDetails.log[]',
  DeliveryStatus: 'Delivery.status',
  DiscrepancyKind: 'Discrepancy.kind',
  InvoiceStatus: 'Invoice.status',
  KycPolicy: 'RouteSummary.kycPolicy',
  LastAttempt: 'Delivery.lastAttempt',
  LedgerAccount: 'LedgerEntry.account',
  LedgerKind: 'LedgerEntry.kind',
  Objective: 'RuleSet.rules[].then.objective',
  PaymentFailure: 'Payment.failure',
  PaymentStatus: 'Payment.status',
  ProviderStatus: 'WebhookEvent.data.status',
  RefundReason: 'Refund.reason',
  RefundStatus: 'Refund.status',
  RouteAttributes: 'RouteSelector.2',
  RouteHealth: 'RouteSummary.health',
  RouteKind: 'RouteSummary.kind',
  Rule: 'RuleSet.rules[]',
  RuleActions: 'RuleSet.rules[].then',
  RuleWarning: 'RoutingRules.warnings[]',
  ServiceErrorCode: 'ActionError.code',
  SessionStatus: 'CheckoutSession.status',
  SettlementImportLine: 'SettlementImport.entries[]',
  SettlementMismatch: 'SettlementImport.entries[].code',
  WebhookEndpointStatus: 'WebhookEndpoint.status',
  WebhookEventType: 'WebhookEvent.type',
};

/** The part whose type is written by hand: JSON Schema does not describe the language of conditions. */
export const CONDITION = 'RuleSet.rules[].when';

/** Readers of responses that have no `object`, `action` or list envelope to check. */
export const READERS: Record<string, string> = {
  DeliveryDetails: 'readDelivery',
  RouteSummaryList: 'readRoutes',
  WebhookEvent: 'readEvent',
};

/**
 * Rule for retries of a request that changes data: `keyed` permits them because the client adds an
 * idempotency key. Any other text: the condition, as TypeScript.
 */
export type Repeat = 'keyed' | 'yes' | 'no' | (string & {});

/** Methods of the client by resource. GET requests are always sent again. */
export const METHODS: Record<string, Record<string, [operationId: string, repeat?: Repeat]>> = {
  sessions: {
    create: ['createSession', 'keyed'],
    list: ['listSessions'],
    get: ['getSession'],
    expire: ['expireSession', 'yes'],
  },
  customers: {
    list: ['listCustomers'],
    get: ['getCustomer'],
    block: ['blockCustomer', 'yes'],
    unblock: ['unblockCustomer', 'yes'],
    export: ['exportCustomer'],
    erase: ['eraseCustomer', 'yes'],
  },
  payments: { list: ['listPayments'], get: ['getPayment'] },
  refunds: {
    create: ['createRefund', 'keyed'],
    list: ['listRefunds'],
    listOfPayment: ['listRefundsOfPayment'],
    get: ['getRefund'],
  },
  discrepancies: {
    list: ['listDiscrepancies'],
    get: ['getDiscrepancy'],
    // The service would reject the second request, which hides that the first one succeeded.
    resolve: ['resolveDiscrepancy', 'no'],
  },
  settlements: { settle: ['settlePayment', 'yes'], import: ['importSettlements', 'yes'] },
  ledger: { balances: ['getLedgerBalances'], entries: ['listLedgerEntries'], export: ['exportLedger'] },
  invoices: { list: ['listInvoices'], get: ['getInvoice'] },
  // A second resend or replay would send the event twice. `events.list` is in src/events.ts, because the operation is the feed too.
  events: { get: ['getEvent'], resend: ['resendEvent', 'no'] },
  deliveries: { list: ['listDeliveries'], get: ['getDelivery'], replay: ['replayDelivery', 'no'] },
  webhookEndpoints: {
    // A lost response loses the secret; a second request would leave two endpoints, or an unknown secret.
    create: ['createWebhookEndpoint', 'no'],
    list: ['listWebhookEndpoints'],
    get: ['getWebhookEndpoint'],
    update: ['updateWebhookEndpoint', 'yes'],
    // The service would answer the second request with `not_found`.
    delete: ['deleteWebhookEndpoint', 'no'],
    rotateSecret: ['rotateWebhookSecret', 'no'],
    // Pending deliveries are not queued twice; acknowledged ones would be.
    recover: ['recoverDeliveries', 'params.all !== true'],
    recovery: ['getRecovery'],
    test: ['testWebhookEndpoint', 'no'],
  },
  checkout: { preview: ['checkout.preview', 'yes'], create: ['checkout.create', 'keyed'] },
  fees: { estimate: ['fees.estimate', 'yes'] },
  routes: { list: ['listRoutes'] },
  routing: {
    decisions: ['listRoutingDecisions'],
    replay: ['replayRoutingDecisions'],
    dryRun: ['dryRunRouting', 'yes'],
    backtest: ['backtestRouting', 'yes'],
    rules: ['getRoutingRules'],
    saveRules: ['saveRoutingRules', 'yes'],
    routes: ['listRoutingRoutes'],
    // The service can reject the second request because there is nothing left to change.
    overrideHealth: ['overrideRouteHealth', 'no'],
    transitions: ['listRoutingTransitions'],
  },
  webhooks: { example: ['webhook.example', 'yes'], verifySample: ['webhook.verify_sample', 'yes'] },
  // A second request would advance the clock twice.
  testClock: { get: ['getTestClock'], advance: ['advanceTestClock', 'no'] },
  // A second request would create a second key.
  apiKeys: { create: ['createApiKey', 'no'], list: ['listApiKeys'], revoke: ['revokeApiKey', 'yes'] },
};
