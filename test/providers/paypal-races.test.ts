import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ONLY_IN_FULL_RUN } from '../support/for-all.ts';
import { runRaces } from './paypal-races.ts';

describe('races of captures at PayPal', ONLY_IN_FULL_RUN, () => {
  test('no payment is captured after the buyer has left it, and the money of each capture is booked or refunded', async () => {
    assert.deepEqual(await runRaces(50, Math.floor(performance.now() * 1000)), []);
  });

  test('the races detect a capture that can be claimed after the buyer has left', async () => {
    assert.notDeepEqual(await runRaces(30, 1, true), []);
  });
});
