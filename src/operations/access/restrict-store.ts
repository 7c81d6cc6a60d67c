import type { Environment } from '../../domain/route.ts';
import type { Change, Store } from '../../store/store.ts';
import { otherEnvironment } from './caller.ts';

type Reads = Omit<Store, 'commit'>;
type Read = (...args: unknown[]) => Promise<unknown>;
type Owned = { environment: Environment } | undefined;
type Names<List extends string> = List extends `${infer First} ${infer Rest}` ? First | Names<Rest> : List;

/**
 * Rules that restrict the reads of the store to one environment. `record`: a record of the other environment becomes undefined.
 * `records`: such records are left out. `filter` and `name`: the first argument selects the environment. `shared`: the data belongs
 * to no environment. `service`: only workers and the router may read it. {@link ofOwners} restricts the other reads.
 */
const RULES = {
  record:
    'customer session payment invoice routingSnapshot routingDecision event endpoint delivery journalEntry settlement refund recovery discrepancy apiKey experiment',
  records: 'routingDecisionsOfSession eventsOfSession endpoints endpointSecrets deliveriesOfSession sessionsToErase',
  filter:
    'listCustomers listSessions listPayments listInvoices listTransitions listDeliveries listEvents journal listRefunds listFeed listDiscrepancies listApiKeys salesRows listAudit listSoldPayments listExperiments',
  name: 'customerByEmail sessionByIdempotencyKey listRoutingDecisions daySums ledgerImbalance hasSession entrySums refundByIdempotencyKey newestSums finalSums unsolved operatorSpend sessionsOfAmount sessionsOfText',
  shared:
    'now onCommit ping testClock nextDue routingRules hasUnplacedEvents salesCursors operator operatorByEmail listOperators passkeysOfOperator sessionsOfOperator',
  service:
    'close sessionsToWake tasksDue hintsDue refundsDue deliveriesDue recoveriesLeft pendingDeliveries sealedSecrets outcomeTallies outcomeContexts routeMoneyOfDay recentResults routeEstimates routeHealth ledgerTotal backlog apiKeyByHash apiKeysKnown nextSales hasOperators joinedOperators passkey operatorInvite operatorSession unindexedRows runningExperiments',
} as const;

type Ruled = Names<(typeof RULES)[keyof typeof RULES]>;

/** Reads that are not available to requests. */
export const SERVICE_READS = RULES.service.split(' ') as Names<typeof RULES.service>[];

/**
 * The store for a caller that may see only one environment. For records of the other environment, reads by id return undefined and
 * lists leave them out. An argument or a change set that names the other environment is rejected with GatewayError `forbidden`. A
 * read without a rule does not compile.
 */
export function restrictStore(store: Store, environment: Environment): Store {
  const owned = (record: Owned) => record?.environment === environment;
  const allowed = (requested: Environment = environment) => {
    if (requested !== environment) throw otherEnvironment(environment, requested);
    return requested;
  };
  const restrictions: Record<keyof typeof RULES, (read: Read, args: unknown[], name: string) => Promise<unknown>> = {
    async record(read, args) {
      const record = (await read(...args)) as Owned;
      return owned(record) ? record : undefined;
    },
    records: async (read, args) => ((await read(...args)) as Owned[]).filter(owned),
    async filter(read, [first, ...others]) {
      const filter = first as Partial<Owned>;
      return read({ ...filter, environment: allowed(filter?.environment) }, ...others);
    },
    name: async (read, [requested, ...others]) => read(allowed(requested as Environment), ...others),
    shared: async (read, args) => read(...args),
    service(_, __, name) {
      throw new Error(`${name} is not available to requests of one environment`);
    },
  };
  const ruled = Object.entries(RULES).flatMap(([rule, names]) =>
    names.split(' ').map((name) => {
      const read: Read = (...args) => (store[name as Ruled] as unknown as Read)(...args);
      const restrict = restrictions[rule as keyof typeof RULES];
      return [name, (...args: unknown[]) => restrict(read, args, name)];
    }),
  );
  return {
    ...(Object.fromEntries(ruled) as Pick<Reads, Ruled>),
    ...ofOwners(store, owned),
    commit: async (changes: Change[]) => {
      // The environment is a property of a change, or of a record in it.
      const parts = changes.flatMap((change) => [change, ...Object.values(change)] as (Partial<Owned> | null)[]);
      for (const part of parts) allowed(part?.environment);
      return store.commit(changes);
    },
  };
}

/** Reads of records without an environment of their own. They belong to the environment of another record, their owner. */
function ofOwners(store: Store, owned: (record: Owned) => boolean): Omit<Reads, Ruled> {
  const ownedBy =
    <Rest extends unknown[], Result>(
      owner: (id: string) => Promise<Owned>,
      read: (id: string, ...rest: Rest) => Promise<Result>,
      none: Result,
    ) =>
    async (id: string, ...rest: Rest) =>
      owned(await owner(id)) ? read(id, ...rest) : none;
  const ownedOf = async <Item>(items: Item[], ownerOf: (item: Item) => Promise<Owned>) => {
    const owners = await Promise.all(items.map(ownerOf));
    return items.filter((_, index) => owned(owners[index]));
  };
  return {
    checkout: async (id) => {
      const checkout = await store.checkout(id);
      return owned(checkout?.session) ? checkout : undefined;
    },
    sessionRecords: async (id) => {
      const records = await store.sessionRecords(id);
      return owned(records?.session) ? records : undefined;
    },
    messagesOfEvent: async (origin, eventId, id) =>
      ownedOf(await store.messagesOfEvent(origin, eventId, id), ({ sessionId }) => store.session(sessionId)),
    providerMessages: ownedBy(store.session, store.providerMessages, []),
    deliveryAttempts: ownedBy(store.delivery, store.deliveryAttempts, []),
    ledgerOfPayment: ownedBy(store.payment, store.ledgerOfPayment, []),
    paymentsOfReference: async (reference) =>
      ownedOf(await store.paymentsOfReference(reference), (id) => store.payment(id)),
    refundOfReference: ownedBy(store.payment, store.refundOfReference, undefined),
    reversalOfReference: ownedBy(store.payment, store.reversalOfReference, undefined),
    feedPosition: ownedBy(store.event, store.feedPosition, undefined),
    recoverableEvents: async (recovery, types, limit) =>
      owned(recovery) ? store.recoverableEvents(recovery, types, limit) : [],
    workInProgressFor: ownedBy(store.customer, store.workInProgressFor, { payments: [], refunds: [], deliveries: [] }),
    experimentCounts: ownedBy(store.experiment, store.experimentCounts, []),
    apiKeySpend: ownedBy(store.apiKey, store.apiKeySpend, 0),
  };
}
