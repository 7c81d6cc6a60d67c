// @run on=postgres needs=process
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Payment } from '../../src/domain/records.ts';
import type { HandoffResult } from '../../src/providers/provider.ts';
import { inLanes } from '../faults/requests.ts';
import { aPayment, aSession, idOf } from '../fixtures/checkout-records.ts';
import { queryRows } from '../support/database.ts';
import { type TestService, startTestService } from '../support/service.ts';
import { startUsdcService, usdcVariables } from '../support/usdc-service.ts';
import { KILLED_WATCHER } from './kill-watcher.ts';
import { MINUTE, startWatched } from './watched-stage.ts';

const PAID = ['paid', 'settled'];
const HANDOFFS = 1000;
/** Concurrent handoffs of each instance. */
const WIDTH = 100;
function handOff({ service, clock }: TestService, number: number): Promise<HandoffResult> {
  const route: Payment['route'] = { ...aPayment().route, network: 'local', provider: 'local' };
  const payment = aPayment({ id: idOf('pay', number), route, timeoutAt: clock.now() });
  const others = { returnUrl: '', cancelUrl: '', callbackUrl: '', merchant: '', timeoutMs: 5000 };
  return service.deps.providers.get('local')!.handoff({ session: aSession(), payment, ...others });
}

describe('two instances of the service with one wallet', () => {
  it('with 1,000 concurrent handoffs each take the indexes from 0 to 1999, each for one payment', async () => {
    await using usdc = await startUsdcService();
    const { on: one, chain } = usdc;
    await using other = await startTestService({ beside: one, variables: usdcVariables(chain.token, [chain.url]) });
    const ids = Array.from({ length: HANDOFFS }, (_, index) => index);
    const references = new Set<string>();
    async function take(on: TestService, number: number): Promise<void> {
      const result = await handOff(on, number);
      assert.equal(result.outcome, 'accepted');
      references.add(result.reference);
    }
    await Promise.all([
      inLanes(WIDTH, ids, (index) => take(one, index)),
      inLanes(WIDTH, ids, async (index) => {
        await take(other, HANDOFFS + index);
        // Both instances hand over this payment, as after a timeout.
        if (index % 10 === 0) await take(other, index);
      }),
    ]);
    const rows = await queryRows(one.databaseUrl, 'SELECT address_index FROM chain_addresses');
    const indexes = rows.map((row) => Number(row['address_index'])).toSorted((a, b) => a - b);
    assert.deepEqual(
      indexes,
      Array.from({ length: 2 * HANDOFFS }, (_, index) => index),
    );
    assert.equal(references.size, 2 * HANDOFFS);
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
