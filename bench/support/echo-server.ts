import { fastify } from 'fastify';
import { inputReader } from '../../src/contract/input-problems.ts';
import { sessionRequest } from '../../src/contract/session-contract.ts';

// The baseline: a Fastify server that parses and validates a session request with Tillway's schema, and stores nothing.
const reader = inputReader(sessionRequest);
const app = fastify();
app.get('/healthz', async () => ({ ok: true }));
app.post('/api/gateway/sessions', async (request) => reader.read(request.body));
// Prepared responses with the shape of Tillway's responses to GET requests.
const payment = JSON.stringify({
  id: 'pay_01m7x0e9zb4c7r2k5v8q1w3n6t0y9f2d4h7j',
  object: 'payment',
  customerId: 'cus_01m7x0e4kp6z2s8d4g1k7n0q3v9x5b2f8h4c',
  invoiceId: 'inv_01m7x0e9zd8n3m6x1c5v0b2k7q9r4t3w8y1z',
  sessionId: 'chk_01m7x0e4kq3v8n5c2t9y6w1r4b7d0f3h5j8m',
  amount: 49.99,
  currency: 'USD',
  status: 'paid',
  ledgerStatus: 'pending',
  created: '2026-01-15T09:30:00.000Z',
  route: { id: 'sandbox_card_acquirer', kind: 'card', label: 'Card, simulated acquirer' },
  fees: { buyer_fee: 0, gateway_fee: 1.45, merchant_net: 48.54, total: 49.99 },
  metadata: { orderId: 'A-1001' },
  environment: 'sandbox',
});
const list = `{"object":"list","data":[${Array.from({ length: 20 }, () => payment).join(',')}],"hasMore":true}`;
app.get('/payment', (_request, reply) => reply.type('application/json').send(payment));
app.get('/list', (_request, reply) => reply.type('application/json').send(list));
await app.listen({ host: '127.0.0.1', port: Number(process.env['PORT']) });
