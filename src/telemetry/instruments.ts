import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';

export type Instruments = ReturnType<typeof createInstruments>;

const HTTP_SECONDS = [0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const COMMIT_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];
const CALL_SECONDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15];
const LAG_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 3600];
const BATCH_SETS = [1, 2, 5, 10, 20, 50, 100, 200];

// What an instance counts since its start is added up over instances; what a database holds, every instance says alike.
const BY_INSTANCE = 'Counted by this instance since its start: sum over instances.';
const OF_DATABASE = 'Of the database, the same from every instance: take the maximum over instances, not the sum.';

/** Every metric of Tillway's own, in a registry of its own, besides those of the process. */
export function createInstruments() {
  const register = new Registry();
  collectDefaultMetrics({ register });
  return {
    register,
    ...ofRequests([register]),
    ...ofCommits([register]),
    ...ofPayments([register]),
    ...ofDeliveries([register]),
    ...ofDatabase([register]),
    ...ofRoutes([register]),
  };
}

function ofRequests(registers: Registry[]) {
  return {
    requestSeconds: new Histogram({
      name: 'tillway_http_request_duration_seconds',
      help: `Time from a request's first byte to the end of its answer, by path template; status 4xx includes callers that left. ${BY_INSTANCE}`,
      labelNames: ['route', 'method', 'status'],
      buckets: HTTP_SECONDS,
      registers,
    }),
    refused: new Counter({
      name: 'tillway_http_refused_total',
      help: `Connections refused before there was a request: bad HTTP, too slow, too many. ${BY_INSTANCE}`,
      labelNames: ['status'],
      registers,
    }),
  };
}

function ofCommits(registers: Registry[]) {
  return {
    commitSeconds: new Histogram({
      name: 'tillway_commit_duration_seconds',
      help: `Time until a change set was durable or refused, waiting included. ${BY_INSTANCE}`,
      labelNames: ['outcome'],
      buckets: COMMIT_SECONDS,
      registers,
    }),
    conflicts: new Counter({
      name: 'tillway_commit_conflicts_total',
      help: `Change sets whose guard did not hold, so that they were decided again. ${BY_INSTANCE}`,
      labelNames: ['conflict'],
      registers,
    }),
    batchSets: new Histogram({
      name: 'tillway_commit_batch_change_sets',
      help: `Change sets that shared one transaction. ${BY_INSTANCE}`,
      buckets: BATCH_SETS,
      registers,
    }),
  };
}

function ofPayments(registers: Registry[]) {
  return {
    sessionTransitions: new Counter({
      name: 'tillway_session_transitions_total',
      help: `Sessions that came into a state; routed: created. ${BY_INSTANCE}`,
      labelNames: ['environment', 'state'],
      registers,
    }),
    paymentTransitions: new Counter({
      name: 'tillway_payment_transitions_total',
      help: `Attempts to pay that came into a state; source: whose fault a failure was (buyer, issuer, route, gateway), none otherwise. ${BY_INSTANCE}`,
      labelNames: ['environment', 'route', 'state', 'source'],
      registers,
    }),
    refundTransitions: new Counter({
      name: 'tillway_refund_transitions_total',
      help: `Refunds that came into a state; pending: asked for. ${BY_INSTANCE}`,
      labelNames: ['environment', 'state'],
      registers,
    }),
    callSeconds: new Histogram({
      name: 'tillway_provider_call_duration_seconds',
      help: `Calls to providers. ${BY_INSTANCE}`,
      labelNames: ['provider', 'call', 'result'],
      buckets: CALL_SECONDS,
      registers,
    }),
  };
}

function ofDeliveries(registers: Registry[]) {
  return {
    attempts: new Counter({
      name: 'tillway_delivery_attempts_total',
      help: `Attempts to deliver an event that were made; status: class of the answer, none where none came. ${BY_INSTANCE}`,
      labelNames: ['environment', 'status'],
      registers,
    }),
    attemptSeconds: new Histogram({
      name: 'tillway_delivery_attempt_duration_seconds',
      help: `Time that receivers took to answer. ${BY_INSTANCE}`,
      labelNames: ['environment'],
      buckets: CALL_SECONDS,
      registers,
    }),
    firstLag: new Histogram({
      name: 'tillway_delivery_first_attempt_lag_seconds',
      help: `Time from the commit of an event to the first attempt to deliver it. ${BY_INSTANCE}`,
      labelNames: ['environment'],
      buckets: LAG_SECONDS,
      registers,
    }),
    ended: new Counter({
      name: 'tillway_deliveries_ended_total',
      help: `Deliveries that ended; dead: failed for good, a dead letter; given_up: waited for an endpoint that was deleted. ${BY_INSTANCE}`,
      labelNames: ['environment', 'state'],
      registers,
    }),
  };
}

function ofDatabase(registers: Registry[]) {
  const gauge = (name: string, help: string, labelNames: string[] = []) =>
    new Gauge({ name: `tillway_${name}`, help: `${help} ${OF_DATABASE}`, labelNames, registers });
  const atMost = 'Counted up to 10000.';
  return {
    databaseUp: new Gauge({
      name: 'tillway_database_up',
      help: 'Whether the database answered this instance at the last look: 1 or 0.',
      registers,
    }),
    pending: gauge('deliveries_pending', `Deliveries that wait for an attempt. ${atMost}`, ['environment']),
    dead: gauge('deliveries_dead', `Dead letters that nobody has sent again, but of deleted endpoints. ${atMost}`, [
      'environment',
    ]),
    lag: gauge('delivery_overdue_seconds', 'How long the longest due delivery has waited for its attempt.', [
      'environment',
    ]),
    endpoints: gauge('webhook_endpoints', 'Webhook endpoints by state.', ['environment', 'state']),
    sessionsPending: gauge('sessions_pending', `Sessions with a payment under way. ${atMost}`, ['environment']),
    refundsPending: gauge('refunds_pending', `Refunds that have not ended. ${atMost}`, ['environment']),
    refundAge: gauge('refund_pending_oldest_seconds', 'Age of the oldest refund that has not ended; 0 for none.', [
      'environment',
    ]),
    discrepancies: gauge('discrepancies_open', `Payments that somebody has to look at. ${atMost}`, ['environment']),
    wakesDue: gauge('session_wakes_due', `Sessions whose expiry, timeout or inquiry is due. ${atMost}`),
    tasks: gauge('provider_tasks_pending', `Cancellations that providers are still to be asked for. ${atMost}`),
    imbalance: gauge('ledger_imbalance_cents', 'The sum of all ledger entries, which is 0 or the books are wrong.', [
      'environment',
    ]),
    ledgerChecked: gauge('ledger_checked_timestamp_seconds', 'When the ledger was last added up, as Unix time.', [
      'environment',
    ]),
  };
}

function ofRoutes(registers: Registry[]) {
  return {
    routeState: new Gauge({
      name: 'tillway_route_state',
      help: 'The health of a route as this instance knows it: 1 for the state that it is in, 0 for others.',
      labelNames: ['environment', 'route', 'state'],
      registers,
    }),
    routeEstimate: new Gauge({
      name: 'tillway_route_success_estimate_ratio',
      help: "The router's estimate of how many payments succeed on a route, from 0 to 1, as this instance knows it.",
      labelNames: ['environment', 'route'],
      registers,
    }),
    buildInfo: new Gauge({
      name: 'tillway_build_info',
      help: 'Always 1; the version is a label.',
      labelNames: ['version'],
      registers,
    }),
  };
}
