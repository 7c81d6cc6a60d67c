import assert from 'node:assert/strict';
import { test } from 'node:test';
import { disputeEventId, eventId, healthEventId, refundEventId, sourceOfEvent } from '../../src/domain/event-id.ts';
import { idOf } from '../fixtures/checkout-records.ts';

const sessionId = idOf('chk', 1);
const refund = { id: idOf('ref', 2), sessionId };
const dispute = { id: idOf('rev', 3), sessionId };

test('the id of an event contains its session and the status, refund or dispute revision that it reports', () => {
  const ids = [
    eventId(sessionId, 'provider_pending'),
    refundEventId({ ...refund, status: 'succeeded' }),
    refundEventId({ ...refund, status: 'failed' }),
    disputeEventId({ ...dispute, revision: 1 }),
    disputeEventId({ ...dispute, revision: 12 }),
  ];
  assert.deepEqual(
    ids.map((id) => id.replace(`evt_${sessionId}_`, '')),
    [
      'provider_pending',
      `refunded_${refund.id}`,
      `refunded_${refund.id}_failed`,
      `disputed_${dispute.id}_1`,
      `disputed_${dispute.id}_12`,
    ],
  );
  for (const id of ids) assert.equal(sourceOfEvent(id), sessionId);
  assert.equal(sourceOfEvent(healthEventId(idOf('rtr', 4))), idOf('rtr', 4));
});

test('`sourceOfEvent` returns undefined for an id that no event can have', () => {
  const ends = [
    '',
    'refunded',
    `refunded_${dispute.id}`,
    `refunded_${refund.id}_succeeded`,
    `refunded_${refund.id}_`,
    `disputed_${dispute.id}`,
    `disputed_${dispute.id}_`,
    `disputed_${dispute.id}_x`,
    `disputed_${refund.id}_1`,
    `paid_${refund.id}`,
  ];
  for (const end of ends) assert.equal(sourceOfEvent(`evt_${sessionId}_${end}`), undefined, end);
  assert.equal(sourceOfEvent(`xxxx${idOf('rtr', 4)}`), undefined);
  assert.equal(sourceOfEvent(`evt_${idOf('rtr', 4)}_paid`), undefined);
  assert.equal(sourceOfEvent(`evt_chk_1_refunded_${refund.id}`), undefined);
});
