const CUSTOMERS = 5000;

let sent = 0;

/** Body of a request for a session with every field, a new idempotency key and one of 5,000 buyers. */
export function sessionBody(): Record<string, unknown> {
  const number = sent++;
  return {
    product: 'Field guide to birds',
    amount: 49.99,
    customer: `buyer${number % CUSTOMERS}@example.com`,
    preferredRoute: 'card',
    redirectUrl: 'https://shop.example/thanks?cart=1001',
    metadata: { orderId: `A-${number}`, channel: 'web', campaign: 'spring' },
    idempotencyKey: `bench-order-${number}`,
    clientReferenceId: `ref-${number}`,
    environment: 'sandbox',
  };
}
