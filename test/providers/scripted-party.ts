import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

// Parts that the scripted servers of all providers share: the port, injected faults and the sending of callbacks.

/**
 * Fault of one request to the API. `before`: the fault precedes the operation, which is not executed; `after`: the operation
 * is executed.
 */
export type ApiFault =
  | 'error_500_before'
  | 'error_500_after'
  | 'rate_limited'
  | 'garbage_after'
  | 'empty_after'
  | 'other_amount_after'
  | 'other_payment_after'
  | 'forbidden'
  | 'drop_before'
  | 'drop_after'
  | 'hang_before'
  | 'hang_after';

/** Number of times that an event is sent, and the delay before. With 0 times the event is lost. */
export interface Sending {
  times: number;
  delayMs: number;
}

export interface Reply {
  status: number;
  body: object;
  headers?: Record<string, string>;
}

const HANG_MS = 60_000;

/** Creates a server on the loopback address that can go down and listen again at the same port. */
export function createPort(answer: (request: IncomingMessage, response: ServerResponse) => void, firstPort = 0) {
  let port = firstPort;
  let server: Server | undefined;
  return {
    /** Starts to listen; returns the URL. */
    async listen(): Promise<string> {
      server = createServer(answer);
      await new Promise<void>((resolve) => server!.listen(port, '127.0.0.1', resolve));
      port = (server.address() as AddressInfo).port;
      return `http://127.0.0.1:${port}`;
    },
    /** Closes the port: connections are refused until `listen`. */
    async goDown(): Promise<void> {
      server?.closeAllConnections();
      await new Promise((resolve) => server?.close(resolve));
    },
  };
}

/** Answers a request to the API with the reply, or with the fault. */
export async function answerWithFault(
  fault: ApiFault | undefined,
  request: IncomingMessage,
  response: ServerResponse,
  reply: () => Promise<Reply>,
): Promise<void> {
  if (fault === 'drop_before') return void request.socket.destroy();
  if (fault === 'hang_before') return hang(response);
  const { status, headers, body } = await reply();
  if (fault === 'drop_after') return void request.socket.destroy();
  if (fault === 'hang_after') return hang(response);
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(fault === 'garbage_after' ? '<html>oops' : JSON.stringify(fault === 'empty_after' ? {} : body));
}

/** Sends a callback; the status is 0 without an answer. */
export async function postCallback(
  url: string,
  callback: { body: string; headers: Record<string, string> },
): Promise<{ status: number; text: string }> {
  const answer = await fetch(url, { method: 'POST', ...callback }).catch(() => undefined);
  return { status: answer?.status ?? 0, text: (await answer?.text()) ?? '' };
}

/** Never answers. */
export function hang(response: ServerResponse): void {
  setTimeout(() => response.destroy(), HANG_MS).unref();
}

/** Sends callbacks. Callbacks without a delay are sent in order; a delayed callback arrives after later ones. */
export function createSendQueue() {
  let inOrder = Promise.resolve();
  let all = Promise.resolve();
  return {
    add({ times, delayMs }: Sending, send: () => Promise<unknown>): void {
      const before = delayMs > 0 ? sleep(delayMs) : inOrder;
      const sent = (async () => {
        await before;
        for (let each = 0; each < times; each++) await send();
      })();
      if (delayMs === 0) inOrder = sent;
      all = Promise.all([all, sent]).then(() => undefined);
    },
    /** Waits until all callbacks are sent. */
    sent: (): Promise<void> => all,
  };
}
