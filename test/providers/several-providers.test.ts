import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ONLY_IN_FULL_RUN } from '../support/for-all.ts';
import { runHistories } from './provider-histories.ts';
import { startSeveralInHistory } from './several-providers.ts';

const HISTORIES = 60;

describe('random histories of Stripe, PayPal and Adyen', ONLY_IN_FULL_RUN, () => {
  test('random histories of three providers end with at most one paid payment, and a refund or discrepancy for the rest', async () => {
    const seed = Math.floor(performance.now() * 1000);
    assert.deepEqual(await runHistories(startSeveralInHistory, HISTORIES, seed), []);
  });

  test('the random histories detect adapters that acknowledge refunds without making them', async () => {
    assert.notDeepEqual(await runHistories(startSeveralInHistory, HISTORIES, 4, true), []);
  });
});
