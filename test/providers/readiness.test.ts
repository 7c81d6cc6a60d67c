import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { pino } from 'pino';
import { type Readiness, createReadiness, providerReason } from '../../src/operations/providers/readiness.ts';
import type { AdapterContext } from '../../src/providers/adapter-context.ts';
import type { ProviderInstance } from '../../src/providers/all.ts';
import type { CheckResult, Provider } from '../../src/providers/provider.ts';
import { stripeRoutes } from '../../src/providers/stripe-settings.ts';
import type { Environment } from '../../src/domain/route.ts';
import { aRoute } from '../fixtures/checkout-records.ts';
import { startFakeProvider } from '../support/fake-provider.ts';
import { gatewayOf } from '../support/gateway.ts';
import { standings, temporaryFile } from '../support/routing.ts';
import { type TestService, call, createTestClock, sessionBody, startTestService } from '../support/service.ts';

const SECOND = 1000;
const HOUR = 3600 * SECOND;
const READY: CheckResult = { ready: true, findings: [{ level: 'ok', message: 'the account takes charges' }] };
const REFUSED: CheckResult = {
  ready: false,
  findings: [{ level: 'error', message: 'the key was refused (401)', todo: 'Set another key.' }],
};

/** The readiness of one provider instance, `shop`, whose checks return `result`, or reject with it if it is an Error. */
function checked(result: CheckResult | Error) {
  const clock = createTestClock();
  const at: number[] = [];
  const on = { result, at, clock };
  const check = async () => {
    at.push(clock.now());
    if (on.result instanceof Error) throw on.result;
    return on.result;
  };
  const readiness = createReadiness({
    instances: [{ id: 'shop', adapter: 'stripe', environment: 'sandbox' }],
    providers: () => new Map([['shop', { check } as Provider]]),
    now: clock.now,
    log: pino({ level: 'silent' }),
  });
  /** Runs due checks for `ms`; returns the seconds before each check. */
  async function delays(ms: number): Promise<number[]> {
    at.length = 0;
    const start = clock.now();
    while (clock.now() < start + ms) {
      await readiness.checkDue();
      clock.advance(SECOND);
    }
    return at.map((time, index) => (time - (at[index - 1] ?? start)) / SECOND);
  }
  return { ...on, set: (next: CheckResult | Error) => void (on.result = next), readiness, delays };
}

describe('the readiness of a provider instance', () => {
  it('a provider instance is not ready before its first check, which is due at once', async () => {
    const { readiness } = checked(READY);
    assert.equal(readiness.reasonOf('shop', 'ach'), 'shop: it has not been checked yet');
    assert.equal(await readiness.checkDue(), 1);
    assert.equal(readiness.reasonOf('shop', 'ach'), null);
    assert.equal(await readiness.checkDue(), 0);
  });

  it('an instance that is not ready is checked after 10, 30 and 60 s, then every 5 min; a ready instance every hour', async () => {
    const { delays, set } = checked(REFUSED);
    assert.deepEqual(await delays(1000 * SECOND), [0, 10, 30, 60, 300, 300]);
    set(READY);
    assert.deepEqual(await delays(2 * HOUR), [0, 3600]);
  });

  it('the reason why an instance is not ready is the first error of its check, or the message of a check that rejected', async () => {
    const { readiness, set, clock } = checked(REFUSED);
    await readiness.checkDue();
    assert.equal(readiness.reasonOf('shop', 'ach'), 'shop: the key was refused (401)');
    set(new Error('connect ECONNREFUSED'));
    clock.advance(10 * SECOND);
    await readiness.checkDue();
    assert.equal(readiness.reasonOf('shop', 'ach'), 'shop: it could not be checked: connect ECONNREFUSED');
    assert.equal(readiness.list()[0]!.findings[0]!.level, 'error');
  });

  it('a check that reports a network as unavailable makes only the routes of this network unavailable', async () => {
    const { readiness } = checked({ ...READY, unavailable: { ach: 'the account cannot take it' } });
    await readiness.checkDue();
    assert.equal(readiness.reasonOf('shop', 'ach'), 'shop: the account cannot take it');
    assert.equal(readiness.reasonOf('shop', 'card_network'), null);
  });

  it('an instance whose key is refused is not ready at once, and is checked again after 10 s', async () => {
    const { readiness, delays } = checked(READY);
    await readiness.checkDue();
    const version = readiness.version();
    readiness.markNotReady('shop', 'the key was refused (401)');
    assert.equal(readiness.reasonOf('shop', 'ach'), 'shop: the key was refused (401)');
    assert.ok(readiness.version() > version);
    readiness.markNotReady('shop', 'the key was refused (401)');
    assert.deepEqual(await delays(60 * SECOND), [10]);
    assert.equal(readiness.reasonOf('shop', 'ach'), null);
  });

  it('an instance is not checked again while a check is in progress', async () => {
    const { readiness } = checked(READY);
    const checking = readiness.checkDue();
    assert.equal(await readiness.checkDue(), 0);
    assert.equal(await checking, 1);
  });

  it('a successful check that began before the key was refused does not make the instance ready', async () => {
    const { readiness } = checked(READY);
    const checking = readiness.checkDue();
    readiness.markNotReady('shop', 'the key was refused (401)');
    await checking;
    assert.equal(readiness.reasonOf('shop', 'ach'), 'shop: the key was refused (401)');
  });
});

