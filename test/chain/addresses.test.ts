// @run needs=process
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Address } from 'viem';
import { startChain } from '../support/chain.ts';
import { DAY, MINUTE, TIMEOUT, merchantHas, runUnchecked, startWatched } from './watched-stage.ts';

const HOT = 10_000;
/** Addresses in one query. */
const PAGE = 500;

describe('addresses of a wallet', () => {
  it('money on another configured chain is listed, and the payment stays unpaid', async () => {
    await using other = await startChain();
    await using world = await startWatched({ others: { other } });
    const { begin, chain, instructions, payment, polls, state } = world;
    const session = await begin(20);
    const { address, units } = await instructions(session);
    const isOther = (await payment(session)).route.provider === 'other';
    const [right, wrong] = isOther ? [other, chain] : [chain, other];
    await wrong.transfer(address as Address, BigInt(units));
    await wrong.finalize();
    await polls(2);
    assert.deepEqual(await state(session), ['pending', 'pending', 'currency_mismatch 2000']);
    await right.transfer(address as Address, BigInt(units));
    await right.finalize();
    await polls(2);
    assert.deepEqual(await state(session), ['paid', 'settled', 'currency_mismatch 2000']);
  });

  it('money that arrives before the handoff is complete is found', async () => {
    await using world = await startWatched();
    const { begin, chain, instructions, on, settle, send, state } = world;
    const session = await begin(20);
    const { address } = await instructions(session);
    await send(session);
    // A process ends between the two commits of the handoff.
    runUnchecked(on, `UPDATE chain_addresses SET address = NULL WHERE address = '${address}'`);
    await chain.client.mine({ blocks: 40 });
    await settle();
    assert.deepEqual(await state(session), ['pending', 'pending']);
    await instructions(session);
    await on.pass(TIMEOUT);
    await on.pass(MINUTE);
    assert.deepEqual(await state(session), ['paid', 'settled']);
  });

  it('a shortfall within the tolerance is accepted, and the rest is booked when it arrives', async () => {
    await using world = await startWatched({ settings: { toleranceCents: 5 } });
    const { begin, send, settle, state } = world;
    const session = await begin(20);
    await send(session, 1996);
    await settle();
    assert.deepEqual(await state(session), ['paid', 'settled']);
    assert.equal(await merchantHas(world, session), 1996);
    await send(session, 4);
    await settle();
    assert.equal(await merchantHas(world, session), 2000);
  });

  it('one poll looks at 10,000 hot addresses with 500 addresses in each query', async () => {
    await using world = await startWatched();
    const { begin, chain, nodes, on, polls, send, settle, state } = world;
    const session = await begin(20);
    await polls(1);
    runUnchecked(on, copies(on.clock.now() + DAY));
    await send(session);
    nodes[0]!.takeCounts();
    await chain.client.mine({ blocks: 1 });
    await polls(1);
    const { calls, mostTopics } = nodes[0]!.takeCounts();
    assert.equal(mostTopics, PAGE);
    // The final blocks, and those that are not final.
    const queries = 2 * Math.ceil((HOT + 1) / PAGE);
    assert.ok(calls['eth_getLogs']! <= queries * 2, `${calls['eth_getLogs']} queries`);
    assert.equal(calls['eth_call'], undefined);
    await settle();
    assert.deepEqual(await state(session), ['paid', 'settled']);
    runUnchecked(on, 'DELETE FROM chain_addresses WHERE address_index > 99');
  });
});

const COLUMNS = `wallet, address_index, payment_id, provider, address, due_units, created, created_block, hot_until, closed,
  announced_units, reported_units, reversed_units, reversal_revision, settled`;

/** Copies the address of the only payment. The copies belong to no payment. */
const copies = (hotUntil: number) => `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${HOT})
  INSERT INTO chain_addresses (${COLUMNS})
  SELECT wallet, 100 + i, 'pay_' || i, provider, printf('0x%040x', i), due_units, created, created_block, ${hotUntil},
    0, 0, 0, 0, 0, 0
  FROM chain_addresses, n`;
