// @run on=postgres needs=process
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type AddressStore, createAddressStore } from '../../src/providers/evm-store.ts';
import { openStore } from '../../src/store/open.ts';
import { inLanes } from '../faults/requests.ts';
import { STORE_OPTIONS, createServiceDatabase, queryRows } from '../support/database.ts';
import { startTestService } from '../support/service.ts';
import { KILLED_WATCHER } from './kill-watcher.ts';
import { MINUTE, startWatched } from './watched-stage.ts';

const PAID = ['paid', 'settled'];
const HANDOFFS = 1000;
/** Concurrent handoffs of each instance. */
const WIDTH = 100;
const ROW = {
  wallet: 'wallet',
  provider: 'local',
  dueUnits: 1,
  created: 0,
  createdBlock: 0,
  hotUntil: 0,
  checkAt: null,
  closed: false,
  announcedUnits: 0,
  expectedBy: null,
  reportedUnits: 0,
  fastBlock: null,
  reversedUnits: 0,
  reversalRevision: 0,
  unsent: null,
  settled: false,
};

describe('two instances of the service with one wallet', () => {
  it('give 2,000 concurrent payments the indexes from 0 to 1999, each to one', async () => {
    await using database = await createServiceDatabase();
    const opened = [
      await openStore(database.settings, STORE_OPTIONS),
      await openStore(database.settings, STORE_OPTIONS),
    ];
    const [one, other] = opened.map((store) => createAddressStore(store.database, 'local', 'wallet')) as [
      AddressStore,
      AddressStore,
    ];
    const take = (store: AddressStore, id: string) => store.takeIndex({ ...ROW, paymentId: id });
    const ids = Array.from({ length: HANDOFFS }, (_, index) => index);
    await Promise.all([
      inLanes(WIDTH, ids, (index) => take(one, `pay_one_${index}`)),
      inLanes(WIDTH, ids, async (index) => {
        await take(other, `pay_other_${index}`);
        // Both instances handle this payment, as after a timeout.
        if (index % 10 === 0) await take(other, `pay_one_${index}`);
      }),
    ]);
    const rows = await queryRows(database.url, 'SELECT address_index FROM chain_addresses');
    const indexes = rows.map((row) => Number(row['address_index'])).toSorted((a, b) => a - b);
    assert.deepEqual(
      indexes,
      Array.from({ length: 2 * HANDOFFS }, (_, index) => index),
    );
    assert.equal(await one.nextIndex(), 2 * HANDOFFS);
    for (const store of opened) await store.close();
  });

  it('one polls; when it stops, the other takes over after the lease and misses nothing', async () => {
    await using world = await startWatched();
    const { begin, chain, nodes, on, polls, send, state, variables } = world;
    await using other = await startTestService({ beside: on, variables });
    const [first, second] = [await begin(20), await begin(30)];
    await send(first);
    await polls(1);
    nodes[0]!.takeCounts();
    await other.pass(0);
    assert.equal(nodes[0]!.takeCounts().calls['eth_getLogs'], undefined, 'the other does not poll');
    await chain.finalize();
    await send(second);
    await chain.finalize();
    // The first instance is gone. Its lease ends.
    await other.pass(MINUTE);
    assert.deepEqual([await state(first), await state(second)], [PAID, PAID]);
    await chain.finalize();
    nodes[0]!.takeCounts();
    await polls(1);
    assert.equal(nodes[0]!.takeCounts().calls['eth_getLogs'], undefined, 'the first does not poll any more');
  });

  it('both poll at the same time after the lease: each transfer is reported once', async () => {
    await using world = await startWatched();
    const { begin, chain, on, send, state, variables } = world;
    await using other = await startTestService({ beside: on, variables });
    const sessions: string[] = [];
    for (let payment = 0; payment < 10; payment++) sessions.push(await begin(20));
    for (const session of sessions) await send(session);
    await chain.finalize();
    for (let round = 0; round < 3; round++) {
      on.clock.advance(MINUTE);
      await Promise.all([on.service.runDue(), other.service.runDue()]);
    }
    for (const session of sessions) assert.deepEqual(await state(session), ['paid', 'settled']);
    assert.deepEqual(
      [...on.logged, ...other.logged].filter((line) => /"level":[56]0/.test(line)),
      [],
    );
  });

  it('two `kill -9` of the process that polls lose no payment and count none twice', async () => {
    const { problems } = await KILLED_WATCHER.run({ cycles: 2, injected: false });
    assert.deepEqual(problems, []);
  });
});
