import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import type { RouteHealth } from '../../src/domain/route.ts';
import { setOverride } from '../../src/routing/health-override.ts';
import { canProbe, leaseProbe, releaseProbe } from '../../src/routing/health-probe.ts';
import {
  type HealthChange,
  type HealthPeers,
  type HealthRecord,
  effectiveState,
  healthPeers,
  configuredHealth,
  isDisabled,
} from '../../src/routing/health-record.ts';
import type { HealthResult, HealthSignals, ResultKind } from '../../src/routing/health-signals.ts';
import { nextHealth } from '../../src/routing/health-machine.ts';
import { SECOND } from '../fixtures/checkout-records.ts';
import { NO_TIMES } from '../fixtures/health-records.ts';
import { forAll } from '../support/for-all.ts';

const START = Date.UTC(2026, 0, 15, 23, 50);
const LONGEST_BACKOFF_MS = 660 * SECOND;
const MOST_RESULTS = 20;
const RUNS = 500;

type Estimates = Pick<HealthSignals, 'fast' | 'slow' | 'latency'> & { shifted: boolean };

interface Watched {
  record: HealthRecord;
  recent: HealthResult[];
  /** Times of the automatic moves between live and degraded. */
  swings: number[];
}

const HEALTHY: Estimates = {
  shifted: false,
  fast: { mean: 0.9, n: 50 },
  slow: { mean: 0.9, n: 500 },
  latency: { ...NO_TIMES, p95SecondsFast: 20, p95SecondsSlow: 20, nFast: 50 },
};

const route = fc.nat(3);
const payment = fc.constantFrom('pay_1', 'pay_2', 'pay_3');
const share = fc.constantFrom(0, 0.2, 0.34, 0.36, 0.6, 0.79, 0.87, 0.9, 1);
const anyEstimates: fc.Arbitrary<Estimates> = fc.record({
  shifted: fc.boolean(),
  fast: fc.record({ mean: share, n: fc.constantFrom(0, 7, 8, 19, 20, 200) }),
  slow: fc.record({ mean: share, n: fc.constantFrom(0, 500) }),
  latency: fc.option(
    fc.record({
      p95SecondsFast: fc.constantFrom(5, 20, 45, 61, 300),
      p95SecondsSlow: fc.constant(20),
      medianSeconds: fc.constant(null),
      nFast: fc.constantFrom(19, 20, 100),
      nSlow: fc.constant(100),
    }),
    { nil: NO_TIMES },
  ),
});
const kinds = fc.oneof(
  fc.array(fc.constantFrom<ResultKind[]>('handoff_error', 'handoff_accepted', 'success', 'failure', 'neutral'), {
    minLength: 1,
    maxLength: 25,
  }),
  fc.constant<ResultKind[]>(['handoff_error', 'handoff_error', 'handoff_error']),
  fc.constant<ResultKind[]>(['success', 'success', 'success']),
  fc.constant<ResultKind[]>(Array.from({ length: 20 }, () => 'success')),
);
const type = <Name extends string>(name: Name) => fc.constant(name);
const anyResults = fc.record({ type: type('results'), route, kinds });
const anyEvaluation = fc.record({
  type: type('evaluate'),
  route,
  estimates: fc.oneof(anyEstimates, fc.constant(HEALTHY)),
  jitter: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
});
const anyProbe = fc.record({ type: fc.constantFrom('probe' as const, 'release' as const), route, payment });
const anyOverride = fc.record({
  type: type('override'),
  route,
  state: fc.constantFrom('live' as const, 'degraded' as const, 'standby' as const, null),
  seconds: fc.constantFrom(null, 60, 600),
});
const anySleep = fc.record({
  type: type('sleep'),
  route,
  seconds: fc.constantFrom(1, 2, 29, 31, 119, 120, 121, 700, 1800),
});
const anyStep = fc.oneof(
  { weight: 5, arbitrary: anyResults },
  { weight: 8, arbitrary: anyEvaluation },
  { weight: 2, arbitrary: anyProbe },
  { weight: 1, arbitrary: anyOverride },
  { weight: 5, arbitrary: anySleep },
);
type Step = typeof anyStep extends fc.Arbitrary<infer T> ? T : never;
/** Configured states of the routes of a kind. */
const anyKind = fc.array(fc.constantFrom<RouteHealth[]>('live', 'live', 'degraded', 'standby'), {
  minLength: 1,
  maxLength: 4,
});

function addResults(watched: Watched, added: ResultKind[], now: number): void {
  const results = added.map((kind) => ({ at: now, kind })).toReversed();
  watched.recent = [...results, ...watched.recent].slice(0, MOST_RESULTS);
}

function peersOf(kind: Watched[], now: number): HealthPeers {
  return healthPeers(
    kind.map(({ record }) => record),
    now,
  );
}

/** Evaluates a route, checks the change against every rule and stores it. */
function evaluate(
  watched: Watched,
  kind: Watched[],
  now: number,
  { shifted, ...known }: Estimates,
  jitter = 0.5,
): void {
  const before = watched.record;
  const shiftedAt = shifted ? now - SECOND : null;
  const signals = { ...known, now, shiftedAt, recent: watched.recent, peers: peersOf(kind, now) };
  const change = nextHealth(before, signals, jitter);
  if (!change) return;
  const { record, transition } = change;
  checkChange(before, change, now);
  watched.record = record;
  if (!transition || before.manual) return;
  assert.notEqual(transition.from, transition.to);
  const again = nextHealth(record, signals, jitter);
  assert.equal(again?.transition ?? null, null, 'a second evaluation with the same signals moved the route again');
  if (transition.from !== 'standby' && transition.to !== 'standby') watched.swings.push(now);
  if (transition.cause !== 'low_success') return;
  const after = peersOf(kind, now);
  assert.ok(after.usable >= 1, 'no usable route of the kind is left');
  assert.ok(after.inLowSuccessStandby * 2 <= after.routesOfKind, 'more than half are in standby');
}

