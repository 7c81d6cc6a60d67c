import assert from 'node:assert/strict';
import type { Payment, Session } from '../../src/domain/records.ts';
import type { Environment, RouteKind } from '../../src/domain/route.ts';
import { cancelCheckout } from '../../src/operations/leave-payment.ts';
import { answerHint } from '../../src/operations/provider-hints.ts';
import { checkProvider } from '../../src/operations/providers/readiness.ts';
import type { HandoffRequest, Provider, RefundRequest } from '../../src/providers/provider.ts';
import { aPayment, aSession } from '../fixtures/checkout-records.ts';
import { createSession, start } from '../simulator/buyer.ts';
import { recordsOf } from '../support/callbacks.ts';
import { booksOf, paymentsOf } from '../support/gateway.ts';
import { type TestService, type TestServiceOptions, startTestService } from '../support/service.ts';

/** Body and headers of a callback that a provider sends. */
export interface SentCallback {
  body: string;
  headers: Record<string, string>;
}

/** A provider simulated by the test, with its adapter: the second party of the suite. The test delivers the callbacks itself. */
export interface Party extends AsyncDisposable {
  /** Settings of a service that uses the provider. */
  options: TestServiceOptions;
  /** Id of the provider in the service, and the kind of its route. */
  id: string;
  kind: RouteKind;
  /** Texts that no log line and no page may show. */
  secrets: string[];
  /** Connects the party to the started service, whose URL and clock it needs. */
  connect(on: TestService): void | Promise<void>;
  /** Another instance of the adapter, at the same account. */
  instance(id: string, environment: Environment): Provider;
  /** Adapters with a wrong key, or with another origin of the provider; undefined for a provider without credentials. */
  misconfigured?: { wrongKey(secret: string): Provider; at(origin: string): Provider };
  /** Number of payments that the provider has for a payment of the service. */
  paymentsAt(payment: Payment): Promise<number>;
  /** Amount in cents that the provider has refunded for a payment. */
  refundedAt(payment: Payment): Promise<number>;
  /** Pays or approves the payment as the buyer; returns the callbacks, or undefined if the provider does not accept the payment. */
  pay(payment: Payment): Promise<SentCallback[] | undefined>;
  /** Gives a payment a status that the adapter does not know; returns the callbacks that report it. */
  confuse(payment: Payment): Promise<SentCallback[]>;
  /** Correctly signed callbacks about objects that the service did not create. */
  foreign(payment: Payment): SentCallback[];
  /** Copies of the callback about a payment with wrong or missing signatures. */
  forged(payment: Payment): SentCallback[];
  /** True for the simulated provider, which accepts refunds of unknown payments, because `webhook.verify_sample` creates some. */
  refundsSamples?: true;
  /** True for a provider that cannot be asked about a refund and reports its result in a callback. */
  refundsByCallback?: true;
  /** True for a provider without callbacks, whose watch finds its payments. */
  isWatched?: true;
  /** True for a provider at which a cancelled payment stays open: no money arrives, because the service does not capture it. */
  keepsCancelled?: true;
  /** Number of captures of a payment; undefined for a provider without captures. */
  capturesOf?(payment: Payment): number;
}

/** Starts the simulated provider of a conformance test. */
export type StartParty = () => Promise<Party>;
/** Change that turns a correct adapter into a mutant. */
export type Mutate = (good: Provider, party: Party) => Provider;

/** A service that is connected to a party, and the parts that rules need. */
export interface World extends AsyncDisposable {
  on: TestService;
  party: Party;
  /** The provider under test, as the service uses it. */
  provider: Provider;
  mutate: (good: Provider) => Provider;
  /** Time limit of a check, in milliseconds. */
  checkLimitMs: number;
}

/** Starts a party and a service that uses its adapter; `mutate` can replace the adapter by a mutant. */
export async function startWorld(startParty: StartParty, mutate: Mutate = (good) => good): Promise<World> {
  const party = await startParty();
  const on = await startTestService(party.options);
  await party.connect(on);
  const mutated = (good: Provider) => mutate(good, party);
  const provider = mutated(on.service.deps.providers.get(party.id)!);
  connect(on, provider.id, provider);
  await on.pass(0);
  return {
    on,
    party,
    provider,
    mutate: mutated,
    checkLimitMs: 10_000,
    async [Symbol.asyncDispose]() {
      await on[Symbol.asyncDispose]();
      await party[Symbol.asyncDispose]();
    },
  };
}

