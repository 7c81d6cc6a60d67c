/** Public names of the SDK, by the name of a schema or the id of an operation, where {@link publicName} has no rule. */
export const NAMES: Record<string, string> = {
  AdvanceTestClockRequest: 'AdvanceParams',
  BacktestRoutingRequest: 'BacktestParams',
  BlockCustomerRequest: 'BlockParams',
  DryRunRoutingRequest: 'DryRunParams',
  EraseCustomerRequest: 'EraseParams',
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
  VerifySampleResult: 'VerifiedSample',
  exportLedger: 'LedgerExportParams',
  getLedgerBalances: 'LedgerBalanceParams',
  getRoutingRules: 'RoutingRulesParams',
  importSettlements: 'SettlementImportParams',
  listEvents: 'EventQuery',
  listRefundsOfPayment: 'PaymentRefundListParams',
  listRoutingTransitions: 'TransitionListParams',
};

/** The type for a schema or, by the id of an operation, for its query parameters. */
export function publicName(name: string): string {
  if (name in NAMES) return NAMES[name]!;
  return name
    .replace(/^(?:Create)?(\w+)Request$/, '$1Params')
    .replace(/^list(\w+)ies$/, '$1yListParams')
    .replace(/^list(\w+)s$/, '$1ListParams');
}

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
 * Rules for retries of operations that change data: `keyed` permits them because the client adds an idempotency key, `false`
 * forbids them, any other text is the condition as TypeScript. All other operations can be repeated.
 */
export const REPEATABLE: Record<string, string> = {
  createSession: 'keyed',
  createRefund: 'keyed',
  'checkout.create': 'keyed',
  // The service would reject the second request, which hides that the first one succeeded.
  resolveDiscrepancy: 'false',
  // A second resend or replay would send the event twice.
  resendEvent: 'false',
  replayDelivery: 'false',
  // A lost response loses the secret; a second request would leave two endpoints or keys, or an unknown secret.
  createWebhookEndpoint: 'false',
  rotateWebhookSecret: 'false',
  createApiKey: 'false',
  // The service would answer the second request with `not_found`.
  deleteWebhookEndpoint: 'false',
  testWebhookEndpoint: 'false',
  // Pending deliveries are not queued twice; acknowledged ones would be.
  recoverDeliveries: 'params.all !== true',
  // The service can reject the second request because there is nothing left to change.
  overrideRouteHealth: 'false',
  // A second request would advance the clock twice.
  advanceTestClock: 'false',
};

/** Operations of the client's methods, by resource. `events.list` is in src/events.ts, because the operation is the feed too. */
export const METHODS: Record<string, Record<string, string>> = {
  sessions: { create: 'createSession', list: 'listSessions', get: 'getSession', expire: 'expireSession' },
  customers: {
    list: 'listCustomers',
    get: 'getCustomer',
    block: 'blockCustomer',
    unblock: 'unblockCustomer',
    export: 'exportCustomer',
    erase: 'eraseCustomer',
  },
  payments: { list: 'listPayments', get: 'getPayment' },
  refunds: { create: 'createRefund', list: 'listRefunds', listOfPayment: 'listRefundsOfPayment', get: 'getRefund' },
  discrepancies: { list: 'listDiscrepancies', get: 'getDiscrepancy', resolve: 'resolveDiscrepancy' },
  settlements: { settle: 'settlePayment', import: 'importSettlements' },
  ledger: { balances: 'getLedgerBalances', entries: 'listLedgerEntries', export: 'exportLedger' },
  invoices: { list: 'listInvoices', get: 'getInvoice' },
  events: { get: 'getEvent', resend: 'resendEvent' },
  deliveries: { list: 'listDeliveries', get: 'getDelivery', replay: 'replayDelivery' },
  webhookEndpoints: {
    create: 'createWebhookEndpoint',
    list: 'listWebhookEndpoints',
    get: 'getWebhookEndpoint',
    update: 'updateWebhookEndpoint',
    delete: 'deleteWebhookEndpoint',
    rotateSecret: 'rotateWebhookSecret',
    recover: 'recoverDeliveries',
    recovery: 'getRecovery',
    test: 'testWebhookEndpoint',
  },
  checkout: { preview: 'checkout.preview', create: 'checkout.create' },
  fees: { estimate: 'fees.estimate' },
  routes: { list: 'listRoutes' },
  routing: {
    decisions: 'listRoutingDecisions',
    replay: 'replayRoutingDecisions',
    dryRun: 'dryRunRouting',
    backtest: 'backtestRouting',
    rules: 'getRoutingRules',
    saveRules: 'saveRoutingRules',
    routes: 'listRoutingRoutes',
    overrideHealth: 'overrideRouteHealth',
    transitions: 'listRoutingTransitions',
  },
  providers: { list: 'listProviders' },
  webhooks: { example: 'webhook.example', verifySample: 'webhook.verify_sample' },
  testClock: { get: 'getTestClock', advance: 'advanceTestClock' },
  apiKeys: { create: 'createApiKey', list: 'listApiKeys', revoke: 'revokeApiKey' },
};
