import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';

export type Instruments = ReturnType<typeof createInstruments>;

const HTTP_SECONDS = [0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const COMMIT_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];
const CALL_SECONDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15];
const LAG_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 3600];
const BATCH_SETS = [1, 2, 5, 10, 20, 50, 100, 200];

const BY_INSTANCE = 'Counted by this instance since its start: sum over instances.';
const OF_DATABASE = 'Read from the database, so equal on all instances: take the maximum over instances, not the sum.';

/** Creates all metrics of Tillway and of the process, in a registry of their own. */
export function createInstruments() {
  const register = new Registry();
  const registers = [register];
  collectDefaultMetrics({ register });
  const create: Create = {
    counter: (name, help, labelNames) =>
      new Counter({ name: `tillway_${name}`, help: `${help} ${BY_INSTANCE}`, labelNames, registers }),
    histogram: (name, help, labelNames, buckets) =>
      new Histogram({ name: `tillway_${name}`, help: `${help} ${BY_INSTANCE}`, labelNames, buckets, registers }),
    gauge: (name, help, labelNames = []) => new Gauge({ name: `tillway_${name}`, help, labelNames, registers }),
  };
  return { register, ...requestsOf(create), ...paymentsOf(create), ...statesOf(create) };
}

interface Create {
  counter(name: string, help: string, labelNames: string[]): Counter;
  histogram(name: string, help: string, labelNames: string[], buckets: number[]): Histogram;
  gauge(name: string, help: string, labelNames?: string[]): Gauge;
}

function requestsOf({ counter, histogram }: Create) {
  return {
    requestSeconds: histogram(
      'http_request_duration_seconds',
      "Time from a request's first byte to the end of its answer, by path template; disconnected callers have status 4xx.",
      ['route', 'method', 'status'],
      HTTP_SECONDS,
    ),
    refused: counter(
      'http_refused_total',
      'Connections refused before a complete request: invalid HTTP, too slow, or too many.',
      ['status'],
    ),
    commitSeconds: histogram(
      'commit_duration_seconds',
      'Time until a change set was durable or refused, including the wait in the queue.',
      ['outcome'],
      COMMIT_SECONDS,
    ),
    conflicts: counter(
      'commit_conflicts_total',
      'Change sets that were refused because a guard did not hold; the operation then decides again.',
      ['conflict'],
    ),
    batchSets: histogram('commit_batch_change_sets', 'Change sets that shared one transaction.', [], BATCH_SETS),
  };
}

function paymentsOf({ counter, histogram }: Create) {
  const environment = ['environment'];
  return {
    sessionTransitions: counter('session_transitions_total', 'Sessions that entered a state; routed means created.', [
      'environment',
      'state',
    ]),
    paymentTransitions: counter(
      'payment_transitions_total',
      'Payments that entered a state; source is the origin of a failure (buyer, issuer, route, gateway), otherwise none.',
      ['environment', 'route', 'state', 'source'],
    ),
    refundTransitions: counter('refund_transitions_total', 'Refunds that entered a state; pending means created.', [
      'environment',
      'state',
    ]),
    callSeconds: histogram(
      'provider_call_duration_seconds',
      'Duration of calls to providers.',
      ['provider', 'call', 'result'],
      CALL_SECONDS,
    ),
    foreignSignals: counter(
      'provider_foreign_signals_total',
      'Verified reports of providers about payments, refunds or sessions that this service does not have.',
      ['provider'],
    ),
    lostCallbacks: counter(
      'provider_lost_callbacks_total',
      'Inquiries that found a finished payment whose result should have arrived in a callback at least 15 minutes ago.',
      ['provider'],
    ),
    attempts: counter(
      'delivery_attempts_total',
      'Delivery attempts; status is the class of the answer, or none without an answer.',
      ['environment', 'status'],
    ),
    attemptSeconds: histogram(
      'delivery_attempt_duration_seconds',
      'Time until the receiver of a webhook answered.',
      environment,
      CALL_SECONDS,
    ),
    firstLag: histogram(
      'delivery_first_attempt_lag_seconds',
      'Time from the commit of an event to the first attempt to deliver it.',
      environment,
      LAG_SECONDS,
    ),
    ended: counter(
      'deliveries_ended_total',
      'Finished deliveries; dead: the last attempt failed (dead letter); given_up: the endpoint was deleted.',
      ['environment', 'state'],
    ),
  };
}

/** Creates the gauges of the database, the routes and this process. */
function statesOf({ gauge }: Create) {
  const ofDatabase = (name: string, help: string, labelNames?: string[]) =>
    gauge(name, `${help} ${OF_DATABASE}`, labelNames);
  const atMost = 'Counted up to 10000.';
  const environment = ['environment'];
  return {
    providerReady: gauge(
      'provider_ready',
      '1 if the last check of a provider by this instance found no error, otherwise 0.',
      ['provider'],
    ),
    databaseUp: gauge('database_up', '1 if the database answered the last check of this instance, otherwise 0.'),
    pending: ofDatabase('deliveries_pending', `Deliveries that wait for an attempt. ${atMost}`, environment),
    dead: ofDatabase(
      'deliveries_dead',
      `Dead letters that were not replayed, except those of deleted endpoints. ${atMost}`,
      environment,
    ),
    lag: ofDatabase('delivery_overdue_seconds', 'Age of the oldest due delivery; 0 for none.', environment),
    endpoints: ofDatabase('webhook_endpoints', 'Webhook endpoints by state.', ['environment', 'state']),
    sessionsPending: ofDatabase('sessions_pending', `Sessions with a payment in progress. ${atMost}`, environment),
    refundsPending: ofDatabase('refunds_pending', `Pending refunds. ${atMost}`, environment),
    refundAge: ofDatabase(
      'refund_pending_oldest_seconds',
      'Age of the oldest pending refund; 0 for none.',
      environment,
    ),
    discrepancies: ofDatabase('discrepancies_open', `Discrepancies that wait for a decision. ${atMost}`, environment),
    wakesDue: ofDatabase('session_wakes_due', `Sessions whose expiry, timeout or inquiry is due. ${atMost}`),
    tasks: ofDatabase(
      'provider_tasks_pending',
      `Cancellations and captures that providers have not received yet. ${atMost}`,
    ),
    imbalance: ofDatabase(
      'ledger_imbalance_cents',
      'Sum of all ledger entries; any value other than 0 is an error in the books.',
      environment,
    ),
    ledgerChecked: ofDatabase(
      'ledger_checked_timestamp_seconds',
      'Unix time at which the ledger entries were last summed.',
      environment,
    ),
    routeState: gauge(
      'route_state',
      'Health of a route as known to this instance: 1 for its current state, 0 for the other states.',
      ['environment', 'route', 'state'],
    ),
    routeEstimate: gauge(
      'route_success_estimate_ratio',
      'Estimated success rate of a route, from 0 to 1, as known to this instance.',
      ['environment', 'route'],
    ),
    buildInfo: gauge('build_info', 'Always 1; the version is a label.', ['version']),
  };
}
