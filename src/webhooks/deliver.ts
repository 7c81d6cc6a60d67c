import { isIP } from 'node:net';
import { StringDecoder } from 'node:string_decoder';
import type { buildConnector, Dispatcher as HttpDispatcher, Pool } from 'undici';
import type { DeliveryAttempt } from '../domain/delivery.ts';
import type { Instant } from '../domain/records.ts';
import type { Environment } from '../domain/route.ts';
import {
  BlockedDestination,
  type ResolveHost,
  type WebhookTargets,
  blockReason,
  guardedLookup,
  targetsOf,
} from './address.ts';
import { httpClient } from './http-client.ts';
import { parseRetryAfter } from './retry.ts';

/** Result of one POST request to an endpoint. */
export interface Exchange extends Omit<DeliveryAttempt, 'deliveryId' | 'number' | 'started'> {
  retryAfterMs?: number;
}

export interface DeliveryLimits {
  /** Limit for DNS, TCP and TLS, accurate to half a second. */
  connectMs: number;
  /** Limit from DNS to the last byte of the answer. */
  totalMs: number;
  /** Maximum stored size of the answer. The socket of a longer answer is destroyed. */
  bodyBytes: number;
}

const DELIVERY_LIMITS: DeliveryLimits = { connectMs: 5000, totalMs: 15_000, bodyBytes: 16 * 1024 };

export interface Deliverer {
  /** Makes one POST without redirects, proxy or decompression. Never rejects: an error is a `failure`. */
  deliver(url: string, headers: Record<string, string>, body: string): Promise<Exchange>;
  /** Aborts the requests in progress. */
  close(): Promise<void>;
}

interface Receiver {
  pool: Pool;
  path: string;
}

const MAX_HEADER_BYTES = 16 * 1024;
const USER_AGENT = 'Tillway-Webhooks/1';

interface DelivererOptions {
  targets: WebhookTargets;
  resolve: ResolveHost;
  now: () => Instant;
  limits?: DeliveryLimits;
}

/** One deliverer for each environment, because sandbox and production may connect to different addresses, even with the same URL. */
export interface Deliverers extends Readonly<Record<Environment, Deliverer>> {
  close(): Promise<void>;
}

export function createDeliverers(options: DelivererOptions): Deliverers {
  const [sandbox, production] = (['sandbox', 'production'] as const).map((environment) =>
    createDeliverer({ ...options, targets: targetsOf(environment, options.targets) }),
  ) as [Deliverer, Deliverer];
  return { sandbox, production, close: async () => void (await Promise.all([sandbox.close(), production.close()])) };
}

export function createDeliverer(options: DelivererOptions): Deliverer {
  const { targets, resolve, now, limits = DELIVERY_LIMITS } = options;
  let connect: buildConnector.connector | undefined;
  // Never evicts an entry: a URL takes a few kilobytes, and its idle connections close.
  const receivers = new Map<string, Receiver>();

  // Each URL has its own connections, without a limit, so that endpoints on one host never wait for each other.
  async function receiverOf(url: string): Promise<Receiver | undefined> {
    const client = await httpClient();
    const known = receivers.get(url);
    if (known) return known;
    const parsed = URL.parse(url);
    if (parsed?.protocol !== 'https:' && parsed?.protocol !== 'http:') return undefined;
    const { origin, pathname, search } = parsed;
    connect ??= guardedConnector(
      client.buildConnector({ timeout: limits.connectMs, lookup: guardedLookup(targets, resolve) }),
      targets,
    );
    const pool = new client.Pool(origin, {
      connect,
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: MAX_HEADER_BYTES,
    });
    const receiver = { pool, path: pathname + search };
    receivers.set(url, receiver);
    return receiver;
  }

  return {
    async deliver(url, headers, body) {
      const receiver = await receiverOf(url);
      if (!receiver) return notSent('the URL of the endpoint is not an http or https URL');
      const { pool, path } = receiver;
      const request = { path, method: 'POST', headers: { ...headers, 'user-agent': USER_AGENT }, body } as const;
      return exchange(pool, request, limits, now);
    },
    async close() {
      const open = [...receivers.values()];
      receivers.clear();
      await Promise.all(open.map(({ pool }) => pool.destroy()));
    },
  };
}

