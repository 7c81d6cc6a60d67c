import { type IncomingHttpHeaders, type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

type Answer = (request: IncomingMessage, response: ServerResponse & { req: IncomingMessage }) => unknown;

/** Starts an HTTP server on the loopback address, on a free port by default. */
export async function startServer(answer: Answer, port = 0): Promise<AsyncDisposable & { url: string }> {
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Webhook receiver of a merchant. */
export interface MerchantServer extends AsyncDisposable {
  url: string;
  /** HTTP status of the next responses. */
  status: number;
  received: { headers: IncomingHttpHeaders; body: string }[];
}

export async function startMerchant(): Promise<MerchantServer> {
  const merchant = { status: 200, received: [] as MerchantServer['received'] };
  const server = await startServer(async (request, response) => {
    merchant.received.push({ headers: request.headers, body: await text(request) });
    response.writeHead(merchant.status).end();
  });
  return Object.assign(merchant, server);
}
