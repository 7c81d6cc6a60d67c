// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { dayOf, hashOfKey } from '../../src/domain/api-key.ts';
import { principalOfKey } from '../../src/domain/principal.ts';
import type { Environment } from '../../src/domain/route.ts';
import type { AppDeps } from '../../src/http/app.ts';
import { createCheckout } from '../../src/operations/create-checkout.ts';
import type { Store } from '../../src/store/store.ts';
import { gatewayOf } from '../support/gateway.ts';
import { BOOTSTRAP, bearer, makeKey } from '../support/keys.ts';
import { refusal, refused } from '../support/refusal.ts';
import { type TestService, call, sessionBody } from '../support/service.ts';
import { suiteInstances } from '../support/suite.ts';
import { runs } from '../support/for-all.ts';

const [service, other] = suiteInstances(2, { variables: BOOTSTRAP }) as [TestService, TestService];

const agent = (limits: object, environment: Environment = 'sandbox') =>
  makeKey(service.url, environment, { scope: 'agent', ...limits });
const as = (key: string, on = service) => gatewayOf(on, bearer(key));
const pay = (key: string, amount: number, fields: object = {}) =>
  as(key).post<{ id: string }>('sessions', sessionBody({ amount, ...fields }));
const refuse = (key: string, amount: number, fields: object = {}, expected = '403 spend_limit_exceeded') =>
  as(key).refused(expected, 'POST sessions', sessionBody({ amount, ...fields }));

async function spentBy(key: string): Promise<number> {
  const { store } = service.service.deps;
  const { id } = (await store.apiKeyByHash(hashOfKey(key)))!;
  return store.apiKeySpend(id, dayOf(service.clock.now()));
}

describe('the spend limit of an agent key', () => {
  it('the spend limit of an agent key applies per checkout', async () => {
    const key = await agent({ spendPerCheckout: 50 });
    await pay(key, 50);
    const { field, message } = await refuse(key, 50.01);
    assert.equal(field, 'amount');
    assert.equal(message, 'This API key may spend $50.00 a checkout; this checkout is $50.01.');
    await pay(key, 50);
  });

  it('the spend limit of an agent key applies per day; the error names the remaining amount and the start of the next day', async () => {
    const key = await agent({ spendPerDay: 100 });
    await pay(key, 60.5);
    const { message, suggestion } = await refuse(key, 39.51);
    const rest = 'of which $39.50 is left today; this checkout is $39.51.';
    assert.equal(message, `This API key may spend $100.00 a day, ${rest}`);
    assert.match(suggestion, /^Set amount to at most \$39\.50, .* starts anew at 2026-03-02T00:00:00\.000Z\.$/);
    await pay(key, 39.5);
    assert.match((await refuse(key, 0.01)).message, /\$0\.00 is left today/);
  });

  it('an agent action above the spend limit of its key is answered with 400, and a preview spends nothing', async () => {
    const key = await agent({ spendPerDay: 10 });
    const request = (action: string, amount: number) =>
      ['POST', `${service.url}/api/agent/actions/${action}`, sessionBody({ amount }), bearer(key)] as const;
    for (const action of ['checkout.create', 'checkout.preview'])
      await refused([400, 'spend_limit_exceeded'], ...request(action, 11));
    assert.equal((await call(...request('checkout.preview', 10))).status, 200);
    assert.equal(await spentBy(key), 0);
  });

  it('the spend limit of an agent key counts created sessions, but not rejected or replayed requests', async () => {
    const key = await agent({ spendPerDay: 100 });
    const keyed = { idempotencyKey: `order-${key.slice(-8)}` };
    const { id } = await pay(key, 70, keyed);
    for (let times = 0; times < 3; times++) assert.equal((await pay(key, 70, keyed)).id, id);
    await refuse(key, 50, keyed, '422 idempotency_conflict');
    await refuse(key, 31);
    assert.equal(await spentBy(key), 7000);
    // A replay succeeds although its amount exceeds the remaining limit.
    await pay(key, 30);
    assert.equal((await pay(key, 70, keyed)).id, id);
    assert.equal(await spentBy(key), 10_000);
  });

  it('the spend limit of an agent key applies to its own key only, and never to a write key', async () => {
    for (const key of [await agent({ spendPerDay: 50 }), await agent({ spendPerDay: 50 })]) await pay(key, 50);
    const write = await makeKey(service.url, 'sandbox', { scope: 'write' });
    for (let times = 0; times < 3; times++) await pay(write, 9000);
    const live = await agent({ spendPerDay: 20 }, 'production');
    await pay(live, 20, { environment: 'production' });
    await refuse(live, 1, { environment: 'production' });
  });

  it('the spend limit of an agent key rejects every payment once the key is revoked, also on an instance that caches the key', async () => {
    const key = await agent({ spendPerDay: 50 });
    await pay(key, 1);
    const { store, now } = service.service.deps;
    const { id } = (await store.apiKeyByHash(hashOfKey(key)))!;
    await store.commit([{ type: 'api_key_revoked', keyId: id, environment: 'sandbox', at: now() }]);
    const request = ['POST', as(key).url('sessions'), sessionBody({ amount: 1 }), bearer(key)] as const;
    const { headers } = await refusal([401, 'unauthorized'], ...request);
    assert.equal(headers.get('www-authenticate'), 'Bearer');
  });

  it('the spend limit of an agent key starts again at midnight UTC', async () => {
    const key = await agent({ spendPerDay: 50 });
    await pay(key, 50);
    const untilMidnight = 86_400_000 - (service.clock.now() % 86_400_000);
    service.clock.advance(untilMidnight - 1);
    await refuse(key, 1);
    service.clock.advance(1);
    await pay(key, 50);
  });
});

