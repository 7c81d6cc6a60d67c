// @run needs=process
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { describe, it } from 'node:test';
import { startProgram, temporaryFolder } from '../process/program.ts';

const LOCAL = new URL('../../examples/stripe/local.ts', import.meta.url);

describe('the local example of Stripe', () => {
  it('shows every step with books that agree with Stripe, and leaves nothing behind', async () => {
    using folder = temporaryFolder();
    await using program = startProgram(LOCAL, { TMPDIR: folder.path('') });
    assert.equal(await program.exited, 0, program.stderr());
    const printed = program.stdout();
    assert.equal(printed.match(/sum 0\.00$/gm)?.length, 9);
    assert.equal(printed.match(/^ {2}Stripe {3}balance/gm)?.length, 9);
    assert.match(printed, /agree after every step/);
    assert.equal(program.stderr(), '');
    assert.deepEqual(
      readdirSync(folder.path('')).filter((name) => name.startsWith('tillway')),
      [],
    );
  });

  it('ends with 1 at the first cent that differs', async () => {
    await using program = startProgram(LOCAL, { WRONG_CENT: '1' });
    assert.equal(await program.exited, 1);
    assert.match(program.stderr(), /Stripe and the ledger differ/);
    assert.doesNotMatch(program.stdout(), /bank debit/);
  });
});
