import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setOverride, reconfigureHealth } from '../../src/routing/health-override.ts';
import { canProbe, leaseProbe, releaseProbe } from '../../src/routing/health-probe.ts';
import { effectiveState, healthPeers, configuredHealth, isDisabled } from '../../src/routing/health-record.ts';
import { SECOND } from '../fixtures/checkout-records.ts';
import { NOON, degraded, evaluate, inStandby, live, results, standby } from '../fixtures/health-records.ts';

const HOUR = 3_600_000;
const ONE = NOON + HOUR;
const LATER = NOON + 1000 * HOUR;

const disabled = configuredHealth('standby', NOON);
const maintenance = { state: 'standby', until: ONE, reason: 'maintenance at the acquirer' } as const;
const underMaintenance = setOverride(live, maintenance, NOON)!.record;

describe('the first record of a route', () => {
  test('the first health record of a route has the state from the catalogue', () => {
    assert.deepEqual([live.state, live.words, live.version], ['live', 'live: as configured in the catalogue', 1]);
    assert.equal(effectiveState(degraded, NOON), 'degraded');
    assert.equal(isDisabled(live, NOON), false);
  });

  test('a route whose catalogue state is standby is disabled, and stays disabled over time and after probes', () => {
    assert.equal(disabled.words, 'standby: disabled in the catalogue');
    assert.equal(effectiveState(disabled, LATER), 'standby');
    assert.equal(isDisabled(disabled, LATER), true);
    assert.equal(canProbe(disabled, LATER), false);
    assert.equal(evaluate(disabled, { now: LATER }), undefined);
  });
});

describe('an override', () => {
  const beforeEnd = { now: ONE - 1, recent: results('eee', ONE - SECOND) };

  test('a health override overrules every signal until it ends', () => {
    const forced = setOverride(live, { state: 'live', until: ONE, reason: 'test' }, NOON)!.record;
    assert.equal(evaluate(forced, beforeEnd), undefined);
    assert.equal(evaluate(live, beforeEnd)?.record.state, 'standby');
  });

  test('a health override with the state standby disables the route', () => {
    assert.deepEqual(setOverride(live, maintenance, NOON)?.transition, {
      from: 'live',
      to: 'standby',
      cause: 'override',
      words: 'standby: set by the operator (maintenance at the acquirer), until 13:00:00 UTC',
      numbers: { untilMs: ONE },
    });
    assert.equal(isDisabled(underMaintenance, ONE - 1), true);
    assert.equal(canProbe(underMaintenance, ONE - 1), false);
    assert.equal(underMaintenance.retryAt, null);
  });

  test('a route whose override to standby has ended is degraded, even before the next evaluation', () => {
    assert.equal(effectiveState(underMaintenance, ONE - 1), 'standby');
    assert.equal(effectiveState(underMaintenance, ONE), 'degraded');
    assert.equal(isDisabled(underMaintenance, ONE), false);
    assert.equal(evaluate(underMaintenance, { now: ONE - 1 }), undefined);
    const { record, transition } = evaluate(underMaintenance, { now: ONE })!;
    assert.deepEqual([record.state, record.manual, transition?.cause], ['degraded', null, 'override_ended']);
    assert.equal(record.words, "degraded: the operator's override (standby) has ended");
  });

  test('a health override to `live` or `degraded` leaves the route in that state when it ends', () => {
    const { record } = setOverride(standby, { state: 'live', until: ONE, reason: 'repaired' }, NOON)!;
    assert.equal(effectiveState(record, ONE), 'live');
    const back = evaluate(record, { ...beforeEnd, now: ONE })!.record;
    assert.deepEqual([back.state, back.manual, back.since], ['live', null, ONE]);
  });

  test('a health override without an end applies until it is removed', () => {
    const { record, transition } = setOverride(live, { state: 'standby', until: null, reason: 'off' }, NOON)!;
    assert.equal(transition?.words, 'standby: set by the operator (off)');
    assert.equal(evaluate(record, { now: LATER }), undefined);
    const back = setOverride(record, null, ONE)!;
    assert.deepEqual([back.record.state, back.record.version], ['degraded', live.version + 2]);
  });

  test('a health override can replace another override, and its description shows the date if it ends on another day', () => {
    const second = setOverride(underMaintenance, { ...maintenance, until: NOON + 24 * HOUR }, NOON)!;
    assert.deepEqual([second.transition?.from, second.transition?.to], ['standby', 'standby']);
    assert.match(second.record.words, /, until 2026-01-16 12:00:00 UTC$/);
    // The end of the first override is not recorded yet, so its state is the last one that readers of transitions know.
    const late = setOverride(underMaintenance, { ...maintenance, state: 'degraded', until: null }, ONE)!;
    assert.deepEqual([late.transition?.from, late.transition?.to], ['standby', 'degraded']);
  });

  test('without an override there is nothing to remove, and no override enables a route that the catalogue disables', () => {
    assert.equal(setOverride(live, null, NOON), undefined);
    assert.equal(setOverride(disabled, { state: 'live', until: null, reason: 'please' }, NOON), undefined);
    assert.equal(setOverride(disabled, null, NOON), undefined);
  });
});

