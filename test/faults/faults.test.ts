import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NO_LOAD } from './load.ts';
import { SCENARIOS } from './scenarios.ts';

for (const { name, cycles, planted, plantedCycles, unavailable, run } of Object.values(SCENARIOS)) {
  const skip = (await unavailable?.()) ?? false;

  describe(`fault: ${name}`, { skip }, () => {
    it('breaks no promise', async (test) => {
      const report = await run({ cycles, planted: false });
      test.diagnostic(report.load);
      assert.deepEqual(report.problems, [], report.problems.join('\n'));
    });

    it(`is caught with ${planted}`, async (test) => {
      const { problems } = await run({ cycles: plantedCycles, planted: true });
      const [noticed] = problems.filter((problem) => problem !== NO_LOAD);
      assert.ok(noticed, 'the planted fault went unnoticed');
      test.diagnostic(noticed);
    });
  });
}
