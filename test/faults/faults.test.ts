// @run on=postgres needs=process
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NO_LOAD } from './load.ts';
import { SCENARIOS } from './scenarios.ts';

/** With a chance of one in two that a kill meets the fault, all of these miss it once in 256 runs. */
const MOST_TRIES = 8;

for (const { name, cycles, injected, injectedCycles, unavailable, run } of Object.values(SCENARIOS)) {
  const skip = (await unavailable?.()) ?? false;

  describe(`fault: ${name}`, { skip }, () => {
    it('breaks no promise', async (test) => {
      const report = await run({ cycles, injected: false });
      test.diagnostic(report.load);
      assert.deepEqual(report.problems, [], report.problems.join('\n'));
    });

    it(`is caught with ${injected}`, async (test) => {
      // Whether a kill meets the fault is a matter of chance.
      let noticed: string | undefined;
      for (let tries = 0; tries < MOST_TRIES && noticed === undefined; tries++) {
        const { problems } = await run({ cycles: injectedCycles, injected: true });
        noticed = problems.find((problem) => problem !== NO_LOAD);
      }
      assert.ok(noticed, 'the injected fault went unnoticed');
      test.diagnostic(noticed);
    });
  });
}
