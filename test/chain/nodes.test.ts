// @run needs=process
import assert from 'node:assert/strict';
import { after, afterEach, describe, test } from 'node:test';
import type { Address } from 'viem';
import {
  type Fault,
  type RpcProxy,
  down,
  empty,
  forge,
  garbage,
  hide,
  lag,
  otherChain,
  startRpcProxy,
  throttle,
} from '../support/rpc-proxy.ts';
import { startUsdcService, usdcVariables } from '../support/usdc-service.ts';

const MINUTE_MS = 60_000;
const nodes: RpcProxy[] = [];
const usdc = await startUsdcService({}, {}, async ({ url, token }) => {
  nodes.push(await startRpcProxy(url), await startRpcProxy(url));
  return usdcVariables(
    token,
    nodes.map((node) => node.url),
  );
});
const { on, chain } = usdc;
const [first, second] = nodes as [RpcProxy, RpcProxy];
after(async () => {
  await usdc[Symbol.asyncDispose]();
  for (const node of nodes) await node[Symbol.asyncDispose]();
});
afterEach(async () => {
  for (const node of nodes) await node.setFault();
  await recover();
});

/** Lets polls pass until nodes that paused after failures are asked again, and the instance is ready. */
async function recover(): Promise<void> {
  for (let minute = 0; minute < 6; minute++) await on.pass(MINUTE_MS);
  assert.equal(reason(), null);
}

const reason = () => on.service.deps.readiness.reasonOf('local', 'local');
const statusOf = async (session: string) => (await usdc.payment(session)).status;
async function finish(): Promise<void> {
  await chain.finalize();
  await on.pass(MINUTE_MS);
}

describe('with two nodes that must agree', () => {
  for (const [what, fault] of Object.entries<Fault>({
    'hides all transfers': hide(),
    'is behind by 100 blocks': lag(100),
    'has restarted without data': empty(),
    'serves another chain': otherChain(1),
    'answers 429 to every request': throttle(1),
    'refuses connections': down('refusing'),
    'closes connections': down('closing'),
    'answers HTML': garbage('html'),
    'answers wrong types': garbage('types'),
    'answers with other ids': garbage('id'),
  })) {
    test(`a node that ${what} delays a payment and books nothing wrong; the payment is paid when the node is right again`, async () => {
      const session = await usdc.begin();
      await second.setFault(fault);
      await usdc.send(session);
      await finish();
      await on.pass(MINUTE_MS);
      assert.equal(await statusOf(session), 'pending');
      await second.setFault();
      await recover();
      assert.equal(await statusOf(session), 'paid');
      const { discrepancies } = (await on.service.deps.store.checkout(session))!;
      assert.deepEqual(discrepancies, []);
    });
  }

  test('a transfer that one node makes up is shown at most as seen, and is never paid', async () => {
    const session = await usdc.begin();
    const { address, units } = await usdc.instructions(session);
    const { finalized } = await chain.heights();
    const hash = `0x${'ab'.repeat(32)}` as const;
    await first.setFault(
      forge({ token: chain.token, to: address as Address, units: BigInt(units), blockNumber: finalized + 1, hash }),
    );
    for (let each = 0; each < 4; each++) {
      await chain.client.mine({ blocks: 20 });
      await on.pass(10_000);
    }
    assert.equal(await statusOf(session), 'pending');
    assert.match(reason() ?? '', /disagree/);
    await first.setFault();
    await recover();
    assert.equal(await statusOf(session), 'pending');
    assert.equal((await usdc.instructions(session)).received, 0);
  });

  test('throttling that lets some requests through delays payments without a wrong verdict', async () => {
    const session = await usdc.begin();
    await first.setFault(throttle(0.3, 1));
    await usdc.send(session);
    for (let each = 0; each < 10; each++) await finish();
    assert.equal(await statusOf(session), 'paid');
  });
});

describe('without any node', () => {
  test('no payment times out, the route is in standby after 3 minutes with the reason, and all of it recovers', async () => {
    const session = await usdc.begin();
    const { timeoutAt } = await usdc.payment(session);
    await on.pass(timeoutAt - on.clock.now() - 10 * MINUTE_MS);
    for (const node of nodes) await node.setFault(down('refusing'));
    await on.pass(MINUTE_MS);
    assert.equal(reason(), null);
    await usdc.send(session);
    for (let minute = 0; minute < 4; minute++) await on.pass(MINUTE_MS);
    assert.match(reason() ?? '', /0 of 2 nodes of local chain answer/);
    for (let minute = 0; minute < 20; minute++) await on.pass(MINUTE_MS);
    assert.equal(await statusOf(session), 'pending', 'the chain is unknown at the time-out');
    await chain.finalize();
    for (const node of nodes) await node.setFault();
    await recover();
    assert.equal(await statusOf(session), 'paid');
    const { session: state } = (await on.service.deps.store.checkout(session))!;
    assert.equal(state.status, 'paid');
  });
});
