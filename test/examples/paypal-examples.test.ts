// @run needs=process
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { describe, it } from 'node:test';
import { startProgram, temporaryFolder } from '../process/program.ts';
import { paypalVariables } from '../providers/paypal-service.ts';
import { startScriptedPaypal } from '../providers/scripted-paypal.ts';
import { submit } from '../simulator/buyer.ts';
import { until } from '../support/until.ts';

const LOCAL = new URL('../../examples/paypal/local.ts', import.meta.url);
const LIVE = new URL('../../examples/paypal/live.ts', import.meta.url);

describe('the local example of PayPal', () => {
  it('the local PayPal example shows every step, its books agree with PayPal, and no files remain', async () => {
    using folder = temporaryFolder();
    await using program = startProgram(LOCAL, { TMPDIR: folder.path('') });
    assert.equal(await program.exited, 0, program.stderr());
    const printed = program.stdout();
    assert.equal(printed.match(/sum 0\.00$/gm)?.length, 10);
    assert.equal(printed.match(/^ {2}PayPal {3}balance/gm)?.length, 10);
    assert.match(printed, /agree after every step/);
    const left = readdirSync(folder.path('')).filter((name) => name.startsWith('tillway'));
    assert.deepEqual(left, []);
  });

  it('the local PayPal example exits with 1 if its books differ from PayPal by one cent', async () => {
    await using program = startProgram(LOCAL, { WRONG_CENT: '1' });
    assert.equal(await program.exited, 1);
    assert.match(program.stderr(), /PayPal and the ledger differ/);
  });
});

describe('npm run live:paypal', () => {
  it('npm run live:paypal exits with 2 and starts nothing without credentials or for a live account', async () => {
    const secret = `EK${'x'.repeat(30)}`;
    const app = { PAYPAL_CLIENT_ID: secret, PAYPAL_CLIENT_SECRET: secret, PAYPAL_WEBHOOK_ID: '4JH86294D6297924G' };
    for (const variables of [{}, { PAYPAL_CLIENT_SECRET: secret }, { ...app, PAYPAL_ENVIRONMENT: 'production' }]) {
      await using program = startProgram(LIVE, variables);
      assert.equal(await program.exited, 2);
      assert.match(program.stderr(), /PAYPAL_/);
      assert.ok(!program.stderr().includes(secret));
      assert.equal(program.stdout(), '');
    }
  });

  it('npm run live:paypal creates, compares and refunds one checkout', async () => {
    await using paypal = await startScriptedPaypal();
    await using program = startProgram(LIVE, paypalVariables(paypal));
    await until(
      () => /^Open http/m.test(program.stdout()),
      () => program.stdout() + program.stderr(),
    );
    const checkout = /^Open (\S+)/m.exec(program.stdout())![1]!;
    await submit(`${checkout}/pay`, { kind: 'wallet', total_wallet: '1000' });
    const [order] = paypal.world.orders.values();
    const { headers } = await submit(`${paypal.url}/checkoutnow?token=${order!.id}`, { act: 'approve' });
    await fetch(headers.get('location')!);
    assert.equal(await program.exited, 0, program.stdout() + program.stderr());
    assert.match(program.stdout(), /^total {4}10\.00 here, 10\.00 at PayPal$/m);
    assert.match(program.stdout(), /^fee {6}0\.84 here, 0\.84 at PayPal$/m);
    assert.match(program.stdout(), /The capture at PayPal is REFUNDED/);
  });
});
