// @run needs=process
/* oxlint-disable unicorn/no-thenable -- a keyword of the rule language */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import * as fc from 'fast-check';
import type { Route, RouteKind } from '../../src/domain/route.ts';
import { chooseAnotherMethod } from '../../src/operations/leave-payment.ts';
import { saveRules } from '../../src/operations/routing/saved-rules.ts';
import { type StartedPayment, startPayment } from '../../src/operations/start-payment.ts';
import type { HandoffResult, Provider } from '../../src/providers/provider.ts';
import { createSandboxProvider } from '../../src/providers/sandbox.ts';
import type { RuleActions } from '../../src/routing/rule-set.ts';
import { aRoute } from '../fixtures/checkout-records.ts';
import { TEST_DATABASE, settingsOf } from '../support/database.ts';
import { type TestService, startTestService } from '../support/service.ts';
import { SECRET, createSession, postCallback, stateOf } from './buyer.ts';
import { brokenInvariants } from '../support/sound.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const TOTAL = 4999;
/** The HTTP client's own limit, which would be reached if the adapter set none. */
const CLIENT_CONNECT_MS = 10_000;

const FIRST_INQUIRY_MS = 30 * SECOND;

/** Outcome of one request: whether the provider executes it, and whether it answers, refuses, or its answer is lost. */
interface Fate {
  does: boolean;
  answers: 'well' | 'refusal' | 'nothing';
}

const WELL: Fate = { does: true, answers: 'well' };
const REFUSED: Fate = { does: false, answers: 'refusal' };
/** The request is lost. */
const LOST: Fate = { does: false, answers: 'nothing' };
/** The request is executed, and its answer is lost. */
const SILENT: Fate = { does: true, answers: 'nothing' };

interface Charge {
  order: string;
  amount: number;
  state: 'CREATED' | 'CAPTURED' | 'DECLINED' | 'CANCELLED' | 'REFUNDED';
}

/** A provider in memory. */
interface ScriptedProvider extends Provider {
  charges: Map<string, Charge>;
  /** Outcomes of the next requests of each kind; later requests succeed. */
  next: Record<'handoff' | 'inquire' | 'settle', Fate[]>;
  /** Payment ids of the requests, in order. */
  asked: Record<'handoff' | 'inquire' | 'cancel' | 'refund', string[]>;
  /** Called before a handoff is handled. */
  onHandoff(paymentId: string, order: string): void | Promise<void>;
}

