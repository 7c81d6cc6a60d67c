// @run on=postgres needs=process
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NO_LOAD_PROBLEM } from './load.ts';
import { SCENARIOS } from './scenarios.ts';

/** Maximum number of runs to detect an injected fault. If a run detects it with probability 1/2, 1 of 256 tests fails. */
const MOST_TRIES = 8;

for (const { name, cycles, injected, injectedCycles, unavailable, run } of Object.values(SCENARIOS)) {
  const skip = (await unavailable?.()) ?? false;

  describe(`fault: ${name}`, { skip }, () => {
    it(`${name}: the service loses no acknowledged record and breaks no invariant`, async (test) => {
      const report = await run({ cycles, injected: false });
      test.diagnostic(report.load);
      assert.deepEqual(report.problems, [], report.problems.join('\n'));
    });

    it(`${name}: the scenario detects an injected fault of the service (${injected})`, async (test) => {
      // A kill exposes the injected fault only at some moments.
      let noticed: string | undefined;
      for (let tries = 0; tries < MOST_TRIES && noticed === undefined; tries++) {
        const { problems } = await run({ cycles: injectedCycles, injected: true });
        noticed = problems.find((problem) => problem !== NO_LOAD_PROBLEM);
      }
      assert.ok(noticed, 'no run detected the injected fault');
      test.diagnostic(noticed);
    });
  });
}
