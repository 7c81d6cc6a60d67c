// @run on=postgres needs=process
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { Payment } from '../../src/domain/records.ts';
import type { HandoffResult } from '../../src/providers/provider.ts';
import { examineDatabase } from '../../src/store/open.ts';
import { forEachOf } from '../../src/workers/worker.ts';
import { aPayment, aSession, idOf } from '../fixtures/checkout-records.ts';
import { settingsOf } from '../support/database.ts';
import { booksOf } from '../support/gateway.ts';
import { type TestService, startTestService } from '../support/service.ts';
import { assertSound } from '../support/sound.ts';
import { startUsdcService, usdcVariables } from '../support/usdc-service.ts';

const HANDOFFS = 1000;
const AT_ONCE = 100;
const LEASE_MS = 30_000;

const usdc = await startUsdcService();
const { on: first, chain } = usdc;
const second = await startTestService({ beside: first, variables: usdcVariables(chain.token, [chain.url]) });
after(async () => {
  await second[Symbol.asyncDispose]();
  await usdc[Symbol.asyncDispose]();
});

function handOff({ service }: TestService, number: number): Promise<HandoffResult> {
  const route: Payment['route'] = { ...aPayment().route, network: 'local', provider: 'local' };
  const payment = aPayment({ id: idOf('pay', number), route, timeoutAt: first.clock.now() });
  const urls = { returnUrl: '', cancelUrl: '', callbackUrl: '', merchant: '', timeoutMs: 5000 };
  return service.deps.providers.get('local')!.handoff({ session: aSession(), payment, ...urls });
}

describe('two instances with one database', () => {
  test(`${HANDOFFS} handoffs of each at the same time take the indexes 0 to ${2 * HANDOFFS - 1} of the wallet, each once`, async () => {
    const requests = Array.from({ length: HANDOFFS }, (_, number) => [
      () => handOff(first, 2 * number),
      () => handOff(second, 2 * number + 1),
      // A tenth of the payments is handed over twice.
      ...(number % 10 === 0 ? [() => handOff(second, 2 * number)] : []),
    ]).flat();
    const results: HandoffResult[] = [];
    await forEachOf(requests, AT_ONCE, async (request) => void results.push(await request()), assert.ifError);
    const references = results.map((result) => (result.outcome === 'accepted' ? result.reference : result.reason));
    assert.equal(new Set(references).size, 2 * HANDOFFS);
    const database = await examineDatabase(settingsOf(first.databaseUrl));
    const select = 'SELECT CAST(address_index AS TEXT) AS id FROM chain_addresses ORDER BY address_index LIMIT ?1';
    const indexes = await database.violations(select, 3 * HANDOFFS);
    await database.close();
    assert.deepEqual(
      indexes,
      Array.from({ length: 2 * HANDOFFS }, (_, index) => String(index)),
    );
  });

  test('both poll at the same time: each payment is counted once', async () => {
    const sessions = [await usdc.begin(), await usdc.begin(), await usdc.begin()];
    for (const session of sessions) await usdc.send(session);
    for (let round = 0; round < 6; round++) {
      await chain.client.mine({ blocks: 2 });
      first.clock.advance(LEASE_MS / 2);
      await Promise.all([first.service.runDue(), second.service.runDue()]);
    }
    for (const session of sessions) {
      const { id, status, ledgerStatus } = await usdc.payment(session);
      assert.deepEqual([status, ledgerStatus], ['paid', 'settled']);
      assert.equal((await booksOf(first, id))['provider_clearing'] ?? 0, 0);
      assert.deepEqual((await first.service.deps.store.checkout(session))!.discrepancies, []);
    }
  });

  test('an instance takes over the watch after the lease of the other one has expired', async () => {
    const session = await usdc.begin();
    first.clock.advance(LEASE_MS + 1);
    await first.service.runDue();
    await usdc.send(session);
    await chain.finalize();
    await second.service.runDue();
    assert.equal((await usdc.payment(session)).status, 'pending', 'the first instance has the lease');
    first.clock.advance(LEASE_MS + 1);
    await second.service.runDue();
    assert.equal((await usdc.payment(session)).status, 'paid');
  });

  test('leave sound books', () => assertSound(first.databaseUrl));
});
