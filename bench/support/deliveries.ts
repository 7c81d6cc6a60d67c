import { once } from 'node:events';
import { createServer } from 'node:http';
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { Pool } from 'undici';
import { type WebhookEndpoint, newEndpoint } from '../../src/domain/webhook-endpoint.ts';
import type { Store } from '../../src/store/store.ts';
import type { MerchantEvent } from '../../src/store/webhooks-port.ts';
import { createResolve } from '../../src/webhooks/address.ts';
import { createDeliverers } from '../../src/webhooks/deliver.ts';
import { deliveryHeaders } from '../../src/webhooks/sign.ts';
import { createDispatcher } from '../../src/workers/dispatcher.ts';
import { newId, sessionWithEvents } from '../../test/webhooks/fixtures.ts';

/** Limit of the dispatcher for concurrent attempts to one endpoint. */
export const CONCURRENCY = 32;
const RECEIVER = 'webhook receiver';
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

/** Starts a receiver of webhooks in a thread of its own. */
export async function startReceiver(): Promise<{ url: string } & AsyncDisposable> {
  const receiver = new Worker(new URL(import.meta.url), { workerData: RECEIVER });
  const [port]: number[] = await once(receiver, 'message');
  return {
    url: `http://127.0.0.1:${port}/hook`,
    async [Symbol.asyncDispose]() {
      await receiver.terminate();
    },
  };
}

/** Sends jobs of one kind: `prepare` stores them, then `send` delivers all of them and returns when their outcomes are stored. */
export interface Sender extends AsyncDisposable {
  prepare(count: number): Promise<void>;
  send(count: number): Promise<void>;
}

/** The dispatcher of the service, on a store that it closes. */
export async function dispatcherOn(store: Store, url: string): Promise<Sender> {
  const endpoint = newEndpoint({ id: newId('whe'), environment: 'sandbox', url, created: Date.now() });
  await store.commit([{ type: 'endpoint_saved', endpoint }]);
  const dispatcher = createDispatcher({
    store,
    now: () => store.now(),
    realNow: Date.now,
    tracing: undefined,
    random: Math.random,
    secretsOf: async () => [{ secret: SECRET, expiresAt: null }],
    deliverers: createDeliverers({ targets: 'loopback', resolve: createResolve(), now: Date.now }),
    log: { info: () => undefined, warn: report, error: report },
  });
  return {
    prepare: (count) => preload(store, endpoint, count),
    async send(count) {
      const attempts = await dispatcher.runOnce();
      if (attempts !== count) throw new Error(`${attempts} attempts for ${count} events`);
    },
    async [Symbol.asyncDispose]() {
      await dispatcher.stop(1000);
      await store.close();
    },
  };
}

/** A loop that signs and posts the same event, without a queue. */
export function bareLoopTo(url: string): Sender {
  const pool = new Pool(new URL(url).origin, { connections: CONCURRENCY, pipelining: 1 });
  const event = newEvent();
  return {
    prepare: () => Promise.resolve(),
    async send(count) {
      let left = count;
      async function lane(): Promise<void> {
        while (left-- > 0) await post(pool, event);
      }
      await Promise.all(Array.from({ length: CONCURRENCY }, lane));
    },
    [Symbol.asyncDispose]: () => pool.close(),
  };
}

/** Signs an event and posts it. */
export async function post(pool: Pool, { id, body }: Pick<MerchantEvent, 'id' | 'body'>): Promise<void> {
  const timestamp = Math.floor(Date.now() / 1000);
  const headers = deliveryHeaders({ eventId: id, body, timestamp, secrets: [SECRET] });
  const answer = await pool.request({ path: '/hook', method: 'POST', headers, body });
  await answer.body.dump();
}

/** An event that belongs to no endpoint. */
export function newEvent(): MerchantEvent {
  return sessionWithEvents([]).events[0]!;
}

/** Jobs per second of a sender. */
export async function rateOf(sender: Sender, count: number): Promise<number> {
  await sender.prepare(count);
  const began = performance.now();
  await sender.send(count);
  return (count * 1000) / (performance.now() - began);
}

function report(fields: object, message: string): void {
  process.stdout.write(`${message} ${JSON.stringify(fields)}\n`);
}

async function preload(store: Store, endpoint: WebhookEndpoint, count: number): Promise<void> {
  const sessions = Array.from({ length: count }, () => sessionWithEvents([endpoint]));
  const results = await Promise.all(sessions.map(({ changes }) => store.commit(changes)));
  if (results.some(({ done }) => !done)) throw new Error('events could not be preloaded');
}

async function receive(): Promise<void> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(200).end('ok'));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  parentPort!.postMessage(typeof address === 'object' ? address?.port : undefined);
}

if (!isMainThread && workerData === RECEIVER) await receive();
