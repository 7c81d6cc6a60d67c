import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { override, reconfigure } from '../../src/routing/health-override.ts';
import { HEALTH_POLICY } from '../../src/routing/health-policy.ts';
import { canProbe, leaseProbe, releaseProbe } from '../../src/routing/health-probe.ts';
import {
  type HealthRecord,
  effectiveState,
  entered,
  healthPeers,
  initialHealth,
  isDisabled,
} from '../../src/routing/health-record.ts';
import type { HealthSignals } from '../../src/routing/health-signals.ts';
import { nextHealth } from '../../src/routing/health-machine.ts';

const SECOND = 1000;
const HOUR = 3_600_000;
const NOON = Date.UTC(2026, 0, 15, 12);
const ONE = NOON + HOUR;

const live = initialHealth('live', NOON);
const degraded = initialHealth('degraded', NOON);
const disabled = initialHealth('standby', NOON);
const standby = inStandby('handoff_errors_in_a_row');
const maintenance = { state: 'standby', until: ONE, reason: 'maintenance at the acquirer' } as const;

function inStandby(cause: 'handoff_errors_in_a_row' | 'low_success'): HealthRecord {
  return entered(1, { state: 'standby', cause, words: 'standby', retryAt: NOON + 30 * SECOND }, NOON);
}

function look(record: HealthRecord, now: number, signals: Partial<HealthSignals> = {}) {
  const healthy: HealthSignals = {
    now,
    shiftedAt: null,
    fast: { mean: 0.9, n: 30 },
    slow: { mean: 0.9, n: 300 },
    latency: null,
    recent: [],
    peers: { routesOfKind: 2, inAutomaticStandby: 0, usable: 2 },
  };
  return nextHealth(record, { ...healthy, ...signals }, HEALTH_POLICY, 0.5);
}

describe('the first record of a route', () => {
  test('has the state of the catalogue', () => {
    assert.deepEqual([live.state, live.words, live.version], ['live', 'live: as configured in the catalogue', 1]);
    assert.equal(effectiveState(degraded, NOON), 'degraded');
    assert.equal(isDisabled(live, NOON), false);
  });

  test('is disabled if the catalogue says standby: neither time nor probes change that', () => {
    assert.equal(disabled.words, 'standby: disabled in the catalogue');
    assert.equal(effectiveState(disabled, NOON + 1000 * HOUR), 'standby');
    assert.equal(isDisabled(disabled, NOON + 1000 * HOUR), true);
    assert.equal(canProbe(disabled, NOON + 1000 * HOUR), false);
    assert.equal(look(disabled, NOON + 1000 * HOUR), undefined);
  });
});

describe('an override', () => {
  const errors = { recent: [1, 2, 3].map((age) => ({ at: ONE - age * SECOND, kind: 'handoff_error' as const })) };

  test('applies against every signal until it ends', () => {
    const forced = override(live, { state: 'live', until: ONE, reason: 'test' }, NOON)!.record;
    assert.equal(look(forced, ONE - 1, errors), undefined);
    assert.equal(look(live, ONE - 1, errors)?.record.state, 'standby');
  });

  test('of standby disables the route', () => {
    assert.deepEqual(override(live, maintenance, NOON)?.transition, {
      from: 'live',
      to: 'standby',
      cause: 'override',
      words: 'standby: set by the operator (maintenance at the acquirer), until 13:00:00 UTC',
      numbers: { untilMs: ONE },
    });
    const { record } = override(live, maintenance, NOON)!;
    assert.equal(isDisabled(record, ONE - 1), true);
    assert.equal(canProbe(record, ONE - 1), false);
    assert.equal(record.retryAt, null);
  });

  test('ends by itself: a disabled route returns as degraded, even before the next evaluation', () => {
    const { record } = override(live, maintenance, NOON)!;
    assert.equal(effectiveState(record, ONE - 1), 'standby');
    assert.equal(effectiveState(record, ONE), 'degraded');
    assert.equal(isDisabled(record, ONE), false);
    assert.equal(look(record, ONE - 1), undefined);
    const change = look(record, ONE);
    assert.deepEqual([change?.record.state, change?.record.manual], ['degraded', null]);
    assert.equal(change?.transition?.cause, 'override_ended');
    assert.equal(change?.record.words, "degraded: the operator's override (standby) has ended");
  });

  test('of another state leaves the route in that state when it ends', () => {
    const { record } = override(standby, { state: 'live', until: ONE, reason: 'mended' }, NOON)!;
    assert.equal(effectiveState(record, ONE), 'live');
    const back = look(record, ONE, errors)!.record;
    assert.deepEqual([back.state, back.manual, back.since], ['live', null, ONE]);
  });

  test('without an end applies until it is removed', () => {
    const { record, transition } = override(live, { state: 'standby', until: null, reason: 'off' }, NOON)!;
    assert.equal(transition?.words, 'standby: set by the operator (off)');
    assert.equal(look(record, NOON + 1000 * HOUR), undefined);
    const back = override(record, null, ONE)!;
    assert.deepEqual([back.record.state, back.record.version], ['degraded', live.version + 2]);
  });

  test('can replace another, and shows the date of an end that is not today', () => {
    const first = override(live, maintenance, NOON)!.record;
    const second = override(first, { ...maintenance, until: NOON + 24 * HOUR }, NOON)!;
    assert.deepEqual([second.transition?.from, second.transition?.to], ['standby', 'standby']);
    assert.match(second.record.words, /, until 2026-01-16 12:00:00 UTC$/);
  });

  test('cannot be removed if there is none', () => assert.equal(override(live, null, NOON), undefined));

  test('does not apply to a route that the catalogue disables', () => {
    assert.equal(override(disabled, { state: 'live', until: null, reason: 'please' }, NOON), undefined);
    assert.equal(override(disabled, null, NOON), undefined);
  });
});

