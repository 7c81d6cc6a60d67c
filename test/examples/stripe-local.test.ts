// @run needs=process
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { describe, it } from 'node:test';
import { startProgram, temporaryFolder } from '../process/program.ts';

const LOCAL = new URL('../../examples/stripe/local.ts', import.meta.url);

describe('the local example of Stripe', () => {
  it('the local Stripe example shows every step, its books agree with Stripe, and no files remain', async () => {
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

  it('the local Stripe example exits with 1 if its books differ from Stripe by one cent', async () => {
    await using program = startProgram(LOCAL, { WRONG_CENT: '1' });
    assert.equal(await program.exited, 1);
    assert.match(program.stderr(), /Stripe and the ledger differ/);
    assert.doesNotMatch(program.stdout(), /bank debit/);
  });
});