interface Injected extends AsyncDisposable {
  on: TestService;
  result: CheckResult;
  context: AdapterContext;
}

/** A service with a Stripe instance whose checks a test controls. */
async function serviceWith(
  result: CheckResult,
  {
    environment = 'sandbox',
    variables = {},
    routes,
  }: { environment?: Environment; variables?: Record<string, string>; routes?: unknown[] } = {},
): Promise<Injected> {
  const id = environment === 'sandbox' ? 'stripe_test' : 'stripe';
  const fake = await startFakeProvider(id, environment);
  const injected = { result } as Injected;
  const instance: ProviderInstance = {
    id,
    adapter: 'stripe',
    environment,
    account: 'acct_1',
    routes: routes ?? stripeRoutes(id, environment),
    create: async (context) => {
      injected.context = context;
      return { ...fake, check: async () => injected.result };
    },
  };
  injected.on = await startTestService({ providers: [instance], variables });
  injected[Symbol.asyncDispose] = async () => {
    await injected.on[Symbol.asyncDispose]();
    await fake[Symbol.asyncDispose]();
  };
  return injected;
}

interface Listed {
  id: string;
  ready: boolean;
  reason: string | null;
  account?: string;
  checkedAt: string | null;
  findings: unknown[];
  routes: string[];
}

async function providersOf({ url }: TestService, query = ''): Promise<Listed[]> {
  return (await call<{ data: Listed[] }>('GET', `${url}/api/gateway/providers${query}`)).body.data;
}

const STRIPE_ROUTES = [
  'card_stripe_test',
  'local_stripe_test_ach',
  'wallet_stripe_test_cashapp',
  'wallet_stripe_test_stablecoin',
];