function checkChange(before: HealthRecord, { record, transition }: HealthChange, now: number): void {
  assert.equal(record.version, before.version + 1);
  checkRecord(record, now);
  if (!transition) {
    assert.deepEqual([record.state, record.since, record.cause], [before.state, before.since, before.cause]);
    return;
  }
  // When an override starts or ends, the transition starts from the state that the previous transition recorded.
  const from = record.cause.startsWith('override') ? before.state : effectiveState(before, now);
  assert.deepEqual([transition.from, transition.to], [from, record.state]);
  assert.deepEqual([transition.cause, transition.words], [record.cause, record.words]);
  assert.deepEqual([record.since, record.leaseUntil], [now, null]);
}

function checkRecord(record: HealthRecord, now: number): void {
  assert.deepEqual(JSON.parse(JSON.stringify(record)), record, 'the record is not plain JSON');
  assert.ok(record.words.startsWith(`${record.state}: `), record.words);
  assert.equal(record.leaseUntil === null, record.leasePaymentId === null);
  const isAutomaticStandby = record.state === 'standby' && record.manual === null;
  assert.equal(record.retryAt !== null, isAutomaticStandby);
  if (record.retryAt === null) return;
  assert.ok(record.retryAt - now <= LONGEST_BACKOFF_MS);
  assert.match(record.words, /, next try at [-\d ]*\d\d:\d\d:\d\d UTC$/);
  const probeAt = Math.max(record.retryAt, record.leaseUntil ?? 0);
  assert.ok(canProbe(record, probeAt), 'no probe can start after the back-off');
  assert.ok(probeAt - now <= LONGEST_BACKOFF_MS, 'the wait for the probe is too long');
  assert.equal(isDisabled(record, now), false);
}

/** Applies a step to one route of a kind; returns the time after it. */
function take(step: Step, kind: Watched[], now: number): number {
  const watched = kind[step.route % kind.length]!;
  const { record } = watched;
  if (step.type === 'sleep') return now + step.seconds * SECOND;
  if (step.type === 'results') addResults(watched, step.kinds, now);
  if (step.type === 'evaluate') evaluate(watched, kind, now, step.estimates, step.jitter);
  if (step.type === 'override') {
    const until = step.seconds === null ? null : now + step.seconds * SECOND;
    const manual = step.state && { state: step.state, until, reason: 'a test' };
    const change = setOverride(record, manual, now);
    if (change) checkChange(record, change, now);
    watched.record = change?.record ?? record;
    // The operator may move a route at any time, so the intervals start anew.
    if (change) watched.swings = [];
  }
  if (step.type === 'probe' || step.type === 'release') {
    const next = step.type === 'probe' ? leaseProbe(record, step.payment, now) : releaseProbe(record, step.payment);
    if (next) assert.equal(next.version, record.version + 1);
    if (next) checkRecord(next, now);
    watched.record = next ?? record;
  }
  return now;
}

/** Applies a history to the routes of a kind; returns the routes and the time after it. */
function walk(configured: RouteHealth[], steps: Step[]): { kind: Watched[]; now: number } {
  const kind = configured.map((state): Watched => ({ record: configuredHealth(state, START), recent: [], swings: [] }));
  let now = START;
  for (const step of steps) now = take(step, kind, now);
  return { kind, now };
}

const anyHistory = fc.tuple(anyKind, fc.array(anyStep, { maxLength: 60 }));

describe('in any history of a route', () => {
  test('in any history of a route, every health record and every change is consistent', () => {
    forAll(RUNS, anyHistory, (history) => void walk(...history));
  });

  test('in any history of a route, at least 120 seconds separate two moves between live and degraded', () => {
    forAll(RUNS, fc.array(anyStep, { maxLength: 100 }), (steps) => {
      const { swings } = walk(['live'], steps).kind[0]!;
      for (const [index, at] of swings.slice(1).entries()) assert.ok(at - swings[index]! >= 120 * SECOND);
    });
  });

  /** Evaluates a route each minute of the hours after a history, with the same new results each time. */
  function continued(
    watched: Watched,
    kind: Watched[],
    from: number,
    hours: number,
    same: Estimates,
    added: ResultKind[],
  ) {
    for (let at = from; at < from + hours * 3600 * SECOND; at += 60 * SECOND) {
      addResults(watched, added, at);
      evaluate(watched, kind, at + SECOND, same);
    }
  }

  test('constant signals move a route between live and degraded at most once', () => {
    const anyResult = fc.constantFrom<ResultKind[]>('success', 'failure');
    forAll(RUNS / 4, anyHistory, anyEstimates, anyResult, (history, same, result) => {
      const { kind, now } = walk(...history);
      const watched = kind[0]!;
      watched.swings = [];
      watched.recent = [];
      continued(watched, kind, now, 3, { ...same, shifted: false }, ['handoff_accepted', result]);
      assert.ok(watched.swings.length <= 1, JSON.stringify(watched.swings));
    });
  });

  test('every route that is not disabled becomes live within an hour if its payments succeed', () => {
    const busy: ResultKind[] = ['handoff_accepted', 'success', 'success', 'success'];
    forAll(RUNS, anyHistory, fc.boolean(), (history, isQuiet) => {
      const { kind, now } = walk(...history);
      for (const watched of kind) {
        if (watched.record.manual?.until === null) continue;
        continued(watched, kind, now, 1, HEALTHY, isQuiet ? ['success'] : busy);
        assert.equal(watched.record.state, 'live', watched.record.words);
      }
    });
  });
});
