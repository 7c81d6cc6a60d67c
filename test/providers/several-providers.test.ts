import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ONLY_IN_FULL_RUN } from '../support/for-all.ts';
import { runHistories } from './provider-histories.ts';
import { startSeveralInHistory } from './several-providers.ts';

const HISTORIES = 60;
const MOST_TRIES = 4;

describe('random histories of Stripe, PayPal and Adyen', ONLY_IN_FULL_RUN, () => {
  test('random histories of three providers end with at most one paid payment, and a refund or discrepancy for the rest', async () => {
    const seed = Math.floor(performance.now() * 1000);
    assert.deepEqual(await runHistories(startSeveralInHistory, HISTORIES, seed), []);
  });

  test('the random histories detect adapters that acknowledge refunds without making them', async () => {
    // On a busy machine, a history can take another course, so several seeds have the chance to detect the fault.
    let problems: string[] = [];
    for (let seed = 4; seed < 4 + MOST_TRIES && problems.length === 0; seed++) {
      problems = await runHistories(startSeveralInHistory, HISTORIES, seed, true);
    }
    assert.notDeepEqual(problems, []);
  });
});
