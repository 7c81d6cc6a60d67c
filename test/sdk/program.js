import { Tillway, TillwayError, webhooks } from '@tillway/sdk';

const SECRET = 'whsec_dGhlIHNlY3JldCBvZiB0aGUgcnVudGltZSB0ZXN0cyE=';

/** A small integration that the tests run in every runtime. Resolves with its results. */
export async function program(baseUrl) {
  const tillway = new Tillway({ baseUrl });
  const customer = `buyer-${crypto.randomUUID()}@example.com`;
  for (let count = 0; count < 3; count++) {
    await tillway.sessions.create({ product: 'Field guide', amount: 10 + count, customer });
  }
  const amounts = [];
  for await (const session of tillway.sessions.list({ customer, limit: 2 })) amounts.push(session.amount);

  const refused = await tillway.sessions.get('chk_none').catch((error) => error);
  // No program listens on this port. fetch itself blocks ports 1 and 9.
  const gone = await new Tillway({ baseUrl: 'http://127.0.0.1:2', maxRetries: 0 })
    .capabilities()
    .catch((error) => error);
  const payload = webhooks.sampleEvent('payment.paid', { data: { metadata: { größe: 'XL €' } } });
  const { headers, body } = await webhooks.sign({ payload, secret: SECRET });
  const event = await webhooks.verify(new TextEncoder().encode(body), new Headers(headers), SECRET);
  const forged = await webhooks.verify(body.replace('49.99', '0.01'), headers, SECRET).catch((error) => error.reason);

  return {
    amounts,
    refused: refused instanceof TillwayError ? refused.code : 'not refused',
    gone: gone instanceof TillwayError ? gone.code : 'not gone',
    event: event.type,
    forged,
  };
}