/** A port where connections are neither accepted nor refused. */
async function startBlackHole(): Promise<AsyncDisposable & { url: string }> {
  const listens = `const server = require('node:net').createServer();
    server.listen({ host: '127.0.0.1', port: 0, backlog: 1 }, () => {
      require('node:fs').writeSync(1, String(server.address().port));
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    });`;
  const child = spawn(process.execPath, ['-e', listens], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [port] = (await once(child.stdout, 'data')) as [Buffer];
  // These fill its queue.
  const waiting = Array.from({ length: 4 }, () => connect(Number(port.toString()), '127.0.0.1').on('error', () => {}));
  await sleep(200);
  return {
    url: `http://127.0.0.1:${port.toString()}`,
    async [Symbol.asyncDispose]() {
      for (const socket of waiting) socket.destroy();
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
  };
}

const STATUS = {
  CREATED: 'provider_pending',
  CAPTURED: 'paid',
  DECLINED: 'failed',
  CANCELLED: 'failed',
  // No state of a payment that the adapter of the simulated provider knows.
  REFUNDED: 'provider_pending',
} as const;

function createScriptedProvider(id: string, now: () => number): ScriptedProvider {
  const { readCallback, readStored } = createSandboxProvider({ url: '', apiKey: '', callbackSecret: SECRET, now });
  const lost = () => new Error('the answer is lost');
  const on: ScriptedProvider = {
    id,
    environment: 'sandbox',
    readCallback,
    readStored,
    charges: new Map(),
    next: { handoff: [], inquire: [], settle: [] },
    asked: { handoff: [], inquire: [], cancel: [], refund: [] },
    onHandoff: () => undefined,
    async handoff({ session, payment }) {
      on.asked.handoff.push(payment.id);
      await on.onHandoff(payment.id, session.id);
      const fate = on.next.handoff.shift() ?? WELL;
      if (fate.does) take(on, payment.id, { order: session.id, amount: payment.amount });
      if (fate.answers === 'nothing') return { outcome: 'ambiguous', reason: 'the test says so' };
      if (fate.answers === 'refusal') return { outcome: 'refused', reason: 'the test says so', providerReason: null };
      return { outcome: 'accepted', reference: `${id}_${payment.id}`, url: pageOf(on, payment.id) };
    },
    async inquire({ id: paymentId, amount }) {
      on.asked.inquire.push(paymentId);
      if ((on.next.inquire.shift() ?? WELL).answers !== 'well') throw lost();
      const found = on.charges.get(paymentId);
      if (!found) return undefined;
      const status = STATUS[found.state];
      const report = { paymentId, status, amount, currency: 'USD', txHash: null, failure: null };
      const place = { reference: `${id}_${paymentId}`, url: pageOf(on, paymentId) };
      return { ...report, ...place, awaitsBuyer: found.state === 'CREATED' };
    },
    async cancel({ id: paymentId }) {
      const fate = on.next.settle.shift() ?? WELL;
      on.asked.cancel.push(paymentId);
      const found = on.charges.get(paymentId);
      if (fate.does && found?.state === 'CREATED') found.state = 'CANCELLED';
      if (fate.answers !== 'well') throw lost();
      return found ? 'cancelled' : 'unknown';
    },
    // It knows the refund of a refunded charge, and makes full refunds only.
    async refund({ payment }) {
      const found = on.charges.get(payment.id);
      const { does, answers } = on.next.settle[0] ?? WELL;
      if (does && found?.state === 'CAPTURED') found.state = 'REFUNDED';
      const outcome = await on.inquireRefund({ refundId: '', payment, amount: 0 });
      if (answers !== 'well' || !outcome) throw lost();
      return outcome;
    },
    async inquireRefund({ payment }) {
      on.asked.refund.push(payment.id);
      if ((on.next.settle.shift() ?? WELL).answers !== 'well') throw lost();
      const isRefunded = on.charges.get(payment.id)?.state === 'REFUNDED';
      return isRefunded ? { status: 'succeeded', reason: null } : undefined;
    },
  };
  return on;
}

function take({ charges }: ScriptedProvider, paymentId: string, { order, amount }: Pick<Charge, 'order' | 'amount'>) {
  if (!charges.has(paymentId)) charges.set(paymentId, { order, amount, state: 'CREATED' });
}

function pageOf({ id }: ScriptedProvider, paymentId: string): string {
  return `https://${id}.example/pay/${paymentId}`;
}

/** Sends the provider's callback with the current state of a charge. */
async function sendCallback(on: TestService, { id, charges }: ScriptedProvider, charge: string, event: string) {
  const callback = { ...charges.get(charge)!, charge, event, type: 'charge.updated', transaction: null };
  assert.equal((await postCallback(on, callback, id)).status, 200);
}

interface Shop extends AsyncDisposable {
  on: TestService;
  servers: ScriptedProvider[];
  pay(sessionId: string, acceptedTotal?: number, kind?: RouteKind): Promise<StartedPayment>;
}

const NAMES = ['first', 'second', 'third', 'fourth'];

/** Routes in strict order, each with its own provider. */
async function openShop(fields: Partial<Route>[] = [{}, {}], then: RuleActions = {}): Promise<Shop> {
  const on = await startTestService();
  const { deps } = on.service;
  const servers = fields.map((_, index) => createScriptedProvider(NAMES[index]!, () => on.clock.now()));
  deps.providers = new Map(servers.map((provider) => [provider.id, provider]));
  deps.routes = fields.map((own, index) =>
    aRoute({ id: `route_${NAMES[index]}`, integrationId: NAMES[index]!, buyerFeeRate: 0, ...own }),
  );
  const ids = deps.routes.map(({ id }) => id);
  await saveRules(deps, { version: 1, rules: [{ id: 'in-order', then: { ...then, priority: ids } }] });
  return {
    on,
    servers,
    pay: (sessionId, acceptedTotal = TOTAL, kind = 'card') => startPayment(deps, sessionId, { kind, acceptedTotal }),
    [Symbol.asyncDispose]: () => on[Symbol.asyncDispose](),
  };
}

async function paymentsOf({ on }: Shop, sessionId: string) {
  const { payments } = (await on.service.deps.store.checkout(sessionId))!;
  // Payments of the same millisecond are ordered by their random ids.
  return (routeName: string) => payments.find(({ route }) => route.id === `route_${routeName}`);
}

test('a refused handoff: the next route takes the payment, and the buyer sees its page only', async () => {
  await using shop = await openShop();
  const { on, servers } = shop;
  const [first, second] = servers as [ScriptedProvider, ScriptedProvider];
  first.next.handoff.push(REFUSED);
  const sessionId = await createSession(on);
  const answer = await fetch(`${on.url}/checkout/${sessionId}/pay`, {
    method: 'POST',
    redirect: 'manual',
    body: new URLSearchParams({ kind: 'card', total_card: String(TOTAL) }),
  });
  assert.equal(new URL(answer.headers.get('location')!, on.url).pathname, `/checkout/${sessionId}/continue`);
  const page = await (await fetch(`${on.url}/checkout/${sessionId}/continue`)).text();
  const [took] = second.asked.handoff;
  assert.ok(page.includes(pageOf(second, took!)));
  assert.deepEqual(second.asked.handoff.length, 1);
  assert.deepEqual(first.asked.inquire, []);

  const state = await stateOf(on, sessionId);
  assert.deepEqual(state.events, ['payment.provider_pending']);
  assert.equal((await on.service.deps.store.session(sessionId))?.attempts, 1);
  const payment = await paymentsOf(shop, sessionId);
  assert.deepEqual([payment('first')?.status, payment('first')?.failureCode], ['failed', 'handoff_refused']);
  assert.equal(payment('second')?.status, 'pending');
  await on.pass(0);
  assert.deepEqual(first.asked.cancel, [], 'there is nothing to cancel');
});

test('an unreachable provider times out, and the next route takes the payment', async () => {
  await using shop = await openShop();
  await using hole = await startBlackHole();
  const { on, servers } = shop;
  const [first, second] = servers as [ScriptedProvider, ScriptedProvider];
  const unreachable = createSandboxProvider({ url: hole.url, apiKey: '', callbackSecret: '', now: Date.now });
  let tookMs = NaN;
  const handoff: Provider['handoff'] = async (request) => {
    const begun = performance.now();
    const result = await unreachable.handoff(request);
    tookMs = performance.now() - begun;
    return result;
  };
  on.service.deps.providers = new Map([
    ['first', { ...first, handoff, inquire: unreachable.inquire }],
    ['second', second],
  ]);
  const started = await shop.pay(await createSession(on));
  assert.ok(tookMs < CLIENT_CONNECT_MS - SECOND, `${tookMs} ms`);
  assert.deepEqual(started, { outcome: 'continue', url: pageOf(second, second.asked.handoff[0]!) });
});

describe('a provider that may have the payment', () => {
  const handoffs: [title: string, handoffs: Fate[], inquiries: 0 | 1, takes: 'first' | 'second'][] = [
    ['has taken the charge over once: the same request is repeated', [SILENT], 0, 'first'],
    ['answers neither request, and then knows the charge: the payment stays there', [SILENT, SILENT], 1, 'first'],
    ['answers neither request, and does not know the charge: the next route takes it', [LOST, LOST], 1, 'second'],
  ];
  for (const [title, fates, inquiries, takes] of handoffs) {
    test(title, async () => {
      await using shop = await openShop();
      const [first, second] = shop.servers as [ScriptedProvider, ScriptedProvider];
      first.next.handoff.push(...fates);
      const started = await shop.pay(await createSession(shop.on));
      const [paymentId] = first.asked.handoff;
      assert.deepEqual(first.asked.handoff, [paymentId, paymentId]);
      assert.deepEqual(first.asked.inquire, inquiries === 1 ? [paymentId] : []);
      const isFirst = takes === 'first';
      assert.equal(second.asked.handoff.length, isFirst ? 0 : 1);
      const url = isFirst ? pageOf(first, paymentId!) : pageOf(second, second.asked.handoff[0]!);
      assert.deepEqual(started, { outcome: 'continue', url });
      assert.deepEqual([...first.charges.keys()], isFirst ? [paymentId] : []);
      await shop.on.pass(0);
      assert.deepEqual(first.asked.cancel, isFirst ? [] : [paymentId]);
    });
  }

  test('answers no request: no other provider is asked before an inquiry is answered', async () => {
    await using shop = await openShop();
    const [first, second] = shop.servers as [ScriptedProvider, ScriptedProvider];
    const sessionId = await createSession(shop.on);
    first.next.handoff.push(LOST, LOST);
    first.next.inquire.push(LOST);
    assert.deepEqual(await shop.pay(sessionId), { outcome: 'continue', url: null });
    assert.deepEqual((await stateOf(shop.on, sessionId)).payments, ['pending']);
    // The buyer presses the button again while the payment is in progress.
    assert.deepEqual(await shop.pay(sessionId), { outcome: 'continue', url: null });
    await shop.on.pass(FIRST_INQUIRY_MS - 1);
    assert.deepEqual([first.asked.handoff.length, first.asked.inquire.length], [2, 1]);
    assert.deepEqual(second.asked.handoff, []);

    await shop.on.pass(1);
    assert.deepEqual((await stateOf(shop.on, sessionId)).failures, ['handoff_refused']);
    assert.deepEqual(second.asked.handoff, [], 'only the buyer starts again');
    await shop.on.service.deps.router.refresh();
    const again = await shop.pay(sessionId);
    assert.equal(again.outcome, 'continue');
  });

  test('refuses the second request but has taken the first: the payment stays there', async () => {
    await using shop = await openShop();
    const [first, second] = shop.servers as [ScriptedProvider, ScriptedProvider];
    const sessionId = await createSession(shop.on);
    first.next.handoff.push(SILENT, REFUSED);
    const started = await shop.pay(sessionId);
    assert.deepEqual(started, { outcome: 'continue', url: pageOf(first, first.asked.handoff[0]!) });
    assert.deepEqual(second.asked.handoff, []);
  });

  test('reports it as failed: the next route takes it', async () => {
    await using shop = await openShop();
    const [first, second] = shop.servers as [ScriptedProvider, ScriptedProvider];
    const sessionId = await createSession(shop.on);
    first.onHandoff = (paymentId, order) =>
      void first.charges.set(paymentId, { order, amount: TOTAL, state: 'DECLINED' });
    first.next.handoff.push(LOST, LOST);
    const started = await shop.pay(sessionId);
    assert.deepEqual(started, { outcome: 'continue', url: pageOf(second, second.asked.handoff[0]!) });
  });

  test('is found to have it by a later inquiry: the buyer continues there', async () => {
    await using shop = await openShop();
    const [first, second] = shop.servers as [ScriptedProvider, ScriptedProvider];
    const sessionId = await createSession(shop.on);
    first.next.handoff.push(SILENT, SILENT);
    first.next.inquire.push(LOST);
    assert.deepEqual(await shop.pay(sessionId), { outcome: 'continue', url: null });
    await shop.on.pass(FIRST_INQUIRY_MS);
    const [paymentId] = first.asked.handoff;
    assert.deepEqual(await shop.pay(sessionId), { outcome: 'continue', url: pageOf(first, paymentId!) });
    assert.deepEqual(second.asked.handoff, []);
  });

  test('does not know it at a later inquiry: it is asked to cancel a request that may still arrive', async () => {
    await using shop = await openShop();
    const [first] = shop.servers as [ScriptedProvider];
    const sessionId = await createSession(shop.on);
    first.next.handoff.push(LOST, LOST);
    first.next.inquire.push(LOST);
    await shop.pay(sessionId);
    await shop.on.pass(FIRST_INQUIRY_MS);
    assert.deepEqual(first.asked.cancel, [first.asked.handoff[0]]);
  });
});

test('a payment that its provider has accepted does not fail over before its timeout', async () => {
  await using shop = await openShop();
  const [first, second] = shop.servers as [ScriptedProvider, ScriptedProvider];
  const sessionId = await createSession(shop.on);
  await shop.pay(sessionId);
  first.next.inquire.push(LOST, LOST, LOST);
  for (let minutes = 0; minutes < 31; minutes++) await shop.on.pass(MINUTE);
  assert.deepEqual((await stateOf(shop.on, sessionId)).failures, ['timed_out']);
  assert.deepEqual(second.asked.handoff, []);
});

describe('failover', () => {
  const refuse = ({ servers }: Shop) => {
    for (const { next } of servers) next.handoff.push(REFUSED, REFUSED, REFUSED);
  };
  const counts = ({ servers }: Shop) => servers.map(({ asked }) => asked.handoff.length);
  const cases: [name: string, fields: Partial<Route>[], then: RuleActions, asked: number[]][] = [
    ['tries at most three routes', [{}, {}, {}, {}], {}, [1, 1, 1, 0]],
    ['tries as many routes as a rule allows', [{}, {}, {}], { maxAttempts: 2 }, [1, 1, 0]],
    ['is disabled by a rule', [{}, {}], { failover: 'none' }, [1, 0]],
    ['stays within the kind', [{}, { kind: 'wallet' }, {}], {}, [1, 0, 1]],
    ['uses any kind if a rule allows it', [{}, { kind: 'wallet' }], { failover: 'any' }, [1, 1]],
    [
      'uses the same kind before others',
      [{}, { kind: 'wallet' }, {}, { kind: 'local' }],
      { failover: 'any', maxAttempts: 2 },
      [1, 0, 1, 0],
    ],
  ];
  for (const [name, fields, then, asked] of cases) {
    test(name, async () => {
      await using shop = await openShop(fields, then);
      refuse(shop);
      const sessionId = await createSession(shop.on);
      assert.deepEqual(await shop.pay(sessionId), { outcome: 'refused' });
      assert.deepEqual(counts(shop), asked);
    });
  }

  test('ends after ten seconds', async () => {
    await using shop = await openShop([{}, {}, {}]);
    refuse(shop);
    for (const server of shop.servers) server.onHandoff = () => shop.on.clock.advance(6 * SECOND);
    assert.deepEqual(await shop.pay(await createSession(shop.on)), { outcome: 'refused' });
    assert.deepEqual(counts(shop), [1, 1, 0]);
  });

  test('limits every timeout by the remaining time', async () => {
    await using shop = await openShop([{}, {}, {}]);
    const { deps } = shop.on.service;
    deps.handoffLimits = { totalMs: 300, handoffMs: 10_000, againMs: 10_000, inquiryMs: 10_000, leastMs: 1 };
    const [first] = shop.servers as [ScriptedProvider];
    first.next.handoff.push(SILENT, SILENT);
    first.next.inquire.push(LOST);
    const limits: (number | undefined)[] = [];
    const slow: Provider = {
      ...first,
      handoff(request) {
        limits.push(request.timeoutMs);
        shop.on.clock.advance(200);
        return first.handoff(request);
      },
      inquire(payment, timeoutMs) {
        limits.push(timeoutMs);
        return first.inquire(payment, timeoutMs);
      },
    };
    deps.providers = new Map([...deps.providers, ['first', slow]]);
    assert.deepEqual(await shop.pay(await createSession(shop.on)), { outcome: 'continue', url: null });
    assert.deepEqual(limits, [300, 100, 1], 'the third has no time left');
    assert.deepEqual(counts(shop).slice(1), [0, 0]);
  });

  test('never uses a more expensive route', async () => {
    await using shop = await openShop([{}, { buyerFeeRate: 10_000 }, {}]);
    shop.servers[0]!.next.handoff.push(REFUSED);
    const sessionId = await createSession(shop.on);
    assert.equal((await shop.pay(sessionId)).outcome, 'continue');
    assert.deepEqual(counts(shop), [1, 0, 1]);
    const payment = await paymentsOf(shop, sessionId);
    assert.equal(payment('third')?.fees.total, TOTAL);
  });

  test('shows the buyer the price first if only more expensive routes are left', async () => {
    await using shop = await openShop([{}, { buyerFeeRate: 10_000 }]);
    shop.servers[0]!.next.handoff.push(REFUSED, REFUSED);
    const sessionId = await createSession(shop.on);
    assert.deepEqual(await shop.pay(sessionId), { outcome: 'fee_changed' });
    assert.deepEqual(counts(shop), [1, 0]);
    // The first has refused this session, and the buyer has agreed to the price of the second.
    assert.equal((await shop.pay(sessionId, TOTAL + 50)).outcome, 'continue');
    assert.deepEqual(counts(shop), [1, 1]);
  });
});

/** Outcomes of a handoff in a random schedule. */
const FATES = { accept: WELL, refuse: REFUSED, lose_answer: SILENT, lose_request: LOST, arrive_late: LOST };

type HandoffFate = keyof typeof FATES;
type Step =
  | { do: 'start' | 'switch' | 'late' }
  | { do: 'pass'; seconds: number }
  | { do: 'capture' | 'decline'; which: number; told: boolean };

interface Schedule {
  handoffs: [HandoffFate[], HandoffFate[]];
  /** For each inquiry, and each cancellation or refund, true if it is answered. */
  inquiries: [boolean[], boolean[]];
  settlings: [boolean[], boolean[]];
  steps: Step[];
}

const fateArb = fc.constantFrom<HandoffFate>(...(Object.keys(FATES) as HandoffFate[]));
const two = <Value>(arb: fc.Arbitrary<Value>, maxLength: number) => {
  const list = fc.array(arb, { maxLength });
  return fc.tuple(list, list);
};
const stepArb: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Step>({ do: 'start' }) },
  { weight: 1, arbitrary: fc.constant<Step>({ do: 'switch' }) },
  { weight: 2, arbitrary: fc.constant<Step>({ do: 'late' }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('pass' as const), seconds: fc.constantFrom(0, 5, 30, 60, 1800) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constantFrom('capture', 'decline'), which: fc.nat(5), told: fc.boolean() }),
  },
);
const scheduleArb: fc.Arbitrary<Schedule> = fc.record({
  handoffs: two(fateArb, 5),
  inquiries: two(fc.boolean(), 4),
  settlings: two(fc.boolean(), 3),
  steps: fc.array(stepArb, { minLength: 2, maxLength: 10 }).map((steps) => [{ do: 'start' as const }, ...steps]),
});

