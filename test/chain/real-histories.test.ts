// @run needs=process
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CHAIN_HISTORIES } from './real-histories.ts';

describe('payments on a real chain with reorganizations', () => {
  it('200 random histories end with the money of the final chain in the books, and none is paid too early', async (test) => {
    const { load, problems } = await CHAIN_HISTORIES.run({ cycles: CHAIN_HISTORIES.cycles, injected: false });
    test.diagnostic(load);
    assert.deepEqual(problems, []);
  });

  it(`the histories reveal ${CHAIN_HISTORIES.injected}`, async () => {
    const { problems } = await CHAIN_HISTORIES.run({ cycles: CHAIN_HISTORIES.injectedCycles, injected: true });
    assert.ok(problems.some((problem) => problem.includes('was paid with')));
  });
});
