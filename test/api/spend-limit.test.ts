// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import * as fc from 'fast-check';
import { dayOf, hashOfKey } from '../../src/domain/api-key.ts';
import type { Environment } from '../../src/domain/route.ts';
import type { AppDeps } from '../../src/http/app.ts';
import { createCheckout } from '../../src/operations/create-checkout.ts';
import type { Store } from '../../src/store/store.ts';
import { BOOTSTRAP, bearer, makeKey } from '../support/keys.ts';
import { type TestService, call, sessionBody, startTestService } from '../support/service.ts';

interface Answered {
  id: string;
  amount: number;
  error: { code: string; message: string; suggestion: string; field?: string };
}

let service: TestService;
/** Of the same database: two processes that must not overspend together. */
let other: TestService;
before(async () => {
  service = await startTestService({ variables: BOOTSTRAP });
  other = await startTestService({ variables: BOOTSTRAP, beside: service });
});
after(async () => {
  await other[Symbol.asyncDispose]();
  await service[Symbol.asyncDispose]();
});

const agent = (limits: object, environment: Environment = 'sandbox') =>
  makeKey(service.url, environment, { scope: 'agent', ...limits });
const pay = (key: string, amount: number, fields: object = {}, { url } = service) =>
  call<Answered>('POST', `${url}/api/gateway/sessions`, sessionBody({ amount, ...fields }), bearer(key));

async function spentBy(key: string): Promise<number> {
  const { store } = service.service.deps;
  const { id } = (await store.apiKeyByHash(hashOfKey(key)))!;
  return store.apiKeySpend(id, dayOf(service.clock.now()));
}

describe('the spend limit of an agent', () => {
  it('is held per checkout, on both sides', async () => {
    const key = await agent({ spendPerCheckout: 50 });
    assert.equal((await pay(key, 50)).status, 200);
    const { status, body } = await pay(key, 50.01);
    assert.deepEqual([status, body.error.code, body.error.field], [403, 'spend_limit_exceeded', 'amount']);
    assert.equal(body.error.message, 'This API key may spend $50.00 a checkout; this checkout is $50.01.');
    assert.equal((await pay(key, 50)).status, 200);
  });

  it('is held per day, on both sides; the refusal says what is left, and when it starts anew', async () => {
    const key = await agent({ spendPerDay: 100 });
    assert.equal((await pay(key, 60.5)).status, 200);
    const { status, body } = await pay(key, 39.51);
    assert.equal(status, 403);
    assert.equal(
      body.error.message,
      'This API key may spend $100.00 a day, of which $39.50 is left today; this checkout is $39.51.',
    );
    assert.match(
      body.error.suggestion,
      /^Set amount to at most \$39\.50, .* starts anew at 2026-03-02T00:00:00\.000Z\.$/,
    );
    assert.equal((await pay(key, 39.5)).status, 200);
    assert.match((await pay(key, 0.01)).body.error.message, /\$0\.00 is left today/);
  });

  it('is the same for every way to create: in an action it is 400, as all that an action refuses', async () => {
    const key = await agent({ spendPerDay: 10 });
    const act = (action: string) =>
      call<Answered>('POST', `${service.url}/api/agent/actions/${action}`, sessionBody({ amount: 11 }), bearer(key));
    for (const action of ['checkout.create', 'checkout.preview']) {
      const { status, body } = await act(action);
      assert.deepEqual([status, body.error.code], [400, 'spend_limit_exceeded'], action);
    }
    const preview = await call(
      'POST',
      `${service.url}/api/agent/actions/checkout.preview`,
      sessionBody({ amount: 10 }),
      bearer(key),
    );
    assert.equal(preview.status, 200);
    assert.equal(await spentBy(key), 0);
  });

  it('counts what was created, and not what was refused, answered again or expired', async () => {
    const key = await agent({ spendPerDay: 100 });
    const keyed = { idempotencyKey: `order-${key.slice(-8)}` };
    const first = await pay(key, 70, keyed);
    for (let times = 0; times < 3; times++) assert.equal((await pay(key, 70, keyed)).body.id, first.body.id);
    assert.equal((await pay(key, 50, keyed)).body.error.code, 'idempotency_conflict');
    assert.equal((await pay(key, 31)).status, 403);
    assert.equal(await spentBy(key), 7000);
    // A replay succeeds although the rest of the limit is smaller than its amount.
    assert.equal((await pay(key, 30)).status, 200);
    assert.equal((await pay(key, 70, keyed)).body.id, first.body.id);
    assert.equal(await spentBy(key), 10_000);
  });

  it('is of that key alone, and of no other scope', async () => {
    const [one, two] = [await agent({ spendPerDay: 50 }), await agent({ spendPerDay: 50 })];
    assert.equal((await pay(one, 50)).status, 200);
    assert.equal((await pay(two, 50)).status, 200);
    const write = await makeKey(service.url, 'sandbox', { scope: 'write' });
    for (let times = 0; times < 3; times++) assert.equal((await pay(write, 9000)).status, 200);
    const live = await agent({ spendPerDay: 20 }, 'production');
    assert.equal((await pay(live, 20, { environment: 'production' })).status, 200);
    assert.equal((await pay(live, 1, { environment: 'production' })).status, 403);
  });

  it('lets nothing through after the key was revoked, though that is not known here yet', async () => {
    const key = await agent({ spendPerDay: 50 });
    assert.equal((await pay(key, 1)).status, 200);
    const { store, now } = service.service.deps;
    const { id } = (await store.apiKeyByHash(hashOfKey(key)))!;
    await store.commit([{ type: 'api_key_revoked', keyId: id, at: now() }]);
    const { status, body, headers } = await pay(key, 1);
    assert.deepEqual([status, body.error.code], [401, 'unauthorized']);
    assert.equal(headers.get('www-authenticate'), 'Bearer');
  });

  it('starts anew with the day, UTC', async () => {
    const key = await agent({ spendPerDay: 50 });
    assert.equal((await pay(key, 50)).status, 200);
    const untilMidnight = 86_400_000 - (service.clock.now() % 86_400_000);
    service.clock.advance(untilMidnight - 1);
    assert.equal((await pay(key, 1)).status, 403);
    service.clock.advance(1);
    assert.equal((await pay(key, 50)).status, 200);
  });
});