/** Describes the violations of a key's daily limit; all amounts in cents. */
function faultsOf(limit: number, created: number[], refused: number[], spent: number): string[] {
  const sum = created.reduce((total, amount) => total + amount, 0);
  return [
    ...(sum > limit ? [`${sum} was spent of ${limit}`] : []),
    ...(sum === spent ? [] : [`${spent} was counted where ${sum} was spent`]),
    // The spent amount never decreases, so an amount that fits the limit at the end has fitted it at any time.
    ...refused
      .filter((amount) => amount <= limit - sum)
      .map((amount) => `${amount} was refused with ${limit - sum} left`),
  ];
}

describe('the spend limit of an agent key on two instances', () => {
  it('simultaneous requests to two instances never exceed the spend limit of a key, and no payment within it is rejected', async () => {
    const amounts = fc.array(fc.integer({ min: 1, max: 6000 }), { minLength: 12, maxLength: 24 });
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 100, max: 20_000 }), amounts, async (limit, cents) => {
        const key = await agent({ spendPerDay: limit / 100 });
        const answers = await Promise.all(
          cents.map((amount, index) => {
            const url = as(key, index % 2 === 0 ? service : other).url('sessions');
            // New and existing customers make the commits wait for different rows.
            const body = sessionBody({ amount: amount / 100, customer: `buyer${index % 5}@example.com` });
            return call('POST', url, body, bearer(key));
          }),
        );
        const of = (wanted: number) => cents.filter((_, index) => answers[index]!.status === wanted);
        assert.equal(of(200).length + of(403).length, cents.length);
        assert.deepEqual(faultsOf(limit, of(200), of(403), await spentBy(key)), []);
      }),
      { numRuns: runs(8) },
    );
  });

  it('the check of simultaneous requests detects that the spend limit is exceeded without the spend guard', async () => {
    const key = await agent({ spendPerDay: 100 });
    const deps = service.service.deps as AppDeps;
    const caller = principalOfKey((await deps.store.apiKeyByHash(hashOfKey(key)))!);
    const unguarded: Store = {
      ...deps.store,
      commit: (changes) => deps.store.commit(changes.filter(({ type }) => type !== 'api_key_spent')),
    };
    const sandbox = { environment: 'sandbox', metadata: {} } as const;
    const request = { ...sandbox, product: 'x', amount: 60, customer: 'a@example.com' };
    for (let times = 0; times < 2; times++) await createCheckout({ ...deps, caller, store: unguarded }, request);
    assert.deepEqual(faultsOf(10_000, [6000, 6000], [], await spentBy(key)), [
      '12000 was spent of 10000',
      '0 was counted where 12000 was spent',
    ]);
    assert.deepEqual(faultsOf(10_000, [6000], [4000], 6000), ['4000 was refused with 4000 left']);
    assert.deepEqual(faultsOf(10_000, [6000], [4001], 6000), []);
  });
});