describe('a service with a sandbox provider', () => {
  it('a service with a Stripe sandbox instance offers its default routes instead of the routes of the simulator', async () => {
    await using shop = await serviceWith(READY);
    const { on, context } = shop;
    assert.deepEqual([...(await standings(on)).keys()].toSorted(), STRIPE_ROUTES);
    assert.equal(context.callbackUrl, `${on.url}/api/providers/stripe_test/callbacks`);
    const { body } = await call<{ result: { route: { id: string } } }>(
      'POST',
      `${on.url}/api/agent/actions/checkout.preview`,
      sessionBody({ preferredRoute: 'card' }),
    );
    assert.equal(body.result.route.id, 'card_stripe_test');
    assert.match(await (await fetch(on.url)).text(), /Provider: Stripe \(stripe_test\)\./);
  });

  it("SIMULATOR=true adds the simulator's routes to those of Stripe; SIMULATOR=false without a provider leaves no route", async () => {
    await using both = await serviceWith(READY, { variables: { SIMULATOR: 'true' } });
    const ids = [...(await standings(both.on)).keys()];
    assert.ok(ids.includes('sandbox_card_backup') && ids.includes('card_stripe_test'));
    await using none = await startTestService({ variables: { SIMULATOR: 'false' } });
    assert.equal((await standings(none)).size, 0);
    assert.equal((await fetch(none.url)).status, 200);
  });

  it('the routes of an instance are in standby with the reason while its check fails', async () => {
    await using shop = await serviceWith(REFUSED);
    const { on } = shop;
    for (const { health, words } of (await standings(on)).values()) {
      assert.deepEqual([health, words], ['standby', 'standby: stripe_test: the key was refused (401)']);
    }
    const { body } = await call<{ id: string }>('POST', `${on.url}/api/gateway/sessions`, sessionBody());
    const page = await (await fetch(`${on.url}/checkout/${body.id}`)).text();
    assert.match(page, /No way to pay/);
    assert.match(page, /card_stripe_test.*: stripe_test: the key was refused \(401\)/);
    assert.match(await (await fetch(on.url)).text(), /No provider can take it now: stripe_test: the key was refused/);
    assert.ok(on.logged.some((line) => line.includes('provider stripe_test is not ready: the key was refused (401)')));

    shop.result = READY;
    await on.pass(10 * SECOND);
    assert.match(await (await fetch(`${on.url}/checkout/${body.id}`)).text(), /Choose how to pay/);
  });

  it('an unavailable network puts its routes in standby, and a key refused at run time puts all routes in standby', async () => {
    await using shop = await serviceWith({ ...READY, unavailable: { ach: 'the account has no such capability' } });
    const { on, context } = shop;
    const before = await standings(on);
    assert.equal(
      before.get('local_stripe_test_ach')!.words,
      'standby: stripe_test: the account has no such capability',
    );
    assert.equal(before.get('card_stripe_test')!.health, 'live');
    context.onNotReady('the key was refused (401)');
    assert.equal((await standings(on)).get('card_stripe_test')!.health, 'standby');
    await on.pass(10 * SECOND);
    assert.equal((await standings(on)).get('card_stripe_test')!.health, 'live');
  });

  it('GET /api/gateway/providers lists a provider that is not ready with its findings, reason and routes', async () => {
    await using shop = await serviceWith(REFUSED);
    const { on } = shop;
    const [simulator, stripe] = await providersOf(on);
    assert.deepEqual([simulator!.id, simulator!.ready, simulator!.routes], ['sandbox', true, []]);
    const { findings, reason, routes, account, ready, checkedAt } = stripe!;
    assert.deepEqual([ready, reason, account], [false, 'the key was refused (401)', 'acct_1']);
    assert.deepEqual(findings, REFUSED.findings);
    assert.deepEqual(routes.toSorted(), STRIPE_ROUTES);
    assert.equal(checkedAt, new Date(on.clock.now()).toISOString());
    assert.deepEqual(await providersOf(on, '?environment=production'), []);
  });
});

describe('warnings about providers and routes', () => {
  const warningsOf = ({ logged }: TestService) =>
    logged.filter((line) => line.includes('"level":40')).filter((line) => /has no route|is not used/.test(line));

  it('the service logs a warning for an instance without a route, and for a route of ROUTES_FILE without an instance', async () => {
    const [card, ...others] = stripeRoutes('stripe_test', 'sandbox');
    using file = temporaryFile('routes.json', {
      routes: [card, ...others.map((route) => ({ ...route, health: 'standby' }))],
    });
    await using on = await startTestService({ variables: { ROUTES_FILE: file.path } });
    assert.equal(warningsOf(on).length, 1);
    assert.match(warningsOf(on)[0]!, /route card_stripe_test is not used: there is no provider stripe_test of sandbox/);
    await using shop = await serviceWith(READY, { routes: [] });
    assert.match(warningsOf(shop.on)[0]!, /provider stripe_test has no route in sandbox/);
  });

  it('the service logs no warning if every route has an instance and every instance a route', async () => {
    await using shop = await serviceWith(READY);
    assert.deepEqual(warningsOf(shop.on), []);
  });
});

describe('a production provider', () => {
  it('a production instance takes over the routes of its id in the shipped catalogue, and no sandbox route', async () => {
    await using shop = await serviceWith(READY, { environment: 'production' });
    const { on } = shop;
    assert.equal((await standings(on, 'production')).get('card_stripe')!.health, 'live');
    assert.equal((await standings(on)).get('sandbox_card_backup')!.health, 'live');
    assert.deepEqual(
      (await standings(on, 'production')).get('wallet_paypal')!.words,
      'standby: no provider is connected for paypal',
    );
    assert.equal((await gatewayOf(on).refused('404 not_found', 'GET providers/stripe')).code, 'not_found');
  });
});

it('a production route that names a sandbox instance is not connected', () => {
  const providers = new Map([['stripe_test', { id: 'stripe_test', environment: 'sandbox' } as Provider]]);
  const readiness = { reasonOf: () => null } as unknown as Readiness;
  const reasonIn = (environment: Environment) =>
    providerReason({ providers, readiness }, aRoute({ integrationId: 'stripe_test', environment }));
  assert.deepEqual([reasonIn('sandbox'), reasonIn('production')], [null, 'no provider is connected for stripe_test']);
});
