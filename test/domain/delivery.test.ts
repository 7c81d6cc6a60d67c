import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { DELIVERY_STATUSES, type DeliveryAttempt, replay } from '../../src/domain/delivery.ts';
import { ENVIRONMENTS } from '../../src/domain/route.ts';
import { ATTEMPT_DELAYS_MS, judgeAttempt } from '../../src/webhooks/retry.ts';
import { NOW, SECOND } from '../fixtures/checkout-records.ts';
import { aDelivery } from '../fixtures/store-records.ts';

/** Log entries of the attempts with these numbers. */
function logOf(...numbers: number[]): DeliveryAttempt[] {
  const { id: deliveryId } = aDelivery();
  const outcome = { durationMs: 1, statusCode: 500, failure: 'answered 500', responseBody: '' };
  return numbers.map((number) => ({ ...outcome, deliveryId, number, started: NOW }));
}

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

describe('the replay of a delivery', () => {
  test('the replay of a delivery makes the delivery pending and due unless an attempt is in progress, and is idempotent', () => {
    const any = fc.record({
      status: fc.constantFrom(...DELIVERY_STATUSES),
      attempts: fc.nat(30),
      scheduleStart: fc.nat(30),
      dueAt: fc.integer({ min: NOW - SECOND, max: NOW + SECOND }),
    });
    fc.assert(
      fc.property(any, fc.boolean(), (fields, inProgress) => {
        const before = aDelivery({ ...fields, scheduleStart: Math.min(fields.scheduleStart, fields.attempts) });
        const unfinished = inProgress && before.status === 'pending' ? 1 : 0;
        const log = logOf(...upTo(before.attempts - unfinished));
        const after = replay(before, log, NOW);
        const { status, attempts } = before;
        if (status !== 'pending') {
          assert.deepEqual(after, { ...before, status: 'pending', scheduleStart: attempts, dueAt: NOW });
        } else if (unfinished === 1 && attempts > 0) assert.equal(after, before);
        else assert.deepEqual(after, { ...before, dueAt: Math.min(before.dueAt, NOW) });
        assert.equal(replay(after, log, NOW), after);
      }),
    );
  });

  test('each replay of a delivery starts the retry schedule again', () => {
    fc.assert(
      fc.property(fc.constantFrom(...ENVIRONMENTS), fc.integer({ min: 1, max: 4 }), (environment, rounds) => {
        const delays = ATTEMPT_DELAYS_MS[environment];
        let delivery = aDelivery({ environment });
        for (let round = 1; round <= rounds; round++) {
          const waits: number[] = [];
          while (delivery.status === 'pending') {
            delivery = { ...delivery, attempts: delivery.attempts + 1 };
            const attempts = delivery.attempts - delivery.scheduleStart;
            const verdict = judgeAttempt({ environment, attempts, statusCode: 500, random: 0.5 });
            if (verdict.status === 'pending') waits.push(verdict.delayMs);
            delivery = { ...delivery, status: verdict.status };
          }
          assert.deepEqual([waits, delivery.attempts], [delays.slice(1), round * delays.length]);
          delivery = replay(delivery, logOf(...upTo(delivery.attempts)), NOW);
        }
      }),
    );
  });

  test('the replay of a delivery treats the last attempt as in progress if only that attempt is missing from the log', () => {
    const delivery = aDelivery({ attempts: 3, dueAt: NOW + SECOND });
    assert.equal(replay(delivery, logOf(1, 2), NOW), delivery);
    assert.deepEqual(replay(delivery, logOf(1, 3), NOW), { ...delivery, dueAt: NOW });
  });
});
