import type { Environment } from '../../domain/route.ts';
import type { ApiKeyReads } from '../../store/api-keys.ts';
import type { DiscrepancyReads } from '../../store/discrepancies.ts';
import type { FeedReads } from '../../store/feed.ts';
import type { LedgerReads } from '../../store/ledger.ts';
import type { PersonalDataReads } from '../../store/personal-data.ts';
import type { RefundReads } from '../../store/refunds.ts';
import type { Change, Store } from '../../store/store.ts';
import type { WebhookReads } from '../../store/webhooks.ts';
import { type Confined, confine, refuseForeign } from './confine.ts';

/** What belongs to no environment: anybody who may ask at all sees the same. */
const SHARED = [
  'now',
  'onCommit',
  'ping',
  'testClock',
  'nextDue',
  'hasProduction',
  'routingRules',
  'hasUnplacedEvents',
] as const;

/** Reads of the workers and the router only; requests have no access to them. */
export const OF_THE_SERVICE = [
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
] as const satisfies readonly (keyof Store)[];

type Shared = (typeof SHARED)[number];
type OfTheService = (typeof OF_THE_SERVICE)[number];
/** The reads of a topic that show records of an environment. */
type Of<Reads> = Omit<Reads, Shared | OfTheService>;
type Topics = ApiKeyReads & DiscrepancyReads & FeedReads & LedgerReads & PersonalDataReads & RefundReads & WebhookReads;
type Sales = Of<Omit<Store, keyof Topics | 'commit'>>;

/**
 * The store as whoever may see one environment only: records of the other one do not exist. Reads by id answer
 * undefined, lists leave them out, and what names the other environment is refused with GatewayError `forbidden`, as
 * is a change set that carries a record of it. A read that stands in no list here is not there at all.
 */
export function restrictStore(store: Store, environment: Environment): Store {
  const within = confine(environment);
  return {
    ...only(store, SHARED),
    ...refused(OF_THE_SERVICE),
    ...sales(store, within),
    ...routing(store, within),
    ...webhooks(store, within),
    ...ledger(store, within),
    ...refunds(store, within),
    ...feed(store, within),
    ...discrepancies(store, within),
    ...personalData(store, within),
    ...apiKeys(store, within),
    commit: async (changes: Change[]) => {
      refuseForeign(changes, environment);
      return store.commit(changes);
    },
  };
}

type Routing = Pick<
  Sales,
  'listTransitions' | 'routingSnapshot' | 'routingDecision' | 'routingDecisionsOfSession' | 'listRoutingDecisions'
>;

function sales(store: Store, { own, owned, filtered, named, ifSession }: Confined): Omit<Sales, keyof Routing> {
  return {
    customer: async (id) => own(await store.customer(id)),
    customerByEmail: (environment, email) => store.customerByEmail(named(environment), email),
    session: async (id) => own(await store.session(id)),
    sessionByIdempotencyKey: (environment, key) => store.sessionByIdempotencyKey(named(environment), key),
    checkout: async (sessionId) => {
      const checkout = await store.checkout(sessionId);
      return own(checkout?.session) && checkout;
    },
    payment: async (id) => own(await store.payment(id)),
    invoice: async (id) => own(await store.invoice(id)),
    listCustomers: (filter, page) => store.listCustomers(filtered(filter), page),
    listSessions: (filter, page) => store.listSessions(filtered(filter), page),
    listPayments: (filter, page) => store.listPayments(filtered(filter), page),
    listInvoices: (filter, page) => store.listInvoices(filtered(filter), page),
    messagesOfEvent: async (origin, eventId, sessionId) => {
      const messages = await store.messagesOfEvent(origin, eventId, sessionId);
      const sessions = await Promise.all(messages.map((message) => store.session(message.sessionId)));
      return messages.filter((_, index) => owned(sessions[index]));
    },
    providerMessages: (sessionId) => ifSession(store, sessionId, store.providerMessages),
  };
}

function routing(store: Store, { own, owned, filtered, named }: Confined): Routing {
  return {
    listTransitions: (filter, page) => store.listTransitions(filtered(filter), page),
    routingSnapshot: async (id) => own(await store.routingSnapshot(id)),
    routingDecision: async (id) => own(await store.routingDecision(id)),
    routingDecisionsOfSession: async (sessionId) => (await store.routingDecisionsOfSession(sessionId)).filter(owned),
    listRoutingDecisions: (environment, page) => store.listRoutingDecisions(named(environment), page),
  };
}