/** Checks the address of each new socket: of a host name after its DNS lookup, of a literal address before connecting. */
function guardedConnector(connect: buildConnector.connector, targets: WebhookTargets): buildConnector.connector {
  return (options, callback) => {
    // Literal addresses skip the lookup. The URL parser has normalised them.
    const reason = isIP(options.hostname) === 0 ? undefined : blockReason(options.hostname, targets);
    if (reason === undefined) connect(options, callback);
    else process.nextTick(callback, new BlockedDestination(options.hostname, reason), null);
  };
}

function exchange(
  pool: Pool,
  request: HttpDispatcher.DispatchOptions,
  limits: DeliveryLimits,
  now: () => Instant,
): Promise<Exchange> {
  return new Promise((resolve) => {
    const began = performance.now();
    let controller: HttpDispatcher.DispatchController | undefined;
    let ended = false;
    let statusCode: number | null = null;
    let retryAfter: string | undefined;
    let stored = Buffer.alloc(0);
    const deadline = setTimeout(cut, limits.totalMs, `no complete answer within ${seconds(limits.totalMs)}`);

    function cut(reason: string): void {
      end(reason);
      controller?.abort(new Error(reason));
    }

    function end(reason: string): void {
      if (ended) return;
      ended = true;
      clearTimeout(deadline);
      const retryAfterMs = retryAfter === undefined ? undefined : parseRetryAfter(retryAfter, now());
      resolve({
        statusCode,
        // Status 200 acknowledges the event, even if the rest of the answer cannot be read.
        failure: statusCode === null ? reason : failureOfStatus(statusCode),
        responseBody: storableText(stored),
        durationMs: Math.floor(performance.now() - began),
        ...(retryAfterMs !== undefined && { retryAfterMs }),
      });
    }

    pool.dispatch(request, {
      onRequestStart(started) {
        controller = started;
        // The deadline passed before the connection was open.
        if (ended) started.abort(new Error('too late'));
      },
      onResponseStart(_, status, headers) {
        if (status < 200) return;
        statusCode = status;
        const header = headers['retry-after'];
        retryAfter = Array.isArray(header) ? header[0] : header;
      },
      onResponseData(_, chunk) {
        const room = limits.bodyBytes - stored.length;
        stored = Buffer.concat([stored, chunk.subarray(0, room)]);
        if (chunk.length > room) cut('the answer is too long');
      },
      onResponseEnd() {
        end('no answer');
      },
      onResponseError(_, error) {
        end(failureOfError(error, limits));
      },
    });
  });
}

/** The exchange of an attempt that sent nothing. */
export function notSent(failure: string): Exchange {
  return { statusCode: null, failure, responseBody: '', durationMs: 0 };
}

function failureOfStatus(status: number): string | null {
  if (status === 200) return null;
  if (status < 300) return `answered ${status}, and only 200 acknowledges`;
  if (status < 400) return `answered ${status}, and redirects are not followed`;
  return `answered ${status}`;
}

/** Failure text for an error of Node or undici. A refused connection has the same text for one address and for several. */
function failureOfError(error: Error, limits: DeliveryLimits): string {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (code === 'ECONNREFUSED') return 'connection refused';
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return `no connection within ${seconds(limits.connectMs)}`;
  return printable(error.message || code || error.name);
}

function seconds(ms: number): string {
  return `${ms / 1000} s`;
}

// Limits characters and length, because a message can contain text of the receiver, such as the names in a certificate.
function printable(message: string): string {
  return message.replaceAll(/[^\x20-\x7e]+/g, ' ').slice(0, 200);
}

/** Text that databases accept: without NUL, a truncated last character or other invalid UTF-8. */
function storableText(bytes: Buffer): string {
  if (bytes.length === 0) return '';
  return new StringDecoder('utf8').write(bytes).replaceAll('\0', '\u{fffd}');
}
