// @run needs=process
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Program, startProgram } from '../process/program.ts';
import { startScriptedStripe } from '../providers/scripted-stripe.ts';
import { submit } from '../simulator/buyer.ts';
import { until } from '../support/until.ts';

const LIVE = new URL('../../examples/stripe/live.ts', import.meta.url);

/** Pays the checkout that the program prints. Returns the id of the Checkout Session at Stripe. */
async function payPrinted(program: Program): Promise<string> {
  await until(
    () => /^Open http/m.test(program.stdout()),
    () => program.stdout() + program.stderr(),
  );
  const checkout = /^Open (\S+)/m.exec(program.stdout())![1]!;
  await submit(`${checkout}/pay`, { kind: 'card', total_card: '1000' });
  const page = /href="([^"]*\/c\/pay\/[^"]*)"/.exec(await (await fetch(`${checkout}/continue`)).text())![1]!;
  const { headers } = await submit(page, { act: 'pay' });
  await fetch(headers.get('location')!);
  return page.split('/').at(-1)!;
}

describe('npm run live:stripe', () => {
  for (const [name, key] of [
    ['without a key', undefined],
    ['with a live key', 'sk_live_abcdefgh12345678'],
    ['with a restricted live key', 'rk_live_abcdefgh12345678'],
  ] as const) {
    it(`npm run live:stripe exits with 2 and starts nothing ${name}`, async () => {
      await using program = startProgram(LIVE, key === undefined ? {} : { STRIPE_SECRET_KEY: key });
      assert.equal(await program.exited, 2);
      assert.match(program.stderr(), /STRIPE_SECRET_KEY/);
      assert.ok(!program.stderr().includes('abcdefgh'));
      assert.equal(program.stdout(), '');
    });
  }

  it('npm run live:stripe exits with 1 and names the reason if the Stripe account takes no payments', async () => {
    await using stripe = await startScriptedStripe();
    stripe.account.charges_enabled = false;
    await using program = startProgram(LIVE, { STRIPE_SECRET_KEY: stripe.secretKey, STRIPE_API_BASE: stripe.url });
    assert.equal(await program.exited, 1);
    assert.match(program.stdout(), /^error .*\n[^]*takes no payments/m);
  });

  it('npm run live:stripe creates, compares and refunds one checkout, without callbacks', async () => {
    await using stripe = await startScriptedStripe();
    await using program = startProgram(LIVE, { STRIPE_SECRET_KEY: stripe.secretKey, STRIPE_API_BASE: stripe.url });
    await payPrinted(program);
    assert.equal(await program.exited, 0, program.stdout() + program.stderr());
    assert.match(program.stdout(), /^fee {6}0\.59 here, 0\.59 at Stripe$/m);
    assert.match(program.stdout(), /The refund is succeeded/);
    assert.equal(stripe.balance(), -59);
  });

  it('npm run live:stripe exits with 1 if an amount at Stripe differs', async () => {
    await using stripe = await startScriptedStripe();
    await using program = startProgram(LIVE, { STRIPE_SECRET_KEY: stripe.secretKey, STRIPE_API_BASE: stripe.url });
    stripe.sendingOf = () => {
      for (const movement of stripe.world.movements.values()) movement.net -= 1;
      return { times: 0, delayMs: 0 };
    };
    stripe.callbackUrl = stripe.url;
    await payPrinted(program);
    assert.equal(await program.exited, 1);
    assert.match(program.stdout(), /^balance .* DIFFERS$/m);
  });
});