/** Runs one schedule in a new session; throws if a guarantee is violated. */
async function play(shop: Shop, { handoffs, inquiries, settlings, steps }: Schedule): Promise<void> {
  const { on, servers } = shop;
  const { deps } = on.service;
  const sessionId = await createSession(on);
  const late: [ScriptedProvider, string][] = [];
  const broken: string[] = [];
  let events = 0;
  for (const [index, server] of servers.entries()) {
    const fates = [...handoffs[index]!];
    server.charges.clear();
    server.next.inquire = inquiries[index]!.map((answered) => (answered ? WELL : SILENT));
    server.next.settle = settlings[index]!.map((answered) => (answered ? WELL : SILENT));
    server.onHandoff = async (paymentId) => {
      broken.push(...(await rivalsOf(paymentId)));
      const fate = fates.shift() ?? 'accept';
      server.next.handoff = [FATES[fate]];
      if (fate === 'arrive_late') late.push([server, paymentId]);
    };
  }

  /** Other payments of the session that a provider has or may get, without a request to cancel. */
  async function rivalsOf(paymentId: string): Promise<string[]> {
    const due = await deps.store.tasksDue(Number.MAX_SAFE_INTEGER, 1000);
    const toCancel = due.filter(({ kind }) => kind === 'cancel').map((task) => task.paymentId);
    return servers.flatMap((server) => {
      const held = [...server.charges].filter(([, { state }]) => state === 'CREATED' || state === 'CAPTURED');
      const arriving = late.filter(([at, id]) => at === server && !server.charges.has(id)).map(([, id]) => id);
      return [...new Set([...held.map(([id]) => id), ...arriving])]
        .filter((id) => id !== paymentId && !toCancel.includes(id) && !server.asked.cancel.includes(id))
        .map((id) => `${paymentId} was started while the ${server.id} provider may have ${id}`);
    });
  }

  const arrive = () => {
    for (const [server, id] of late.splice(0)) take(server, id, { order: sessionId, amount: TOTAL });
  };
  const tell = (server: ScriptedProvider, id: string) => sendCallback(on, server, id, `${id}_${events++}`);
  const perform = async (step: Step): Promise<unknown> => {
    switch (step.do) {
      case 'start':
        return shop.pay(sessionId);
      case 'switch':
        return chooseAnotherMethod(deps, sessionId, (await deps.store.session(sessionId))!.attempts);
      case 'late':
        return arrive();
      case 'pass':
        return on.pass(step.seconds * SECOND);
      case 'capture':
      case 'decline': {
        const open = servers.flatMap((server) =>
          [...server.charges].filter(([, { state }]) => state === 'CREATED').map(([id]) => ({ server, id })),
        );
        const { server, id } = open[step.which % open.length] ?? {};
        if (!server) return undefined;
        server.charges.get(id!)!.state = step.do === 'capture' ? 'CAPTURED' : 'DECLINED';
        return step.told ? tell(server, id!) : undefined;
      }
    }
  };
  for (const step of steps) await perform(step);

  // From here on all providers answer, and repeat their reports.
  for (const { next } of servers) Object.assign(next, { inquire: [], settle: [] });
  for (const [index] of servers.entries()) handoffs[index]!.length = 0;
  arrive();
  for (const wait of [0, FIRST_INQUIRY_MS]) {
    await on.pass(wait);
    for (const server of servers) {
      for (const [id, { state }] of server.charges) if (state === 'CAPTURED') await tell(server, id);
    }
  }
  for (const wait of [31 * MINUTE, 16 * MINUTE, HOUR, HOUR]) await on.pass(wait);

  const { session, payments } = (await deps.store.checkout(sessionId))!;
  const charges = servers.flatMap((server) => [...server.charges.values()]);
  const kept = charges.filter(({ state }) => state === 'CAPTURED');
  assert.ok(!charges.some(({ state }) => state === 'CREATED'), 'a provider still waits for the buyer');
  assert.deepEqual(broken, []);
  assert.deepEqual(
    payments.filter(({ status }) => status === 'pending'),
    [],
    'a payment is pending for ever',
  );
  assert.equal(payments.filter(({ status, surplus }) => status === 'paid' && !surplus).length, kept.length);
  assert.equal(kept.length, session.status === 'paid' ? 1 : 0, `${session.status}, and paid ${kept.length} times`);
  assert.notEqual(session.status, 'pending');
  assert.deepEqual(
    payments.filter(({ surplus, ledgerStatus }) => surplus && ledgerStatus !== 'refunded'),
    [],
  );
  assert.deepEqual(await deps.store.refundsDue(Number.MAX_SAFE_INTEGER, 10), [], 'a refund is pending');
  assert.deepEqual(await deps.store.tasksDue(Number.MAX_SAFE_INTEGER, 10), [], 'a task is pending');
}

