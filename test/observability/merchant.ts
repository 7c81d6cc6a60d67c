import assert from 'node:assert/strict';
import { type IncomingHttpHeaders, type RequestListener, createServer } from 'node:http';
import { text } from 'node:stream/consumers';

export interface ReceivedEvent {
  headers: IncomingHttpHeaders;
  body: string;
}

/** Webhook receiver of a merchant. */
export interface Merchant extends AsyncDisposable {
  url: string;
  /** HTTP status of the next responses. */
  status: number;
  received: ReceivedEvent[];
}

export async function startMerchant(): Promise<Merchant> {
  const merchant = { status: 200, received: [] as ReceivedEvent[] };
  const server = await listen(async (request, response) => {
    merchant.received.push({ headers: request.headers, body: await text(request) });
    response.writeHead(merchant.status).end();
  });
  return Object.assign(merchant, server);
}

/** Starts an HTTP server on a free port. */
export async function listen(
  listener: (...exchange: Parameters<RequestListener>) => unknown,
): Promise<{ url: string } & AsyncDisposable> {
  const server = createServer((...exchange) => void listener(...exchange));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  assert(address !== null && typeof address !== 'string');
  return {
    url: `http://127.0.0.1:${address.port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
