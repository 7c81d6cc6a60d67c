// @run needs=process
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import type { Address } from 'viem';
import { CHAINS } from '../../src/providers/evm-chains.ts';
import { createQuorum } from '../../src/providers/evm-quorum.ts';
import type { ChainNode } from '../../src/providers/evm-rpc.ts';
import { type Fault, down, empty, forge, garbage, hide, throttle } from '../support/rpc-proxy.ts';
import { DAY, HOUR, MINUTE, TIMEOUT, type WatchedService, merchantHas, startWatched } from './watched-stage.ts';

const FORGED_HASH = `0x${'f0'.repeat(32)}` as const;

/** The reason why the routes of the instance are in standby; null if buyers can use them. */
function standbyReason({ on }: WatchedService): string | null {
  return on.service.deps.readiness.list().find(({ id }) => id === 'local')!.reason;
}

/** Gives every node a fault, or none. */
async function setFaults({ nodes }: WatchedService, fault?: () => Fault): Promise<void> {
  for (const node of nodes) await node.setFault(fault?.());
}

describe('one of three nodes is faulty, and two must agree', () => {
  const faults: Record<string, () => Fault> = {
    'hides transfers': () => hide(),
    'was restarted without data': empty,
    'rejects half of the requests': () => throttle(0.5),
    'answers HTML': () => garbage('html'),
  };
  let world: WatchedService;
  before(async () => {
    world = await startWatched({ nodes: 3 });
  });
  after(() => world[Symbol.asyncDispose]());
  afterEach(() => world.nodes[0]!.setFault());

  for (const [name, fault] of Object.entries(faults)) {
    it(`the node ${name}: a payment is paid when it is final`, async () => {
      const { begin, chain, nodes, polls, send, settle, state } = world;
      await nodes[0]!.setFault(fault());
      const session = await begin(20);
      await send(session);
      await polls(1);
      assert.deepEqual(await state(session), ['pending', 'pending']);
      await settle();
      await chain.client.mine({ blocks: 2 });
      await polls(4);
      assert.deepEqual(await state(session), ['paid', 'settled']);
      assert.equal(standbyReason(world), null);
    });
  }

  it('the node forges a transfer: it is never paid', async () => {
    const { begin, chain, instructions, nodes, polls, state } = world;
    const [forged, honest] = [await begin(20), await begin(20)];
    const { address, units } = await instructions(forged);
    const { latest: blockNumber } = await chain.heights();
    const lie = { token: chain.token, to: address as Address, units: BigInt(units), blockNumber, hash: FORGED_HASH };
    await nodes[0]!.setFault(forge(lie));
    await world.send(honest);
    await world.settle();
    await polls(3);
    assert.deepEqual(
      [await state(forged), await state(honest)],
      [
        ['pending', 'pending'],
        ['paid', 'settled'],
      ],
    );
  });
});

describe('nodes that contradict each other', () => {
  it('one of two hides transfers: nothing is paid, the routes go to standby after 3 polls and come back', async () => {
    await using world = await startWatched({ nodes: 2 });
    const { begin, on, nodes, polls, send, settle, state } = world;
    const session = await begin(20);
    await nodes[1]!.setFault(hide());
    await send(session);
    await settle();
    await polls(4);
    assert.deepEqual(await state(session), ['pending', 'pending']);
    assert.match(standbyReason(world) ?? '', /disagree/);
    await nodes[1]!.setFault();
    await polls(1);
    assert.deepEqual(await state(session), ['paid', 'settled']);
    await on.pass(HOUR);
    assert.equal(standbyReason(world), null);
  });

  it('the only node hides a transfer: the comparison with the balance at the time-out finds it', async () => {
    await using world = await startWatched();
    const { begin, chain, nodes, on, polls, send, state } = world;
    const session = await begin(20);
    await send(session);
    await nodes[0]!.setFault(hide());
    await chain.client.mine({ blocks: 40 });
    await polls(1);
    await nodes[0]!.setFault();
    await polls(1);
    assert.deepEqual(await state(session), ['pending', 'pending']);
    await on.pass(TIMEOUT);
    await polls(1);
    assert.deepEqual(await state(session), ['paid', 'settled']);
  });
});

describe('balances of addresses', () => {
  it('count only as far as a quorum reports them, so that one node cannot make the service read addresses again', async () => {
    const block = { number: 1, hash: '0x1' };
    const reporting = (units: number) => {
      const node = { name: `${units}`, balances: async () => [units] } as Partial<ChainNode> as ChainNode;
      return { node, latest: block, final: block };
    };
    const { balances } = createQuorum(CHAINS.get('local')!, [], 2);
    assert.deepEqual(await balances([5, 900, 5].map(reporting), ['0xA']), [5]);
    // Two of the nodes have a transfer that the third one lacks.
    assert.deepEqual(await balances([5, 7, 9].map(reporting), ['0xA']), [7]);
  });
});

describe('no node answers', () => {
  it('for days, while buyers pay: everything is found', async () => {
    await using world = await startWatched({ nodes: 2 });
    const { begin, chain, on, polls, send, state } = world;
    const sessions = [await begin(20), await begin(30)];
    await polls(1);
    await setFaults(world, () => down('closing'));
    for (const session of sessions) {
      await send(session);
      // More blocks than one query can have.
      await chain.client.mine({ blocks: 700 });
      await on.pass(DAY + HOUR);
    }
    await setFaults(world);
    await on.pass(MINUTE);
    await polls(2);
    for (const session of sessions) assert.deepEqual(await state(session), ['paid', 'settled']);
    assert.equal(await merchantHas(world, sessions[1]!), 3000);
  });
});
