// @run needs=process
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { runPowerLoss } from './power-loss.ts';
import { whyNotRecordable } from './power-record.ts';

const SESSIONS = 80;
const CUT_POINTS = 60;
const SEED = 20_260_301;

const skip = whyNotRecordable() ?? false;

describe('a simulated power loss', { skip }, () => {
  it('a power loss loses no acknowledged session or payment', async (test) => {
    const report = await runPowerLoss({ sessions: SESSIONS, syncsCommits: true, cutPoints: CUT_POINTS, seed: SEED });
    const { acknowledged, cutPoints, inCheckpoints, logResets, problems } = report;
    test.diagnostic(
      `${acknowledged} answers, ${cutPoints} cuts, ${inCheckpoints} of them in checkpoints; ${logResets} new logs`,
    );
    assert.deepEqual(problems, [], problems.join('\n'));
    assert.ok(acknowledged >= SESSIONS, 'too few responses');
    assert.ok(inCheckpoints > 0, 'no cut was in a checkpoint');
    assert.ok(logResets >= 2, 'the log did not restart');
  });

  it('the simulation detects data loss if the log is not synced at each commit', async () => {
    const { problems } = await runPowerLoss({ sessions: 20, syncsCommits: false, cutPoints: 20, seed: SEED });
    assert.match(problems.join('\n'), /synced only\): \d+ of \d+ acknowledged are lost/);
    assert.match(problems.join('\n'), /answers were sent before a sync/);
  });
});
