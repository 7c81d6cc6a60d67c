// @run on=sqlite,postgres needs=process
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, test } from 'node:test';
import type { Store } from '../../src/store/store.ts';
import { aCustomer, aSession } from '../fixtures/records.ts';
import { write } from '../fixtures/store.ts';
import { SERVICE, startProgram, startServiceProgram } from '../process/program.ts';
import { attempt, createSession } from '../simulator/buyer.ts';
import { type TestDatabase, createTestDatabase, openTestStore, settingsOf } from '../support/database.ts';
import { type TestService, call, sessionBody, startTestService } from '../support/service.ts';
import { advance, arrived, ask, clockAt, startReceiver } from './stage.ts';
import { until } from '../support/until.ts';
import { brokenInvariants } from '../support/sound.ts';

const HOUR = 3600;

/** A service over a database that is there already. */
function startOn(databaseUrl: string, variables: Record<string, string>): Promise<TestService> {
  return startTestService({ live: true, variables: { ...variables, DATABASE_URL: databaseUrl } });
}

async function withStore(databaseUrl: string, use: (store: Store) => Promise<void>): Promise<void> {
  const store = await openTestStore(settingsOf(databaseUrl));
  await use(store);
  await store.close();
}

async function created(url: string): Promise<string> {
  return (await call<{ id: string }>('POST', `${url}/api/gateway/sessions`, sessionBody())).body.id;
}

async function statusOfSession(url: string, id: string): Promise<string> {
  return (await call<{ status: string }>('GET', `${url}/api/gateway/sessions/${id}`)).body.status;
}

/** As a buyer's browser does. */
async function payByCard(url: string, id: string, number: string): Promise<void> {
  const checkout = `${url}/checkout/${id}`;
  const submit = (to: string, fields: Record<string, string>) =>
    fetch(to, { method: 'POST', redirect: 'manual', body: new URLSearchParams(fields) });
  await submit(`${checkout}/pay`, { kind: 'card', total_card: '999999' });
  const page = await (await fetch(`${checkout}/continue`)).text();
  const [provider = ''] = /http[^"]*\/simulator\/pay\/[^"]*/.exec(page) ?? [];
  const { status } = await submit(provider, { number, expiry: '12 / 34', cvc: '123', name: 'Test' });
  assert.equal(status, 303);
}

/** The one line with which a start is refused. */
async function refusal(variables: Record<string, string>): Promise<string> {
  await using program = startProgram(SERVICE, { PORT: '0', ...variables });
  assert.equal(await program.exited, 1, program.stdout());
  assert.equal(program.stderr().trimEnd().split('\n').length, 1, program.stderr());
  return program.stderr();
}

