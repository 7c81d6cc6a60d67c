import type { Delivery, DeliveryAttempt } from '../../domain/delivery.ts';
import type { ProviderMessage } from '../../domain/provider-message.ts';
import type { Checkout, Customer } from '../../domain/records.ts';
import type { Refund } from '../../domain/refund-record.ts';
import type { PageResult, Page } from '../../store/list-page.ts';
import type { MerchantEvent } from '../../store/webhooks-port.ts';
import type { Deps } from '../deps.ts';
import { getCustomer } from '../read-records.ts';

const PAGE_SIZE = 100;

/** All stored data of one session. */
export interface SessionFile extends Checkout {
  events: MerchantEvent[];
  deliveries: { delivery: Delivery; log: DeliveryAttempt[] }[];
  messages: ProviderMessage[];
  refunds: Refund[];
}

export interface CustomerFile {
  customer: Customer;
  /** Newest first. */
  sessions: SessionFile[];
}

/** All stored data about one buyer, read page by page. Throws GatewayError `not_found`. */
export async function exportCustomer(deps: Pick<Deps, 'store'>, id: string): Promise<CustomerFile> {
  const { store } = deps;
  const customer = await getCustomer(deps, id);
  const sessions = await allOf((page) => store.listSessions({ customer: id }, page));
  const files: SessionFile[] = [];
  for (const session of sessions) files.push(await fileOf(deps, session.id));
  return { customer, sessions: files };
}

async function fileOf({ store }: Pick<Deps, 'store'>, sessionId: string): Promise<SessionFile> {
  const checkout = (await store.checkout(sessionId))!;
  const deliveries = await store.deliveriesOfSession(sessionId);
  return {
    ...checkout,
    discrepancies: checkout.discrepancies.toReversed(),
    events: await store.eventsOfSession(sessionId),
    deliveries: await Promise.all(
      deliveries.map(async (delivery) => ({ delivery, log: await store.deliveryAttempts(delivery.id) })),
    ),
    messages: await store.providerMessages(sessionId),
    refunds: await allOf((page) => store.listRefunds({ sessionId }, page)),
  };
}

async function allOf<Item extends { id: string }>(list: (page: Page) => Promise<PageResult<Item>>): Promise<Item[]> {
  const all: Item[] = [];
  for (;;) {
    const last = all.at(-1);
    const { items, hasMore } = await list({ limit: PAGE_SIZE, ...(last && { startingAfter: last.id }) });
    all.push(...items);
    if (!hasMore) return all;
  }
}
