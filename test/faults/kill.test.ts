import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { runKillRounds } from './kill-rounds.ts';

const ROUNDS = 20;
const PLANTED_ROUNDS = 3;

describe('kill -9 under load', () => {
  it(`loses no acknowledged session, doubles no key and delivers every queued event, ${ROUNDS} times`, async (test) => {
    const report = await runKillRounds(new URL('../../src/main.ts', import.meta.url), ROUNDS);
    test.diagnostic(`${report.acknowledged} sessions acknowledged, ${report.paid} of them paid`);
    assert.ok(report.acknowledged > ROUNDS, 'there was no load to speak of');
    assert.ok(report.paid > 0, 'nothing was paid');
    assert.deepEqual(report.problems, []);
  });

  it('is caught answering before the commit', async () => {
    const report = await runKillRounds(new URL('./ack-before-commit-server.ts', import.meta.url), PLANTED_ROUNDS);
    assert.ok(
      report.problems.some((problem) => problem.includes('is lost')),
      'the planted fault went unnoticed',
    );
  });
});