function connect({ service: { deps } }: TestService, path: string, provider: Provider): void {
  deps.providers = new Map([...deps.providers, [path, provider]]);
}

let buyers = 0;

/** A new payment whose handoff the provider has accepted; the buyer has not paid yet. */
async function startedPayment({ on, party }: World): Promise<Payment> {
  const session = await createSession(on, { customer: `buyer${++buyers}@example.com` });
  const { outcome } = await start(on, session, party.kind);
  assert.equal(outcome, 'continue');
  return (await paymentsOf(on, session)).at(-1)!;
}

async function paidPayment(world: World): Promise<Payment> {
  const payment = await startedPayment(world);
  await deliver(world, await paidCallbacks(world, payment));
  return reread(world, payment);
}

async function paidCallbacks({ party }: World, payment: Payment): Promise<SentCallback[]> {
  const callbacks = await party.pay(payment);
  const isReported = callbacks && (callbacks.length > 0 || party.isWatched);
  assert.ok(isReported, 'the provider does not accept the payment, or sends no callback');
  return callbacks;
}

async function reread({ on }: World, { id, sessionId }: Payment): Promise<Payment> {
  return (await paymentsOf(on, sessionId)).find((one) => one.id === id)!;
}

/** Sends callbacks to the service, at the URL of a provider instance; returns the HTTP statuses. */
async function post({ on, party }: World, callbacks: readonly SentCallback[], path = party.id): Promise<number[]> {
  const statuses: number[] = [];
  for (const { body, headers } of callbacks) {
    const url = `${on.url}/api/providers/${path}/callbacks`;
    const answer = await fetch(url, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json', ...headers },
    });
    await answer.arrayBuffer();
    statuses.push(answer.status);
  }
  return statuses;
}

/** Sends callbacks, asserts that the service acknowledges them, and runs the due work. */
async function deliver(world: World, callbacks: readonly SentCallback[]): Promise<void> {
  const statuses = await post(world, callbacks);
  assert.ok(
    statuses.every((status) => status === 200),
    'a callback is not acknowledged',
  );
  await world.on.pass(0);
}

/** A payment and its session that exist neither in the store nor at the provider. */
function unknownPayment({ on, party }: World): { session: Session; payment: Payment } {
  const { deps } = on.service;
  const session = aSession({ id: deps.newId('chk') });
  const { id, kind, label, network, asset } = deps.routes.find(
    (one) => one.integrationId === party.id && one.kind === party.kind,
  )!;
  const route = { id, kind, label, network, asset, provider: party.id };
  const about = { id: deps.newId('pay'), sessionId: session.id, created: on.clock.now() };
  return { session, payment: aPayment({ ...about, route }) };
}

function handoffOf({ on }: World, { session, payment }: ReturnType<typeof unknownPayment>): HandoffRequest {
  const cancelUrl = `${on.url}/checkout/${session.id}`;
  const urls = { returnUrl: `${cancelUrl}/back`, cancelUrl, callbackUrl: `${on.url}/api/providers/any/callbacks` };
  return { session, payment, merchant: 'Demo merchant', ...urls, timeoutMs: 5000 };
}

function refundOf({ on }: World, payment: Payment): RefundRequest {
  const { newId, now } = on.service.deps;
  return { refundId: newId('ref'), payment, amount: 1000, reference: null, created: now() };
}

/** Asserts that neither `act` nor the work that is due after it changes a record of the payment's session. */
async function changesNothing(world: World, { sessionId }: Payment, act: () => Promise<unknown>): Promise<void> {
  const before = await recordsOf(world.on, sessionId);
  await act();
  await world.on.pass(0);
  assert.ok((await recordsOf(world.on, sessionId)) === before, 'a record of the session has changed');
}

