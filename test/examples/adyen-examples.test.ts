// @run needs=process
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { describe, it } from 'node:test';
import { type Program, startProgram, temporaryFolder } from '../process/program.ts';
import { adyenVariables } from '../providers/adyen-stage.ts';
import { type ScriptedAdyen, startScriptedAdyen } from '../providers/scripted-adyen.ts';
import { submit } from '../simulator/buyer.ts';
import { until } from '../support/until.ts';

const LOCAL = new URL('../../examples/adyen/local.ts', import.meta.url);
const LIVE = new URL('../../examples/adyen/live.ts', import.meta.url);

describe('the local example of Adyen', () => {
  it('the local Adyen example shows every step, its books agree with Adyen, and no files remain', async () => {
    using folder = temporaryFolder();
    await using program = startProgram(LOCAL, { TMPDIR: folder.path('') });
    assert.equal(await program.exited, 0, program.stderr());
    const printed = program.stdout();
    assert.equal(printed.match(/sum 0\.00$/gm)?.length, 12);
    assert.equal(printed.match(/^ {2}Adyen {4}balance/gm)?.length, 12);
    assert.match(printed, /agree after every step/);
    const left = readdirSync(folder.path('')).filter((name) => name.startsWith('tillway'));
    assert.deepEqual(left, []);
  });

  it('the local Adyen example exits with 1 if its books differ from Adyen by one cent', async () => {
    await using program = startProgram(LOCAL, { WRONG_CENT: '1' });
    assert.equal(await program.exited, 1);
    assert.match(program.stderr(), /Adyen and the ledger differ/);
    assert.doesNotMatch(program.stdout(), /200\.00/);
  });
});

/** Plays operator, buyer and bank of the live example. `refund`: reason for which Adyen cannot refund, if it cannot. */
async function play(adyen: ScriptedAdyen, program: Program, refund?: string): Promise<void> {
  const printed = (pattern: RegExp) =>
    until(
      () => pattern.test(program.stdout()),
      () => program.stdout() + program.stderr(),
    );
  await printed(/^Test the webhook now/m);
  adyen.callbackUrl = /^Callbacks are expected at (\S+)/m.exec(program.stdout())![1]!;
  await adyen.sendTest();
  await printed(/^Open http/m);
  const checkout = /^Open (\S+)/m.exec(program.stdout())![1]!;
  await submit(`${checkout}/pay`, { kind: 'local', total_local: '1000' });
  const [link] = adyen.links.values();
  await submit(link!.url, { act: 'pay' });
  await until(() => adyen.refunds.size === 1);
  adyen.finishRefund([...adyen.refunds.keys()][0]!, refund);
}

describe('npm run live:adyen', () => {
  it('npm run live:adyen exits with 2 and starts nothing without credentials or with those of a live account', async () => {
    const key = `AQE${'x'.repeat(30)}`;
    const account = { ADYEN_API_KEY: key, ADYEN_MERCHANT_ACCOUNT: 'Test', ADYEN_HMAC_KEY: 'ab'.repeat(32) };
    const refused = [{ ADYEN_API_KEY: key }, { ...account, ADYEN_LIVE_PREFIX: '1a-T' }];
    for (const variables of refused) {
      await using program = startProgram(LIVE, variables);
      assert.equal(await program.exited, 2);
      assert.match(program.stderr(), /ADYEN_/);
      assert.ok(!program.stderr().includes(key));
      assert.equal(program.stdout(), '');
    }
  });

  it('npm run live:adyen waits for a notification, and then creates, compares and refunds one checkout', async () => {
    await using adyen = await startScriptedAdyen();
    await using program = startProgram(LIVE, adyenVariables(adyen));
    await play(adyen, program);
    assert.equal(await program.exited, 0, program.stdout() + program.stderr());
    assert.match(program.stdout(), /^total {4}10\.00 here, 10\.00 at Adyen$/m);
    assert.match(program.stdout(), /The refund is succeeded/);
  });

  it('npm run live:adyen exits with 1 if Adyen does not make the refund', async () => {
    await using adyen = await startScriptedAdyen();
    await using program = startProgram(LIVE, adyenVariables(adyen));
    await play(adyen, program, 'Insufficient balance');
    assert.equal(await program.exited, 1);
    assert.match(program.stdout(), /The refund is failed/);
  });
});
