import { ANSWER_CLASSES, answerClassOf } from '../domain/delivery.ts';
import { FAILURE_SOURCES } from '../domain/failure.ts';
import { SESSION_STATUSES } from '../domain/records.ts';
import { REFUND_STATUSES } from '../domain/refund-record.ts';
import { ENVIRONMENTS } from '../domain/route.ts';
import { VERSION } from '../domain/version.ts';
import type { RequestObserver } from '../http/follow.ts';
import type { Deps } from '../operations/deps.ts';
import type { OnProviderCall } from '../providers/observed-provider.ts';
import type { CommitObserver } from '../store/commit-watch.ts';
import type { Change } from '../store/store.ts';
import { type Instruments, createInstruments } from '../telemetry/instruments.ts';

const HANDOFF_RESULTS = ['accepted', 'refused', 'ambiguous', 'error'];

/** Metrics of this process, and the observers that update them. */
export interface Metrics {
  instruments: Instruments;
  requests: RequestObserver;
  commits: CommitObserver;
  onProviderCall: OnProviderCall;
}

export function createMetrics(): Metrics {
  const instruments = createInstruments();
  instruments.buildInfo.labels(VERSION).set(1);
  // Caches the series, because a lookup by labels costs more than the observation itself.
  const series = new Map<string, { observe(seconds: number): void }>();
  return {
    instruments,
    requests: {
      request(route, method, status, seconds) {
        const key = `${route} ${method} ${status}`;
        let found = series.get(key);
        if (!found) series.set(key, (found = instruments.requestSeconds.labels(route, method, classOf(status))));
        found.observe(seconds);
      },
      refused: (status) => instruments.refused.labels(String(status)).inc(),
    },
    commits: {
      batch: (sets) => instruments.batchSets.observe(sets),
      commit(changes, outcome, seconds) {
        const isDone = outcome === 'done';
        instruments.commitSeconds.labels(isDone || outcome === 'failed' ? outcome : 'conflict').observe(seconds);
        if (isDone) for (const change of changes) count(instruments, change);
        else if (outcome !== 'failed') instruments.conflicts.labels(outcome).inc();
      },
    },
    onProviderCall: (provider, call, result, seconds) =>
      instruments.callSeconds.labels(provider, call, result).observe(seconds),
  };
}

/** Creates every series that an alert uses with the value 0. A series that begins at 1 hides its first event from `increase`. */
export function startSeries(instruments: Instruments, { routes, providers }: Pick<Deps, 'routes' | 'providers'>): void {
  const { sessionTransitions, paymentTransitions, refundTransitions, attempts, ended } = instruments;
  for (const environment of ENVIRONMENTS) {
    for (const state of SESSION_STATUSES) sessionTransitions.labels(environment, state).inc(0);
    for (const state of REFUND_STATUSES) refundTransitions.labels(environment, state).inc(0);
    for (const state of ['delivered', 'dead', 'given_up']) ended.labels(environment, state).inc(0);
    for (const status of ANSWER_CLASSES) attempts.labels(environment, status).inc(0);
  }
  for (const { environment, id } of routes) {
    for (const state of ['pending', 'paid']) paymentTransitions.labels(environment, id, state, 'none').inc(0);
    for (const source of FAILURE_SOURCES) paymentTransitions.labels(environment, id, 'failed', source).inc(0);
  }
  for (const outcome of ['done', 'conflict', 'failed']) instruments.commitSeconds.zero({ outcome });
  for (const provider of providers.keys()) {
    for (const result of HANDOFF_RESULTS) instruments.callSeconds.zero({ provider, call: 'handoff', result });
    for (const call of ['inquire', 'cancel', 'refund'])
      instruments.callSeconds.zero({ provider, call, result: 'error' });
  }
}

/** Counts a committed change. */
function count(instruments: Instruments, change: Change): void {
  const { sessionTransitions, paymentTransitions, refundTransitions } = instruments;
  switch (change.type) {
    case 'session_created':
      sessionTransitions.labels(change.session.environment, change.session.status).inc();
      break;
    case 'session_changed':
    case 'session_erased': {
      const { environment, status } = change.session;
      const from = change.type === 'session_erased' ? change.from : change.before?.status;
      if (from !== undefined && from !== status) sessionTransitions.labels(environment, status).inc();
      break;
    }
    case 'payment_created':
    case 'payment_changed': {
      const { environment, route, status, failureSource } = change.payment;
      const isNew =
        change.type === 'payment_created' || (change.before !== undefined && change.before.status !== status);
      const source = status === 'failed' ? (failureSource ?? 'route') : 'none';
      if (isNew) paymentTransitions.labels(environment, route.id, status, source).inc();
      break;
    }
    case 'refund_created':
      refundTransitions.labels(change.refund.environment, change.refund.status).inc();
      break;
    case 'refund_changed': {
      const { environment, status } = change.refund;
      if (change.from !== status) refundTransitions.labels(environment, status).inc();
      break;
    }
    case 'delivery_finished':
      countAttempt(instruments, change);
      break;
    default:
  }
}

function countAttempt(
  { attempts, attemptSeconds, firstLag, ended }: Instruments,
  { delivery, attempt, unmade }: Extract<Change, { type: 'delivery_finished' }>,
): void {
  const { environment, status, created } = delivery;
  if (unmade) {
    // A delivery that ends without an attempt counts as given_up, not as dead, because no receiver has failed.
    if (status === 'dead') ended.labels(environment, 'given_up').inc();
    return;
  }
  attempts.labels(environment, answerClassOf(attempt.statusCode)).inc();
  attemptSeconds.labels(environment).observe(attempt.durationMs / 1000);
  if (attempt.number === 1) firstLag.labels(environment).observe(Math.max(0, attempt.started - created) / 1000);
  if (status !== 'pending') ended.labels(environment, status).inc();
}

function classOf(status: number): string {
  return `${Math.floor(status / 100)}xx`;
}
