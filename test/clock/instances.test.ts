// @run on=postgres
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { attempt, createSession, stateOf } from '../simulator/buyer.ts';
import { settingsOf } from '../support/database.ts';
import { type TestService, call, sessionBody, startTestService } from '../support/service.ts';
import { callTool } from '../mcp/rpc.ts';
import { type Receiver, advance, arrived, ask, clockAt, startReceiver } from './stage.ts';
import { until } from '../support/until.ts';
import { brokenInvariants } from '../support/sound.ts';

const HOUR = 3600;
/** What two processes know of the time of their database differs by a round trip, and that can be slow. */
const APART_MS = 10_000;
const HOLD_MS = 60_000;

/** Whoever moves time is left to it for longer: where this process pauses, neither takes the other for dead. */
function holdLonger({ service }: TestService): void {
  const clock = service.deps.testClock!;
  const { change } = clock;
  clock.change = (decide) =>
    change((record) => {
      const decided = decide(record);
      return decided && decided.holder !== null ? { ...decided, heldUntil: decided.heldUntil + HOLD_MS } : decided;
    });
}

describe('two instances of one database', () => {
  let merchant: Receiver;
  let instances: [TestService, TestService];
  let answer: (response: ServerResponse) => void = (response) => response.end('ok');
  before(async () => {
    merchant = await startReceiver((response) => answer(response));
    const first = await startTestService({ live: true, variables: merchant.variables });
    const second = await startTestService({ live: true, variables: merchant.variables, beside: first });
    instances = [first, second];
    instances.forEach(holdLonger);
  });
  after(async () => {
    for (const instance of instances.toReversed()) await instance[Symbol.asyncDispose]();
    await merchant[Symbol.asyncDispose]();
  });

  test('have one time: where it is moved on one, the other follows of itself', async () => {
    const [first, second] = instances;
    await ask(first.url, 5 * HOUR);
    await until(() => second.service.deps.now() - Date.now() > 5 * HOUR * 1000 - APART_MS);
    const [one, other] = [await arrived(first.url), await arrived(second.url)];
    assert.deepEqual([one.advancedSeconds, other.advancedSeconds], [5 * HOUR, 5 * HOUR]);
  });

  test('what is made on the one goes by the time to which the other has just moved it', async () => {
    const [first, second] = instances;
    const expiryOf = async (id: string) => (await first.service.deps.store.session(id))!.expiresAt;
    const moved = Date.parse((await advance(first.url, HOUR)).now);
    assert.ok((await expiryOf(await createSession(second))) >= moved + 24 * HOUR * 1000 - APART_MS);
    const movedAgain = Date.parse((await advance(first.url, HOUR)).now);
    const { structuredContent } = await callTool(second.url, 'checkout_create', sessionBody());
    const expiry = await expiryOf(String(structuredContent.result!['id']));
    assert.ok(expiry >= movedAgain + 24 * HOUR * 1000 - APART_MS);
  });

  test('what falls due on the way is done once, in its order', async () => {
    const [first, second] = instances;
    const started = await Promise.all(
      instances.flatMap((on) =>
        ['abandoned', 'late_success', 'callback_lost'].map(async (outcome) => {
          const id = await createSession(on);
          await attempt(on, id, 'card', outcome);
          return id;
        }),
      ),
    );
    await ask(second.url, HOUR);
    await arrived(first.url);
    for (const id of started) {
      const state = await stateOf(first, id);
      assert.deepEqual(merchant.typesOf(id), state.events);
      assert.ok(['paid', 'failed'].includes(state.session));
    }
  });

  test('of two who ask at once, one is refused', async () => {
    const answers = await Promise.all(
      instances.map(({ url }) => call('POST', `${url}/api/gateway/test-clock/advance`, { seconds: 60 })),
    );
    const before = 8 * HOUR;
    const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b);
    const clock = await arrived(instances[0].url);
    // The second may also come when the first is done.
    assert.equal(clock.advancedSeconds, before + 60 * statuses.filter((status) => status === 200).length);
    assert.ok(statuses[0] === 200 && [200, 409].includes(statuses[1]!), String(statuses));
  });

  test('one goes on where the other has died on the way, once that has been silent for a while', async () => {
    const [first] = instances;
    const { store, realNow } = first.service.deps;
    const clock = (await store.testClock())!;
    const goalMs = clock.goalMs + HOUR * 1000;
    const target = realNow() + goalMs;
    const heldFor = async (ms: number, version: number): Promise<number> => {
      const heldUntil = realNow() + ms;
      const held = { ...clock, version, goalMs, target, holder: 'dead', heldUntil };
      assert.ok((await store.commit([{ type: 'test_clock_changed', clock: held }])).done);
      return heldUntil;
    };
    await heldFor(60_000, clock.version + 1);
    assert.equal((await clockAt(first.url)).status, 'advancing');
    const heldUntil = await heldFor(700, clock.version + 2);
    assert.equal((await arrived(first.url)).advancedSeconds, goalMs / 1000);
    // Either of them may have gone on.
    assert.ok(instances.some(({ service }) => service.deps.realNow() >= heldUntil));
  });

  test('the workers of the one rest while the other moves time', async () => {
    const [first, second] = instances;
    const held: ServerResponse[] = [];
    const slow = await createSession(first);
    await attempt(first, slow, 'card', 'abandoned');
    await until(() => merchant.typesOf(slow).length > 0);
    answer = (response) => void held.push(response);
    // Its payment.failed is not answered: time stands there.
    await ask(first.url, HOUR);
    await until(() => held.length > 0);
    await until(() => second.service.deps.testClock!.known().target !== null);
    answer = (response) => response.end('ok');
    const id = await createSession(second);
    await attempt(second, id, 'card', 'paid');
    // A commit wakes whoever works, at once.
    await sleep(200);
    assert.deepEqual((await stateOf(second, id)).messages, []);
    held[0]!.end('ok');
    await arrived(second.url);
    assert.equal((await stateOf(second, id)).session, 'paid');
    assert.deepEqual(merchant.typesOf(slow), ['payment.provider_pending', 'payment.failed']);

    const next = await createSession(second);
    await attempt(second, next, 'card', 'paid');
    await until(() => merchant.typesOf(next).includes('payment.paid'));
  });

  test('after all that, every promise of the database holds', async () => {
    assert.deepEqual(await brokenInvariants(settingsOf(instances[0].databaseUrl)), []);
  });
});
