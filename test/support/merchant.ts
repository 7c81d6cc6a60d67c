import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { z } from 'zod';
import type { DeliveryResource, deliveryDetails } from '../../src/contract/delivery-contract.ts';
import type { ProviderStatus } from '../../src/domain/records.ts';
import { SECRET, receiver } from '../webhooks/fixtures.ts';
import { providerSays } from './money-arrives.ts';
import { type TestService, call, sessionBody, startTestService } from './service.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
/** Pauses before delivery attempts: longer than the sandbox delay with jitter, and shorter than the next delay. */
export const WAITS = [0, 7 * SECOND, 90 * SECOND, 13 * MINUTE, 73 * MINUTE];

export type DeliveryDetails = z.output<typeof deliveryDetails>;

/** A page of a list. */
export interface List<Item> {
  object: string;
  data: Item[];
  hasMore: boolean;
}

/** A service, and the server of a merchant that receives its events. */
export interface Merchant {
  tillway: TestService;
  /** URL of the gateway API. */
  gateway: string;
  received: { body: string; headers: Record<string, string | undefined> }[];
  /** Creates a session and applies reports of its provider; returns the id of the session. */
  sell(statuses: readonly ProviderStatus[], fields?: Record<string, unknown>): Promise<string>;
  deliveries(query?: string): Promise<DeliveryResource[]>;
  delivery(id: string): Promise<DeliveryDetails>;
  replay(id: string): Promise<DeliveryResource>;
  resend(eventId: string): Promise<DeliveryResource[]>;
  /** Types of the received events. */
  types(): string[];
  /** Current time of the service, as an API timestamp. */
  now(): string;
  /** Advances the clock past the whole retry schedule. */
  exhaust(): Promise<void>;
}

export function merchantOf(tillway: TestService, received: Merchant['received'] = []): Merchant {
  const gateway = `${tillway.url}/api/gateway`;
  return {
    tillway,
    gateway,
    received,
    async sell(statuses, fields = {}) {
      const { body } = await call<{ id: string }>('POST', `${gateway}/sessions`, sessionBody(fields));
      for (const status of statuses) await providerSays(tillway, body.id, status);
      return body.id;
    },
    async deliveries(query = '') {
      return (await call<List<DeliveryResource>>('GET', `${gateway}/deliveries?${query}`)).body.data;
    },
    async delivery(id) {
      return (await call<DeliveryDetails>('GET', `${gateway}/deliveries/${id}`)).body;
    },
    async replay(id) {
      const { status, body } = await call<DeliveryResource>('POST', `${gateway}/deliveries/${id}/replay`);
      assert.equal(status, 200);
      return body;
    },
    async resend(eventId) {
      const { status, body } = await call<List<DeliveryResource>>('POST', `${gateway}/events/${eventId}/resend`);
      assert.deepEqual([status, body.object, body.hasMore], [200, 'list', false]);
      return body.data;
    },
    types: () => received.map(({ body }) => (JSON.parse(body) as { type: string }).type),
    now: () => new Date(tillway.clock.now()).toISOString(),
    async exhaust() {
      for (const wait of WAITS) await tillway.pass(wait);
    },
  };
}

/** A merchant whose server answers with the status that `answer` returns. */
export async function openMerchant(context: TestContext, answer: () => number = () => 200): Promise<Merchant> {
  const { url, received } = await receiver(context, (_, __, response) => {
    response.writeHead(answer()).end('from the shop');
  });
  const tillway = await startTestService({ variables: { WEBHOOK_URL: url, WEBHOOK_SECRET: SECRET } });
  context.after(() => tillway[Symbol.asyncDispose]());
  return merchantOf(tillway, received as Merchant['received']);
}