describe('a changed catalogue', () => {
  test('a changed catalogue enables a route that it had disabled, in the new catalogue state', () => {
    const change = reconfigureHealth(disabled, 'live', ONE);
    assert.deepEqual([change?.transition?.from, change?.transition?.to], ['standby', 'live']);
    assert.equal(isDisabled(change!.record, ONE), false);
  });

  test('a changed catalogue can disable a route in any state and with any override', () => {
    const forced = setOverride(live, { state: 'live', until: null, reason: 'test' }, NOON)!.record;
    for (const record of [live, standby, forced]) {
      const change = reconfigureHealth(record, 'standby', ONE)!;
      assert.equal(isDisabled(change.record, ONE), true);
      assert.equal(change.record.version, record.version + 1);
    }
  });

  test('a changed catalogue does not change a route that stays enabled or stays disabled', () => {
    for (const configured of ['live', 'degraded'] as const)
      assert.equal(reconfigureHealth(standby, configured, ONE), undefined);
    assert.equal(reconfigureHealth(disabled, 'standby', ONE), undefined);
  });
});

describe('a probe', () => {
  const due = standby.retryAt!;
  const leased = leaseProbe(standby, 'pay_1', due)!;

  test('a probe may start only for a route in standby whose back-off is over', () => {
    assert.deepEqual([canProbe(standby, due - 1), canProbe(standby, due)], [false, true]);
    assert.equal(leaseProbe(standby, 'pay_1', due - 1), undefined);
    assert.deepEqual([canProbe(live, ONE), canProbe(degraded, ONE)], [false, false]);
  });

  test('a probe is leased to one payment at a time', () => {
    const lease = { leasePaymentId: 'pay_1', leaseUntil: due + 120 * SECOND, version: standby.version + 1 };
    assert.deepEqual(leased, { ...standby, ...lease });
    assert.equal(leaseProbe(leased, 'pay_2', due + SECOND), undefined);
  });

  test('a probe ends with any result of its own payment, and with no result of another payment', () => {
    assert.equal(releaseProbe(leased, 'pay_2'), undefined);
    const free = releaseProbe(leased, 'pay_1')!;
    assert.deepEqual(free, { ...standby, version: standby.version + 2 });
    assert.equal(releaseProbe(free, 'pay_1'), undefined);
  });

  test('a probe expires after 120 seconds without a result', () => {
    assert.equal(canProbe(leased, due + 120 * SECOND - 1), false);
    const next = leaseProbe(leased, 'pay_2', due + 120 * SECOND)!;
    assert.equal(releaseProbe(next, 'pay_1'), undefined, 'the late result of the first does not end the second');
  });

  test('a probe ends when the route leaves standby', () => {
    const { record } = evaluate(leased, { now: due + 10 * SECOND, recent: results('sss', due + 3 * SECOND) })!;
    assert.deepEqual([record.state, record.leasePaymentId, record.leaseUntil], ['degraded', null, null]);
  });
});

describe('the count of the routes of a kind', () => {
  const low = inStandby('low_success');

  test('the count of the routes of a kind omits disabled routes, and counts the causes of standby separately', () => {
    const records = [live, degraded, standby, low, disabled, underMaintenance];
    assert.deepEqual(healthPeers(records, NOON), { routesOfKind: 4, inLowSuccessStandby: 1, usable: 2 });
    assert.deepEqual(healthPeers(records, ONE), { routesOfKind: 5, inLowSuccessStandby: 1, usable: 3 });
  });

  test('the count of the routes of a kind is not changed by a failed probe', () => {
    const { record } = evaluate(low, { now: low.retryAt!, recent: results('f', low.retryAt!) })!;
    assert.equal(healthPeers([record, live], NOON).inLowSuccessStandby, 1);
  });
});
