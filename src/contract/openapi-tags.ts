/** Descriptions of the groups of the API reference, in display order. */
export const TAGS = {
  sessions: 'A checkout session is one sale. The merchant creates it, and the buyer pays at its checkoutUrl.',
  customers: 'A customer is created with the first session of an email address in an environment.',
  payments: 'Each attempt of a buyer is a payment. Fulfil an order only after a payment of its session is paid.',
  refunds: 'A refund returns money of a paid payment to its buyer, fully or in part.',
  discrepancies:
    'A discrepancy is money that arrived twice or does not match the books. It stays open until a person or a refund resolves it.',
  invoices: 'Each payment has one invoice, which becomes paid with the payment, or void if the payment fails.',
  events:
    'A session has one event per status that it reaches. Events are stored permanently and are the content of webhooks.',
  deliveries: 'A delivery sends one event to one webhook endpoint. It logs its attempts and can be replayed.',
  'webhook endpoints': 'A webhook endpoint is a URL that receives events. Each endpoint has its own signing secrets.',
  ledger: 'The double-entry books, in cents. Entries are never changed or removed.',
  settlement: 'Records that payments were paid out to the merchant, reported by providers, files or requests.',
  routing:
    'The routing decisions for payments with their reasons, the routing rules of the operator, experiments, and the health of the routes.',
  providers: 'The connected payment providers, and whether they can take payments.',
  'test clock': 'The clock of a sandbox service that runs with TEST_CLOCK=true. Tests advance it instead of waiting.',
  keys: 'The API keys and their permissions. Once the service has a key, requests without a key are rejected.',
  audit:
    'The actions of people, API keys and local commands. Entries are never changed, and entries about changes never removed.',
  agent: 'Endpoints for agents without prior knowledge of the service: discovery, schemas and typed actions.',
  webhooks:
    'Requests from this service to the merchant when the state of a payment changes. Verify the signature over the raw body before changing an order, process each event id once, and answer with status 200: every other response is retried.',
};

export type EndpointTag = Exclude<keyof typeof TAGS, 'webhooks'>;