describe('a changed catalogue', () => {
  test('enables a route that it had disabled, in its new state', () => {
    const change = reconfigure(disabled, 'live', ONE);
    assert.deepEqual([change?.transition?.from, change?.transition?.to], ['standby', 'live']);
    assert.equal(isDisabled(change!.record, ONE), false);
  });

  test('disables a route in any state and with any override', () => {
    const forced = override(live, { state: 'live', until: null, reason: 'test' }, NOON)!.record;
    for (const record of [live, standby, forced]) {
      const change = reconfigure(record, 'standby', ONE)!;
      assert.equal(isDisabled(change.record, ONE), true);
      assert.equal(change.record.version, record.version + 1);
    }
  });

  test('changes neither a route in use nor one that it still disables', () => {
    for (const configured of ['live', 'degraded'] as const)
      assert.equal(reconfigure(standby, configured, ONE), undefined);
    assert.equal(reconfigure(disabled, 'standby', ONE), undefined);
  });
});

describe('a probe', () => {
  const due = standby.retryAt!;

  test('may start when the back-off is over, and not for a route in use', () => {
    assert.equal(canProbe(standby, due - 1), false);
    assert.equal(canProbe(standby, due), true);
    assert.equal(leaseProbe(standby, 'pay_1', due - 1), undefined);
    assert.equal(canProbe(live, ONE), false);
    assert.equal(canProbe(degraded, ONE), false);
  });

  test('is leased to one payment at a time', () => {
    const lent = leaseProbe(standby, 'pay_1', due)!;
    assert.deepEqual([lent.leasePaymentId, lent.leaseUntil], ['pay_1', due + 120 * SECOND]);
    assert.equal(lent.version, standby.version + 1);
    assert.equal(leaseProbe(lent, 'pay_2', due + SECOND), undefined);
  });

  test('ends with any result of its payment, and of no other payment', () => {
    const lent = leaseProbe(standby, 'pay_1', due)!;
    assert.equal(releaseProbe(lent, 'pay_2'), undefined);
    const free = releaseProbe(lent, 'pay_1')!;
    assert.deepEqual(free, { ...standby, version: standby.version + 2 });
    assert.equal(releaseProbe(free, 'pay_1'), undefined);
  });

  test('expires after 120 seconds without a result', () => {
    const lent = leaseProbe(standby, 'pay_1', due)!;
    assert.equal(canProbe(lent, due + 120 * SECOND - 1), false);
    const next = leaseProbe(lent, 'pay_2', due + 120 * SECOND)!;
    assert.equal(releaseProbe(next, 'pay_1'), undefined, 'the late result of the first does not end the second');
  });

  test('ends with the standby', () => {
    const lent = leaseProbe(standby, 'pay_1', due)!;
    const recent = [3, 2, 1].map((age) => ({ at: due + age * SECOND, kind: 'success' as const }));
    const { record } = look(lent, due + 10 * SECOND, { recent })!;
    assert.deepEqual([record.state, record.leasePaymentId, record.leaseUntil], ['degraded', null, null]);
  });
});

describe('the count of the routes of a kind', () => {
  test('leaves out disabled routes, and separates the causes of standby', () => {
    const out = override(live, maintenance, NOON)!.record;
    const records = [live, degraded, standby, inStandby('low_success'), disabled, out];
    assert.deepEqual(healthPeers(records, NOON), { routesOfKind: 4, inAutomaticStandby: 1, usable: 2 });
    assert.deepEqual(healthPeers(records, ONE), { routesOfKind: 5, inAutomaticStandby: 1, usable: 3 });
  });

  test('does not change by a failed probe', () => {
    const low = inStandby('low_success');
    const failure = { at: low.retryAt!, kind: 'failure' as const };
    const { record } = look(low, low.retryAt!, { recent: [failure] })!;
    assert.equal(healthPeers([record, live], NOON).inAutomaticStandby, 1);
  });
});
