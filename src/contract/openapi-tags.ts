/** Descriptions of the groups of the reference, in its order. */
export const TAGS = {
  sessions: 'A checkout session is one sale: it is created here, and its buyer pays at its checkoutUrl.',
  customers: 'A customer is made with the first session of an email address; there is one per environment and address.',
  payments: 'One payment per attempt of a buyer. Fulfil an order once a payment of its session is paid, never earlier.',
  refunds: 'Money of a paid payment that is refunded to its buyer, whole or in parts.',
  discrepancies:
    'Money that arrived twice, or with unexpected properties: listed until a person, or a refund, has resolved it.',
  invoices: 'One invoice per payment: paid with it, void if the attempt failed.',
  events:
    'One event per status that a session reaches, stored permanently: the content of webhooks, to read and to send again.',
  deliveries: 'One delivery per event and webhook endpoint: its attempts, the responses, and the way to send it again.',
  'webhook endpoints': 'The receivers of events: created, changed, tested and deleted here, each with its own secrets.',
  ledger: 'The books: double entry, in cents, with nothing ever changed or removed.',
  settlement: 'Payouts of payments to the merchant, as reported by providers, files or by hand.',
  routing:
    'Which route a payment takes and why, the rules that the operator sets for it, and the health of the routes.',
  providers: 'The payment providers that this service is connected to, and whether they can take payments.',
  'test clock':
    'The time of a sandbox that was started with TEST_CLOCK=true: moving it forward replaces waiting in tests.',
  keys: 'The keys that may use the API, and their permissions. A service is closed to others once it has a key.',
  agent: 'Endpoints for agents without prior knowledge of the service: discovery, schemas and typed actions.',
  webhooks: 'Requests of this service to the merchant after the state of a payment has changed.',
};

export type EndpointTag = Exclude<keyof typeof TAGS, 'webhooks'>;