/** Rules that every adapter must keep, by title. Each rule creates its own payments, so that all rules can share one world. */
export const RULES = {
  async 'a payment is paid once, with the total that the buyer paid'(world) {
    const payment = await paidPayment(world);
    assert.equal(payment.status, 'paid');
    const { provider_clearing: held = 0, provider_cost: cost = 0 } = await booksOf(world.on, payment.id);
    // The provider has paid out the merchant's share of a settled payment.
    assert.equal(held + cost + (payment.settled ? payment.fees.merchantNet : 0), payment.fees.total);
    assert.deepEqual((await world.on.service.deps.store.checkout(payment.sessionId))!.discrepancies, []);
  },

  async 'two equal handoffs create one payment at the provider'(world) {
    const request = handoffOf(world, unknownPayment(world));
    const results = [await world.provider.handoff(request), await world.provider.handoff(request)];
    assert.deepEqual(
      results.map(({ outcome }) => outcome),
      ['accepted', 'accepted'],
    );
    assert.deepEqual(results[0], results[1]);
    assert.equal(await world.party.paymentsAt(request.payment), 1);
  },

  async 'a repeated callback changes nothing, and two different callbacks have different event ids'(world) {
    if (world.party.isWatched) return;
    const ids: string[] = [];
    for (let each = 0; each < 2; each++) {
      const payment = await startedPayment(world);
      const callbacks = await paidCallbacks(world, payment);
      await deliver(world, callbacks);
      await changesNothing(world, payment, () => post(world, [...callbacks, ...callbacks]));
      const read = () =>
        Promise.all(callbacks.map(({ body, headers }) => world.provider.readCallback(Buffer.from(body), headers)));
      const [first, second] = [await read(), await read()];
      assert.deepEqual(first, second, 'the adapter reads the same callback twice with different results');
      ids.push(...first.flatMap(({ signals, hints }) => [...signals, ...hints].map(({ eventId }) => eventId)));
    }
    assert.equal(new Set(ids).size, ids.length, 'two callbacks have the same event id');
  },

  async 'a callback with a wrong signature is answered 401 and changes nothing'(world) {
    const payment = await startedPayment(world);
    await world.party.pay(payment);
    const before = await recordsOf(world.on, payment.sessionId);
    const statuses = await post(world, world.party.forged(payment));
    assert.deepEqual(new Set(statuses), new Set([401]));
    assert.ok((await recordsOf(world.on, payment.sessionId)) === before, 'a record of the session has changed');
  },

  async 'a callback about records of another program is answered 200 and changes nothing'(world) {
    const payment = await startedPayment(world);
    const logged = world.on.logged.length;
    await changesNothing(world, payment, () => deliver(world, world.party.foreign(payment)));
    const problems = world.on.logged
      .slice(logged)
      .filter((line) => (JSON.parse(line) as { level: number }).level >= 50);
    assert.deepEqual(problems, []);
    assert.deepEqual(
      await world.on.service.deps.store.hintsDue(Number.MAX_SAFE_INTEGER, 10),
      [],
      'a hint is still due',
    );
  },

  async 'a callback that is sent to another provider instance, of either environment, changes nothing'(world) {
    if (world.party.isWatched) return;
    for (const environment of ['sandbox', 'production'] as const) {
      const other = world.mutate(world.party.instance('other', environment));
      connect(world.on, 'other', other);
      const payment = await startedPayment(world);
      const callbacks = await paidCallbacks(world, payment);
      await changesNothing(world, payment, () => post(world, callbacks, 'other'));
      assert.deepEqual([other.id, other.environment], ['other', environment], 'the adapter ignores its configuration');
    }
  },

  async 'after a cancellation the payment has failed and cannot be paid'(world) {
    const payment = await startedPayment(world);
    assert.equal(await world.provider.cancel(payment), 'cancelled');
    assert.equal(await world.provider.cancel(payment), 'cancelled');
    const answer = await world.provider.inquire(payment);
    assert.ok(typeof answer === 'object');
    if (world.party.keepsCancelled) return assert.equal(answer.report.state, 'awaiting_buyer');
    assert.equal(answer.report.state, 'failed');
    if (world.provider.traits.cancel === 'holds') assert.equal(await world.party.pay(payment), undefined);
  },

  async 'the cancellation of an unknown payment returns `unknown`'(world) {
    assert.equal(await world.provider.cancel(unknownPayment(world).payment), 'unknown');
  },

  async 'the inquiry about an unknown payment returns `unknown`'(world) {
    assert.equal(await world.provider.inquire(unknownPayment(world).payment), 'unknown');
  },

  async 'two refund requests with the same refund id make one refund'(world) {
    if (world.provider.traits.refunds === 'manual') return;
    const request = refundOf(world, await paidPayment(world));
    assert.equal(await world.provider.inquireRefund(request), undefined);
    for (let each = 0; each < 2; each++) {
      const outcome = await world.provider.refund(request);
      assert.ok(outcome !== 'unknown' && outcome.status !== 'failed');
    }
    assert.equal(await world.party.refundedAt(request.payment), request.amount);
    if (world.party.refundsByCallback) return;
    assert.equal((await world.provider.inquireRefund(request))?.status, 'succeeded');
  },

  async 'the refund of an unknown payment fails or returns `unknown`'(world) {
    if (world.party.refundsSamples) return;
    const outcome = await world.provider.refund(refundOf(world, unknownPayment(world).payment));
    assert.ok(outcome === 'unknown' || outcome.status === 'failed', 'an unpaid payment was refunded');
  },

  async 'a check reports ready with the right credentials, and not ready with wrong credentials'(world) {
    assert.equal((await world.provider.check()).ready, true);
    const wrong = world.party.misconfigured?.wrongKey('key_of_another_account');
    if (!wrong) return;
    const { ready, findings } = await world.mutate(wrong).check();
    assert.equal(ready, false);
    assert.ok(findings.some(({ level }) => level === 'error'));
  },

  async 'a provider status that the adapter does not know never counts as paid'(world) {
    const payment = await startedPayment(world);
    await deliver(world, await world.party.confuse(payment));
    await world.on.pass(60_000);
    assert.equal((await reread(world, payment)).status, 'pending');
    const answer = await world.provider.inquire(payment).catch(() => 'unclear');
    if (typeof answer === 'object') assert.notEqual(answer.report.state, 'paid');
  },

  async 'an approved payment is captured once, and never after the buyer has cancelled it'(world) {
    const { on, party } = world;
    if (!party.capturesOf) return;
    const payment = await paidPayment(world);
    await on.pass(60_000);
    await world.provider.capture!(payment);
    assert.equal(party.capturesOf(payment), 1);

    const abandoned = await startedPayment(world);
    await post(world, await paidCallbacks(world, abandoned));
    const { deps } = on.service;
    for (const hint of await deps.store.hintsDue(deps.now(), 10)) await answerHint(deps, hint);
    assert.equal((await deps.store.tasksDue(deps.now(), 10)).length, 1, 'no capture is due');
    await cancelCheckout(deps, abandoned.sessionId, 1);
    await on.pass(0);
    await on.pass(60 * 60_000);
    assert.equal(party.capturesOf(abandoned), 0);
    assert.equal((await reread(world, abandoned)).status, 'failed');
  },

  async 'no log line, page or finding contains a secret'(world) {
    const { on, party } = world;
    const payment = await paidPayment(world);
    await post(world, party.forged(payment));
    const secret = 'sk_test_0123456789abcdefSECRET';
    const wrong = party.misconfigured?.wrongKey(secret);
    const session = await createSession(on, { customer: `buyer${++buyers}@example.com` });
    if (wrong) connect(on, party.id, world.mutate(wrong));
    try {
      await start(on, session, party.kind).catch(() => undefined);
      await on.pass(60_000);
      await on.service.deps.readiness.checkDue();
    } finally {
      connect(on, party.id, world.provider);
    }
    const paths = [
      '',
      `checkout/${payment.sessionId}`,
      `checkout/${session}`,
      'api/gateway/providers',
      'api/gateway/routes',
    ];
    const pages = await Promise.all(paths.map(async (path) => (await fetch(`${on.url}/${path}`)).text()));
    const findings = JSON.stringify(await (wrong ? world.mutate(wrong) : world.provider).check());
    const shown = [...on.logged, ...pages, findings].join('\n');
    for (const text of [secret, ...party.secrets]) assert.ok(!shown.includes(text), 'a secret is visible');
  },
} satisfies Record<string, (world: World) => Promise<void>>;

/** Title of a rule of the conformance suite. */
export type Rule = keyof typeof RULES;

/** Asserts that a check ends within its time limit. The test runs it beside {@link RULES}, because it takes seconds. `silent` never answers. */
export async function checkEnds(world: World, silent: string): Promise<void> {
  const provider = world.party.misconfigured?.at(silent);
  if (!provider) return;
  const ended = checkProvider(world.mutate(provider));
  const late = new Promise<'late'>((resolve) => setTimeout(resolve, world.checkLimitMs, 'late').unref());
  const result = await Promise.race([ended, late]);
  assert.notEqual(result, 'late', 'the check did not end within its limit');
  assert.equal(typeof result === 'object' && result.ready, false);
}
