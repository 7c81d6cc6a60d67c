// @run needs=process
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { once } from 'node:events';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { clientOf } from '../../examples/chain/local-chain.ts';
import { Tillway } from '../../sdk/src/index.ts';
import { CACHE_ENV, type Program, startProgram, temporaryFolder } from '../process/program.ts';
import { until } from '../support/until.ts';

const DEMO = new URL('../../examples/chain/demo.ts', import.meta.url);
const PAY = new URL('../../examples/chain/pay.ts', import.meta.url);
const CHECKOUT = /^Checkout {2}(\S+)$/m;

describe('the demo of USDC on a local chain', () => {
  const folder = temporaryFolder();
  let chainUrl: string;
  let demo: Program;
  let tillway: Tillway;

  before(async () => {
    chainUrl = `http://127.0.0.1:${await freePort()}`;
    demo = startProgram(DEMO, { PORT: '0', CHAIN_URL: chainUrl, TMPDIR: folder.path('') });
    await until(
      () => CHECKOUT.test(demo.stdout()),
      () => `the demo printed no checkout: ${demo.stderr()}`,
    );
    tillway = new Tillway({ baseUrl: new URL(CHECKOUT.exec(demo.stdout())![1]!).origin });
  });
  after(async () => {
    demo.signal('SIGINT');
    assert.equal(await demo.exited, 0, demo.stderr());
    assert.deepEqual(
      readdirSync(folder.path('')).filter((name) => name.startsWith('tillway')),
      [],
    );
    folder[Symbol.dispose]();
  });

  /** Runs `pay.ts` for a checkout, and returns what it prints. */
  async function pay(checkout: string, ...options: string[]): Promise<string> {
    const env = { ...CACHE_ENV, CHAIN_URL: chainUrl };
    return (await promisify(execFile)(process.execPath, [PAY.pathname, checkout, ...options], { env })).stdout;
  }

  async function newCheckout() {
    return tillway.sessions.create({
      product: 'Field guide',
      amount: 19.99,
      customer: 'buyer@example.com',
      preferredRoute: 'wallet',
    });
  }

  it('the printed checkout shows the QR code of its address, is paid in two parts, and the webhook arrives', async () => {
    const checkout = CHECKOUT.exec(demo.stdout())![1]!;
    assert.match(demo.stdout(), /^Address {3}0x[0-9a-fA-F]{40}, for 19\.99 USDC\n(?:[█▀▄ ]+\n){10,}/m);
    assert.match(await pay(checkout, '--part', '5'), /^Sent 5 USDC.*\nA part has arrived/);
    assert.match(await pay(checkout, '--fast'), /^Sent 14\.99 USDC.*\nThe checkout is paid, \d+ blocks before/);
    await until(() => demo.stdout().includes(`Webhook: payment.paid of ${checkout.split('/').at(-1)}\n`));
  });

  it('money beyond the amount is listed as a discrepancy', async () => {
    const { id, checkoutUrl } = await newCheckout();
    assert.match(await pay(checkoutUrl, '--over', '1', '--fast'), /^Sent 20\.99 USDC.*\nThe checkout is paid/);
    await clientOf(chainUrl).mine({ blocks: 30 });
    await until(async () =>
      (await tillway.discrepancies.list({ sessionId: id })).data.some(({ received }) => received === 1),
    );
  });

  it('a transfer that the chain drops is seen and never counted', async () => {
    const { id, checkoutUrl } = await newCheckout();
    assert.match(await pay(checkoutUrl, '--reorg'), /the transfer was never counted/);
    assert.equal((await tillway.sessions.get(id)).status, 'pending');
  });

  it('money that arrives after the time-out pays the checkout', async () => {
    const { id, checkoutUrl } = await newCheckout();
    assert.match(await pay(checkoutUrl, '--late', '--fast'), /timed out.*\nSent.*\nThe checkout is paid/);
    assert.equal((await tillway.sessions.get(id)).status, 'paid');
  });

  it('a checkout that waits for no transfer is refused with the reason', async () => {
    const { checkoutUrl } = await newCheckout();
    await assert.rejects(pay(`${checkoutUrl}x`), /answered 404/);
  });
});

it('the demo and its payer name the fix in one line if the port is taken or the checkout is missing', async () => {
  using folder = temporaryFolder();
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  const demo = startProgram(DEMO, {
    PORT: String(port),
    CHAIN_URL: `http://127.0.0.1:${await freePort()}`,
    TMPDIR: folder.path(''),
  });
  assert.equal(await demo.exited, 1);
  taken.close();
  assert.match(demo.stderr(), /^PORT must be a free port: .*PORT=3100 npm run demo:chain\n$/);
  assert.deepEqual(
    readdirSync(folder.path('')).filter((name) => name.startsWith('tillway')),
    [],
  );

  const payment = promisify(execFile)(process.execPath, [PAY.pathname], { env: CACHE_ENV });
  await assert.rejects(payment, { code: 1, stderr: /^Name the checkout .*\n$/ });
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
