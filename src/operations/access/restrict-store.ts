import type { Environment } from '../../domain/route.ts';
import type { Change, Store } from '../../store/store.ts';
import { type Confined, confine, refuseForeign } from './confine.ts';

type Reads = Omit<Store, 'commit'>;

/** Reads of the workers and the router only; requests have no access to them. */
export const SERVICE_OPTIONS = [
  'close',
  'sessionsToWake',
  'tasksDue',
  'refundsDue',
  'deliveriesDue',
  'recoveriesLeft',
  'pendingDeliveries',
  'sealedSecrets',
  'outcomeTallies',
  'recentResults',
  'routeEstimates',
  'routeHealth',
  'ledgerTotal',
  'backlog',
  'apiKeyByHash',
  'apiKeysKnown',
] as const satisfies readonly (keyof Reads)[];

/** Reads of data that belongs to no environment. */
const SHARED = 'now onCommit ping testClock nextDue hasProduction routingRules hasUnplacedEvents'.split(' ');

/**
 * Restriction of each other read to the environment: `record` becomes undefined for a record of the other one, `records` are
 * filtered, and `filter` and `name` set the environment in the first argument.
 */
const CONFINED = {
  customer: 'record',
  session: 'record',
  payment: 'record',
  invoice: 'record',
  routingSnapshot: 'record',
  routingDecision: 'record',
  event: 'record',
  endpoint: 'record',
  delivery: 'record',
  journalEntry: 'record',
  settlement: 'record',
  refund: 'record',
  recovery: 'record',
  discrepancy: 'record',
  apiKey: 'record',
  routingDecisionsOfSession: 'records',
  eventsOfSession: 'records',
  endpoints: 'records',
  endpointSecrets: 'records',
  deliveriesOfSession: 'records',
  sessionsToErase: 'records',
  listCustomers: 'filter',
  listSessions: 'filter',
  listPayments: 'filter',
  listInvoices: 'filter',
  listTransitions: 'filter',
  listDeliveries: 'filter',
  listEvents: 'filter',
  journal: 'filter',
  listRefunds: 'filter',
  listFeed: 'filter',
  listDiscrepancies: 'filter',
  listApiKeys: 'filter',
  customerByEmail: 'name',
  sessionByIdempotencyKey: 'name',
  listRoutingDecisions: 'name',
  daySums: 'name',
  partitionsInUse: 'name',
  refundByIdempotencyKey: 'name',
} as const satisfies Partial<Record<keyof Reads, 'record' | 'records' | 'filter' | 'name'>>;

type Read = (...given: unknown[]) => Promise<unknown>;
type Owned = { environment: Environment };
type Listed = keyof typeof CONFINED | (typeof SERVICE_OPTIONS)[number];
type Shared =
  'now' | 'onCommit' | 'ping' | 'testClock' | 'nextDue' | 'hasProduction' | 'routingRules' | 'hasUnplacedEvents';

/**
 * The store for a caller that may see one environment only: records of the other one do not exist. Reads by id answer
 * undefined, lists leave them out, and an argument or a change set that names the other environment is rejected with
 * GatewayError `forbidden`. A read that no list here contains does not compile.
 */
export function restrictStore(store: Store, environment: Environment): Store {
  const within = confine(environment);
  const shared = SHARED.map((name) => [name, store[name as Shared]]);
  const refused = SERVICE_OPTIONS.map((name) => [name, () => refuse(name)]);
  const confined = Object.entries(CONFINED).map(([name, how]) => [
    name,
    confinedRead((...given) => (store[name as keyof Reads] as unknown as Read)(...given), how, within),
  ]);
  return {
    ...(Object.fromEntries([...shared, ...refused, ...confined]) as Pick<Reads, Listed | Shared>),
    ...ofOwners(store, within),
    commit: async (changes: Change[]) => {
      refuseForeign(changes, environment);
      return store.commit(changes);
    },
  };
}

function refuse(name: string): never {
  throw new Error(`${name} is not read for a request that is bound to an environment`);
}

function confinedRead(read: Read, how: (typeof CONFINED)[keyof typeof CONFINED], within: Confined): Read {
  const { own, owned, filtered, named } = within;
  switch (how) {
    case 'record':
      return async (...given) => own((await read(...given)) as Owned | undefined);
    case 'records':
      return async (...given) => ((await read(...given)) as Owned[]).filter(owned);
    case 'filter':
      return async (filter, ...others) => read(filtered(filter as Partial<Owned>), ...others);
    case 'name':
      return async (asked, ...others) => read(named(asked as Environment), ...others);
  }
}

/** Reads of records that belong to the environment of another record. */
function ofOwners(store: Store, { own, owned, named }: Confined): Omit<Reads, Listed | Shared> {
  const isSessionOwned = async (sessionId: string) => owned(await store.session(sessionId));
  return {
    checkout: async (sessionId) => {
      const checkout = await store.checkout(sessionId);
      return own(checkout?.session) && checkout;
    },
    messagesOfEvent: async (origin, eventId, sessionId) => {
      const messages = await store.messagesOfEvent(origin, eventId, sessionId);
      const isOwned = await Promise.all(messages.map((message) => isSessionOwned(message.sessionId)));
      return messages.filter((_, index) => isOwned[index]);
    },
    providerMessages: async (id) => ((await isSessionOwned(id)) ? store.providerMessages(id) : []),
    deliveryAttempts: async (id) => (owned(await store.delivery(id)) ? store.deliveryAttempts(id) : []),
    ledgerOfPayment: async (id) => (owned(await store.payment(id)) ? store.ledgerOfPayment(id) : []),
    partitionSum: async (shelf, stretch) => {
      named(shelf.environment);
      return store.partitionSum(shelf, stretch);
    },
    recentSums: async (shelves, after, until) => {
      for (const shelf of shelves) named(shelf.environment);
      return store.recentSums(shelves, after, until);
    },
    paymentsOfReference: async (reference) => {
      const ids = await store.paymentsOfReference(reference);
      const found = await Promise.all(ids.map((id) => store.payment(id)));
      return ids.filter((_, index) => owned(found[index]));
    },
    feedPosition: async (id) => (owned(await store.event(id)) ? store.feedPosition(id) : undefined),
    recoverableEvents: async (recovery, types, limit) =>
      owned(recovery) ? store.recoverableEvents(recovery, types, limit) : [],
    workInProgressFor: async (id) =>
      owned(await store.customer(id)) ? store.workInProgressFor(id) : { payments: [], refunds: [], deliveries: [] },
    apiKeySpend: async (id, day) => (owned(await store.apiKey(id)) ? store.apiKeySpend(id, day) : 0),
  };
}