/** Violations of the daily limit of a key; all amounts in cents. */
function faultsOf(limit: number, created: number[], refused: number[], spent: number): string[] {
  const sum = created.reduce((total, amount) => total + amount, 0);
  return [
    ...(sum > limit ? [`${sum} was spent of ${limit}`] : []),
    ...(sum === spent ? [] : [`${spent} was counted where ${sum} was spent`]),
    // The spent amount only grows, so an amount that fits at the end fitted before.
    ...refused
      .filter((amount) => amount <= limit - sum)
      .map((amount) => `${amount} was refused with ${limit - sum} left`),
  ];
}

describe('two instances', () => {
  it('do not overspend together, and refuse nothing that fits', async () => {
    const amounts = fc.array(fc.integer({ min: 1, max: 6000 }), { minLength: 12, maxLength: 24 });
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 100, max: 20_000 }), amounts, async (limit, cents) => {
        const key = await agent({ spendPerDay: limit / 100 });
        const answers = await Promise.all(
          cents.map((amount, index) =>
            // Some are of new customers, some of known ones: other rows that they may wait for.
            pay(key, amount / 100, { customer: `buyer${index % 5}@example.com` }, index % 2 === 0 ? service : other),
          ),
        );
        const of = (wanted: number) => cents.filter((_, index) => answers[index]!.status === wanted);
        assert.equal(of(200).length + of(403).length, cents.length);
        assert.deepEqual(faultsOf(limit, of(200), of(403), await spentBy(key)), []);
      }),
      { numRuns: 8 },
    );
  });

  it('would be found out: without the guard the sum passes the limit', async () => {
    const key = await agent({ spendPerDay: 100 });
    const deps = service.service.deps as AppDeps;
    const caller = await deps.store.apiKeyByHash(hashOfKey(key));
    const careless: Store = {
      ...deps.store,
      commit: (changes) => deps.store.commit(changes.filter(({ type }) => type !== 'api_key_spent')),
    };
    const request = {
      product: 'x',
      amount: 60,
      customer: 'a@example.com',
      metadata: {},
      environment: 'sandbox' as const,
    };
    for (let times = 0; times < 2; times++) await createCheckout({ ...deps, caller, store: careless }, request);
    assert.deepEqual(faultsOf(10_000, [6000, 6000], [], await spentBy(key)), [
      '12000 was spent of 10000',
      '0 was counted where 12000 was spent',
    ]);
    assert.deepEqual(faultsOf(10_000, [6000], [4000], 6000), ['4000 was refused with 4000 left']);
    assert.deepEqual(faultsOf(10_000, [6000], [4001], 6000), []);
  });
});
