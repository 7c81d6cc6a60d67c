import type { EndpointTag } from './endpoint.ts';

/** What the groups of the reference are about, in its order. */
export const TAGS: Record<EndpointTag | 'webhooks', string> = {
  sessions: 'A checkout session is one sale: it is created here, and its buyer pays at its checkoutUrl.',
  customers: 'A customer is made with the first session of an email address; there is one per environment and address.',
  payments: 'One payment per attempt of a buyer. Fulfil an order once a payment of its session is paid, never earlier.',
  refunds: 'Money of a paid payment that goes back to its buyer, whole or in parts.',
  discrepancies:
    'Money that came twice, or not as it was asked for: listed until somebody, or a refund, has resolved it.',
  invoices: 'One invoice per payment: paid with it, void where the attempt failed.',
  events:
    'One event per status that a session reaches, kept for good: what webhooks send, to be read and to be sent again.',
  deliveries:
    'One delivery per event and webhook endpoint: what was sent, what came back, and the way to send it again.',
  'webhook endpoints':
    'Where events are sent to: made, changed, tried and taken away here, each with secrets of its own.',
  ledger: 'The books: double entry, in cents, with nothing ever changed or removed.',
  settlement: 'What of the payments has been paid out to the merchant, as it is told by providers, files or by hand.',
  routing:
    'Which route a payment takes and why, the rules that the operator sets for it, and the health of the routes.',
  'test clock':
    'The time of a sandbox that was started with TEST_CLOCK=true: moved forward, it brings what a developer would wait for.',
  keys: 'Who may use the API, and what each key may do. A service is closed to others once it has a key.',
  agent: 'The same service for programs that know nothing of it beforehand: discovery, schemas and typed actions.',
  webhooks: 'What this service sends to the merchant after the state of a payment has changed.',
};
