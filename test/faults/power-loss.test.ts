// @run needs=process
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { runPowerLoss } from './power-loss.ts';
import { whyNotRecordable } from './power-record.ts';

const SESSIONS = 80;
const CUT_POINTS = 60;
const SEED = 20_260_301;

const skip = whyNotRecordable() ?? false;

describe('loss of power, simulated', { skip }, () => {
  it('keeps every acknowledged session and payment', async (test) => {
    const entry = new URL('../../src/main.ts', import.meta.url);
    const report = await runPowerLoss({ entry, sessions: SESSIONS, cutPoints: CUT_POINTS, seed: SEED });
    const { acknowledged, cutPoints, inCheckpoints, logResets, problems } = report;
    test.diagnostic(
      `${acknowledged} answers, ${cutPoints} cuts, ${inCheckpoints} of them in checkpoints; ${logResets} new logs`,
    );
    assert.deepEqual(problems, [], problems.join('\n'));
    assert.ok(acknowledged >= SESSIONS, 'there was no load to speak of');
    assert.ok(inCheckpoints > 0, 'no checkpoint was cut off');
    assert.ok(logResets >= 2, 'the log did not begin anew');
  });

  it('is caught with a log that is not synced at each commit', async () => {
    const entry = new URL('./sync-normal-server.ts', import.meta.url);
    const { problems } = await runPowerLoss({ entry, sessions: 20, cutPoints: 20, seed: SEED });
    assert.match(problems.join('\n'), /synced only\): \d+ of \d+ acknowledged are lost/);
    assert.match(problems.join('\n'), /answers were sent before a sync/);
  });
});
