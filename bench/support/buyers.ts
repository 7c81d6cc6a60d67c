import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Pool } from 'undici';
import { sessionBody } from './session-body.ts';

/** A merchant's receiver of webhooks, which tells when the event `payment.paid` of a session has arrived. */
export interface Merchant extends AsyncDisposable {
  url: string;
  secret: string;
  paid(sessionId: string): Promise<void>;
}

const PAID = /^evt_(.+)_paid$/;

export async function startMerchant(): Promise<Merchant> {
  const waiting = new Map<string, () => void>();
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.end('ok'));
    const session = PAID.exec(String(request.headers['webhook-id']))?.[1] ?? '';
    waiting.get(session)?.();
    waiting.delete(session);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/webhooks`,
    secret: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
    paid: (sessionId) => new Promise((resolve) => waiting.set(sessionId, resolve)),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Buyers that pay one session after another in the simulated provider, until `until` returns true. Returns the number of payments. */
export async function payWith(
  buyers: number,
  { port }: { port: number },
  merchant: Merchant,
  until: () => boolean,
): Promise<number> {
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: buyers });
  let payments = 0;
  async function buy(): Promise<void> {
    while (!until()) {
      await pay(pool, merchant);
      payments++;
    }
  }
  await Promise.all(Array.from({ length: buyers }, buy));
  await pool.close();
  return payments;
}

/**
 * The whole of one payment by card: the merchant creates a session; the buyer opens the checkout page, chooses the card, opens
 * the provider's page, pays and returns; the merchant receives the webhook.
 */
async function pay(pool: Pool, merchant: Merchant): Promise<void> {
  const created = await send(pool, '/api/gateway/sessions', 'application/json', JSON.stringify(sessionBody()));
  const { id } = JSON.parse(created.text) as { id: string };
  const paid = merchant.paid(id);
  const { text } = await send(pool, `/checkout/${id}`);
  const total = /name="total_card" value="(\d+)"/.exec(text)![1]!;
  const started = await submit(pool, `/checkout/${id}/pay`, { kind: 'card', total_card: total });
  const leaving = await send(pool, started);
  const provider = pathIn(/content="0;url=([^"]*)"/.exec(leaving.text)![1]!.replaceAll('&amp;', '&'));
  await send(pool, provider);
  const returned = await submit(pool, provider, {
    number: '4242 4242 4242 4242',
    expiry: '12 / 34',
    cvc: '123',
    name: 'Test Buyer',
  });
  for (let page: string | undefined = returned; page !== undefined;) page = (await send(pool, page)).location;
  await paid;
}

/** Submits a form; returns the path that the answer redirects to. */
async function submit(pool: Pool, path: string, fields: Record<string, string>): Promise<string> {
  const form = String(new URLSearchParams(fields));
  const { location } = await send(pool, path, 'application/x-www-form-urlencoded', form);
  if (location === undefined) throw new Error(`${path}: no redirect`);
  return location;
}

async function send(pool: Pool, path: string, type?: string, body: string | null = null) {
  const method = type === undefined ? 'GET' : 'POST';
  const headers = type === undefined ? {} : { 'content-type': type };
  const {
    statusCode,
    headers: answered,
    body: answer,
  } = await pool.request<undefined>({ path, method, headers, body });
  const text = await answer.text();
  if (statusCode >= 400) throw new Error(`${path}: ${statusCode} ${text.slice(0, 300)}`);
  const location = answered['location'];
  return { text, location: typeof location === 'string' ? pathIn(location) : undefined };
}

function pathIn(location: string): string {
  const { pathname, search } = new URL(location, 'http://127.0.0.1');
  return pathname + search;
}