describe('a service whose time was moved', { concurrency: 2 }, () => {
  test('goes on from where it was after a stop, and is not started otherwise', async () => {
    await using database = await createTestDatabase();
    await using merchant = await startReceiver((response) => response.end('ok'));
    let earlier = '';
    let id = '';
    {
      await using on = await startOn(database.url, merchant.variables);
      id = await createSession(on);
      earlier = (await advance(on.url, 5 * HOUR)).now;
    }
    const line = await refusal({ DATABASE_URL: database.url });
    assert.match(line, /^Tillway cannot start: .*moved forward by 18000 seconds.*set TEST_CLOCK=true/);
    {
      await using on = await startOn(database.url, merchant.variables);
      const clock = await clockAt(on.url);
      assert.deepEqual([clock.status, clock.advancedSeconds], ['ready', 5 * HOUR]);
      assert.ok(clock.now > earlier);
      assert.ok((await createSession(on)) > id);
    }
  });

  test('one that was killed on the way goes on to where it was sent, and loses nothing', async () => {
    await using database = await createTestDatabase();
    const held: ServerResponse[] = [];
    let answer: (response: ServerResponse) => void = (response) => held.push(response);
    await using merchant = await startReceiver((response) => answer(response));
    const variables = { ...merchant.variables, DATABASE_URL: database.url };
    let expiring = '';
    let paying = '';
    let before = 0;
    {
      await using killed = await startServiceProgram(variables);
      expiring = await created(killed.url);
      paying = await created(killed.url);
      await payByCard(killed.url, paying, '4000000000000036');
      await until(() => held.length > 0);
      before = (await clockAt(killed.url)).advancedSeconds;
      await ask(killed.url, 26 * HOUR);
      killed.signal('SIGKILL');
      await killed.exited;
    }
    answer = (response) => response.end('ok');
    await using on = await startServiceProgram(variables);
    assert.equal((await arrived(on.url)).advancedSeconds, before + 26 * HOUR);
    const statuses = await Promise.all([expiring, paying].map((id) => statusOfSession(on.url, id)));
    assert.deepEqual(statuses, ['expired', 'failed']);
    // The first attempt was cut off, and is made again.
    assert.deepEqual(merchant.typesOf(paying), [
      'payment.provider_pending',
      'payment.provider_pending',
      'payment.failed',
    ]);
    assert.deepEqual(await brokenInvariants(database.settings), []);
  });

  test('an advance that a stop cut off is taken up by the next start', async () => {
    await using database = await createTestDatabase();
    const held: ServerResponse[] = [];
    let answer: (response: ServerResponse) => void = (response) => held.push(response);
    await using merchant = await startReceiver((response) => answer(response));
    {
      await using on = await startOn(database.url, merchant.variables);
      await attempt(on, await createSession(on), 'card', 'abandoned');
      await until(() => held.length > 0);
      await ask(on.url, HOUR);
      // It waits for this answer, and then for nothing more.
      setTimeout(() => held[0]!.end('ok'), 100);
    }
    answer = (response) => response.end('ok');
    await using on = await startOn(database.url, merchant.variables);
    assert.equal((await arrived(on.url)).advancedSeconds, HOUR);
  });
});

describe('a database with production sessions', { concurrency: 2 }, () => {
  const fill = (database: TestDatabase) =>
    withStore(database.url, async (store) => {
      await write(
        store,
        { type: 'customer_created', customer: aCustomer({ environment: 'production' }) },
        { type: 'session_created', session: aSession({ environment: 'production' }) },
      );
    });

  test('is not opened with a test clock', async () => {
    await using database = await createTestDatabase();
    await fill(database);
    const line = await refusal({ DATABASE_URL: database.url, TEST_CLOCK: 'true' });
    assert.match(line, /^Tillway cannot start: TEST_CLOCK=true is for sandboxes.*leave TEST_CLOCK out/);
  });

  test('is not moved where they came later, from a service without one', async () => {
    await using database = await createTestDatabase();
    await using on = await startOn(database.url, { TEST_CLOCK: 'true' });
    await fill(database);
    const refused = await call<{ error: { code: string; suggestion: string } }>(
      'POST',
      `${on.url}/api/gateway/test-clock/advance`,
      { seconds: 60 },
    );
    assert.deepEqual([refused.status, refused.body.error.code], [403, 'forbidden']);
    assert.match(refused.body.error.suggestion, /same TEST_CLOCK/);
  });

  test('is not made of one whose time was moved, by a service without a test clock that ran before', async () => {
    await using database = await createTestDatabase();
    await using on = await startOn(database.url, { TEST_CLOCK: 'true' });
    await using off = await startOn(database.url, {});
    const production = sessionBody({ environment: 'production' });
    const ask = (path: string) =>
      call<{ error: { code: string; field: string; message: string } }>('POST', `${off.url}/api/${path}`, production);
    // Time was not moved yet.
    assert.equal((await ask('agent/actions/checkout.preview')).status, 200);
    await advance(on.url, 60);
    for (const path of ['gateway/sessions', 'agent/actions/checkout.create', 'agent/actions/checkout.preview']) {
      const { body } = await ask(path);
      assert.deepEqual([body.error.code, body.error.field], ['forbidden', 'environment'], path);
      assert.match(body.error.message, /moved for tests/);
    }
    assert.equal((await call('POST', `${off.url}/api/gateway/sessions`, sessionBody())).status, 200);
    assert.deepEqual(await brokenInvariants(database.settings), []);
  });
});
