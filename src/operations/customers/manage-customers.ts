import { GatewayError, invalidField } from '../../domain/gateway-error.ts';
import type { Customer, Session, Checkout } from '../../domain/records.ts';
import { assertCan } from '../access/caller.ts';
import type { Deps } from '../deps.ts';
import { getCustomer } from '../read-records.ts';
import { retryOnConflict } from '../retry-on-conflict.ts';
import { eraseCustomer as erased, eraseEventBody, eraseSession } from '../../domain/personal-data.ts';
import type { PersonalWorkInProgress } from '../../store/tables/erasure-table.ts';
import type { Change } from '../../store/store.ts';
import type { Delivery, DeliveryAttempt } from '../../domain/delivery.ts';
import type { ProviderMessage } from '../../domain/provider-message.ts';
import type { Refund } from '../../domain/refund-record.ts';
import type { PageResult, Page } from '../../store/list-page.ts';
import type { MerchantEvent } from '../../store/webhooks-port.ts';

type Blocking = Pick<Deps, 'store' | 'caller' | 'realNow'>;

/** Blocks new sessions and payments of a customer. Throws GatewayError `not_found`, `forbidden`, `invalid_state` for an erased customer. */
export async function blockCustomer(deps: Blocking, id: string, reason: string | null): Promise<Customer> {
  assertCan(deps, 'customer.block');
  return changeStatus(deps, id, (customer) => ({
    ...customer,
    status: 'blocked',
    statusReason: reason ?? customer.statusReason,
  }));
}

/** Unblocks a customer. Throws the same errors as {@link blockCustomer}. */
export async function unblockCustomer(deps: Blocking, id: string): Promise<Customer> {
  assertCan(deps, 'customer.block');
  return changeStatus(deps, id, (customer) => ({ ...customer, status: 'active', statusReason: null }));
}

function changeStatus(deps: Blocking, id: string, moved: (customer: Customer) => Customer): Promise<Customer> {
  return retryOnConflict(deps, `customer ${id}`, async () => {
    const before = await getCustomer(deps, id);
    if (before.status === 'erased')
      throw new GatewayError('invalid_state', `Customer ${id} is erased: nothing can be created for it any more.`, {
        suggestion: 'Leave it. A buyer who comes back with the same address is another customer, who can be blocked.',
      });
    const customer = moved(before);
    const isSame = customer.status === before.status && customer.statusReason === before.statusReason;
    return {
      changes: isSame ? [] : [{ type: 'customer_status_changed', customer, from: before.status }],
      result: customer,
    };
  });
}

// Almost every buyer has fewer sessions, so the erasure usually takes one transaction.
const SESSIONS_AT_ONCE = 200;
// Each conflict is a concurrent change of one of the sessions.
const MAX_CONFLICTS = 50;

/**
 * Erases the personal data of a buyer for good; amounts, states, ids and the ledger stay. `confirm` must be the
 * customer's id. A repeated call erases data that arrived since, and continues an interrupted erasure. Throws
 * GatewayError `not_found`; `invalid_input` if `confirm` is wrong; `invalid_state`, naming the records, while work is in
 * progress for the customer.
 */
export async function eraseCustomer(deps: Pick<Deps, 'store' | 'log'>, id: string, confirm: string): Promise<Customer> {
  const { store } = deps;
  const before = await getCustomer(deps, id);
  if (confirm !== id) {
    const advice = `Set confirm to "${id}"; then resend.`;
    throw invalidField('confirm', 'invalid_value', 'is not the id of the customer', advice);
  }
  const customer = erased(before);
  let conflicts = 0;
  for (let isFirst = true; ;) {
    const sessions = await store.sessionsToErase(id, SESSIONS_AT_ONCE);
    const changes: Change[] = isFirst ? [{ type: 'customer_erased', customer, from: before.status }] : [];
    for (const session of sessions) changes.push(await erasureOf(deps, session));
    if (changes.length === 0) break;
    const result = await store.commit(changes);
    if (result.done) isFirst = false;
    else if (result.conflict === 'overtaken') return eraseCustomer(deps, id, confirm);
    else {
      const workInProgress = await store.workInProgressFor(id);
      if (Object.values(workInProgress).flat().length > 0) throw workInProgressError(id, workInProgress);
      if (++conflicts === MAX_CONFLICTS)
        throw new GatewayError('unavailable', `The sessions of customer ${id} are changing too fast; try again.`);
    }
  }
  deps.log.info({ customerId: id }, 'customer erased');
  return customer;
}

async function erasureOf({ store }: Pick<Deps, 'store'>, session: Session): Promise<Change> {
  const events = await store.eventsOfSession(session.id);
  return {
    type: 'session_erased',
    session: eraseSession(session),
    from: session.status,
    events: events.map(({ id, body }) => ({ id, body: eraseEventBody(body) })),
  };
}

function workInProgressError(id: string, { payments, refunds, deliveries }: PersonalWorkInProgress): GatewayError {
  const parts = [
    ...(payments.length > 0 ? [`payments are pending (${payments.join(', ')})`] : []),
    ...(refunds.length > 0 ? [`refunds are pending (${refunds.join(', ')})`] : []),
    ...(deliveries.length > 0 ? [`events are still to be delivered (${deliveries.join(', ')})`] : []),
  ];
  return new GatewayError('invalid_state', `Customer ${id} cannot be erased yet: ${parts.join('; ')}.`, {
    suggestion: 'Block the customer, so that nothing new begins, and erase it once these have ended.',
  });
}

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