describe('two chaotic providers behind two routes', () => {
  const RUNS = TEST_DATABASE === 'sqlite' ? 200 : 80;
  const openChaos = async () => {
    const shop = await openShop();
    const { deps } = shop.on.service;
    // Without learning, schedules are independent of each other.
    deps.router = { ...deps.router, refresh: async () => 0 };
    return shop;
  };

  test('never both hold money without a refund request, and every payment ends', async (context) => {
    await using shop = await openChaos();
    let played = 0;
    await fc.assert(
      fc.asyncProperty(scheduleArb, async (schedule) => {
        played++;
        await play(shop, structuredClone(schedule));
      }),
      { numRuns: RUNS },
    );
    assert.equal(await shop.on.service.deps.store.ledgerTotal(), 0);
    assert.deepEqual(await brokenInvariants(settingsOf(shop.on.databaseUrl)), []);
    const asked = shop.servers.map(
      ({ asked }) => `${asked.handoff.length}/${asked.inquire.length}/${asked.cancel.length}/${asked.refund.length}`,
    );
    context.diagnostic(`${played} schedules; handoffs/inquiries/cancellations/refunds ${asked.join(' and ')}`);
  });

  test('detect a handoff that treats a missing answer as a refusal', async () => {
    await using shop = await openChaos();
    const { deps } = shop.on.service;
    const hasty = (result: HandoffResult): HandoffResult =>
      result.outcome === 'ambiguous' ? { ...result, outcome: 'refused', providerReason: null } : result;
    deps.providers = new Map(
      [...deps.providers].map(([id, provider]) => [
        id,
        { ...provider, handoff: async (request) => hasty(await provider.handoff(request)) },
      ]),
    );
    const found = await fc.check(
      fc.asyncProperty(scheduleArb, (schedule) => play(shop, structuredClone(schedule))),
      { numRuns: RUNS, endOnFailure: true },
    );
    assert.ok(found.failed, 'the injected fault was not detected');
  });
});