function webhooks(store: Store, { own, owned, filtered }: Confined): Of<WebhookReads> {
  return {
    event: async (id) => own(await store.event(id)),
    eventsOfSession: async (sessionId) => (await store.eventsOfSession(sessionId)).filter(owned),
    endpoints: async () => (await store.endpoints()).filter(owned),
    endpoint: async (id) => own(await store.endpoint(id)),
    endpointSecrets: async (ids) => (await store.endpointSecrets(ids)).filter(owned),
    delivery: async (id) => own(await store.delivery(id)),
    deliveriesOfSession: async (sessionId) => (await store.deliveriesOfSession(sessionId)).filter(owned),
    deliveryAttempts: async (id) => (owned(await store.delivery(id)) ? store.deliveryAttempts(id) : []),
    listDeliveries: (filter, page) => store.listDeliveries(filtered(filter), page),
    listEvents: (filter, page) => store.listEvents(filtered(filter), page),
  };
}

function ledger(store: Store, { own, owned, filtered, named }: Confined): Of<LedgerReads> {
  return {
    ledgerOfPayment: async (id) => (owned(await store.payment(id)) ? store.ledgerOfPayment(id) : []),
    journal: (filter, stretch) => store.journal(filtered(filter), stretch),
    journalEntry: async (postingId, line) => own(await store.journalEntry(postingId, line)),
    daySums: (environment, before) => store.daySums(named(environment), before),
    shelfSum: (shelf, stretch) => store.shelfSum({ ...shelf, environment: named(shelf.environment) }, stretch),
    recentSums: (shelves, after, until) => {
      const mine = shelves.map((shelf) => ({ ...shelf, environment: named(shelf.environment) }));
      return store.recentSums(mine, after, until);
    },
    shelvesInUse: (environment) => store.shelvesInUse(named(environment)),
    settlement: async (paymentId) => own(await store.settlement(paymentId)),
    paymentsOfReference: async (reference) => {
      const ids = await store.paymentsOfReference(reference);
      const found = await Promise.all(ids.map((id) => store.payment(id)));
      return ids.filter((_, index) => owned(found[index]));
    },
  };
}

function refunds(store: Store, { own, filtered, named }: Confined): Of<RefundReads> {
  return {
    refund: async (id) => own(await store.refund(id)),
    refundByIdempotencyKey: (environment, key) => store.refundByIdempotencyKey(named(environment), key),
    listRefunds: (filter, page) => store.listRefunds(filtered(filter), page),
  };
}

function feed(store: Store, { own, owned, filtered }: Confined): Of<FeedReads> {
  return {
    feedPosition: async (eventId) => (owned(await store.event(eventId)) ? store.feedPosition(eventId) : undefined),
    listFeed: (filter, after, limit) => store.listFeed(filtered(filter), after, limit),
    recovery: async (id) => own(await store.recovery(id)),
    recoverableEvents: async (recovery, types, limit) =>
      owned(recovery) ? store.recoverableEvents(recovery, types, limit) : [],
  };
}

function discrepancies(store: Store, { own, filtered }: Confined): Of<DiscrepancyReads> {
  return {
    discrepancy: async (id) => own(await store.discrepancy(id)),
    listDiscrepancies: (filter, page) => store.listDiscrepancies(filtered(filter), page),
  };
}

function personalData(store: Store, { owned }: Confined): Of<PersonalDataReads> {
  const nothing = { payments: [], refunds: [], deliveries: [] };
  return {
    underWayFor: async (id) => (owned(await store.customer(id)) ? store.underWayFor(id) : nothing),
    sessionsToErase: async (id, limit) => (await store.sessionsToErase(id, limit)).filter(owned),
  };
}

function apiKeys(store: Store, { own, owned, filtered }: Confined): Of<ApiKeyReads> {
  return {
    apiKey: async (id) => own(await store.apiKey(id)),
    listApiKeys: (filter, page) => store.listApiKeys(filtered(filter), page),
    apiKeySpend: async (id, day) => (owned(await store.apiKey(id)) ? store.apiKeySpend(id, day) : 0),
  };
}

function only<Name extends keyof Store>(store: Store, names: readonly Name[]): Pick<Store, Name> {
  return Object.fromEntries(names.map((name) => [name, store[name]])) as Pick<Store, Name>;
}

function refused<Name extends keyof Store>(names: readonly Name[]): Pick<Store, Name> {
  const refuse = (name: Name) => () => {
    throw new Error(`${name} is not read for a request that is bound to an environment`);
  };
  return Object.fromEntries(names.map((name) => [name, refuse(name)])) as unknown as Pick<Store, Name>;
}
