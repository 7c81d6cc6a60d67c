// @run needs=process
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, test } from 'node:test';
import { instrumentById } from '../../src/simulator/test-instruments.ts';
import { aCustomer, aSession } from '../fixtures/checkout-records.ts';
import { write } from '../fixtures/store-records.ts';
import { startServiceProgram } from '../process/program.ts';
import { createSession, fieldsOf, submit } from '../simulator/buyer.ts';
import { createTestDatabase, openTestStore } from '../support/database.ts';
import { call, sessionBody, startTestService } from '../support/service.ts';
import { advance, advanceEnd, beginAdvance, clockAt, startReceiver } from './stage.ts';
import { until } from '../support/until.ts';
import { brokenInvariants } from '../support/sound.ts';

const HOUR = 3600;

const startOn = (databaseUrl: string, variables: Record<string, string>) =>
  startTestService({ live: true, beside: { databaseUrl }, variables });

describe('a test clock', { concurrency: 2 }, () => {
  test('keeps its time after a restart; the database can no longer be opened without TEST_CLOCK', async () => {
    await using database = await createTestDatabase('sqlite');
    let earlier = '';
    let id = '';
    {
      await using on = await startOn(database.url, { TEST_CLOCK: 'true' });
      id = await createSession(on);
      earlier = (await advance(on.url, 5 * HOUR)).now;
    }
    await assert.rejects(startOn(database.url, {}), /moved forward by 18000 seconds.*set TEST_CLOCK=true/);
    await using on = await startOn(database.url, { TEST_CLOCK: 'true' });
    const clock = await clockAt(on.url);
    assert.deepEqual([clock.status, clock.advancedSeconds], ['ready', 5 * HOUR]);
    assert.ok(clock.now > earlier);
    assert.ok((await createSession(on)) > id);
  });

  test('completes an advance after the process was killed, without losing an event', async () => {
    await using database = await createTestDatabase('sqlite');
    await using merchant = await startReceiver();
    const openResponses: ServerResponse[] = [];
    merchant.respond((response) => void openResponses.push(response));
    const variables = { ...merchant.variables, DATABASE_URL: database.url };
    const sessions = (url: string) => `${url}/api/gateway/sessions`;
    let id = '';
    {
      await using killed = await startServiceProgram(variables);
      id = (await call<{ id: string }>('POST', sessions(killed.url), sessionBody())).body.id;
      const checkout = `${killed.url}/checkout/${id}`;
      await submit(`${checkout}/pay`, { kind: 'card', total_card: '999999' });
      const page = await (await fetch(`${checkout}/continue`)).text();
      const [provider = ''] = /http[^"]*\/simulator\/pay\/[^"]*/.exec(page) ?? [];
      await submit(provider, fieldsOf('card', instrumentById('abandoned')!));
      await until(() => openResponses.length > 0);
      await beginAdvance(killed.url, 26 * HOUR);
      killed.signal('SIGKILL');
      await killed.exited;
    }
    merchant.respond();
    await using on = await startServiceProgram(variables);
    assert.equal((await advanceEnd(on.url)).advancedSeconds, 26 * HOUR);
    const { body } = await call<{ status: string }>('GET', `${sessions(on.url)}/${id}`);
    assert.equal(body.status, 'failed');
    // The service repeats the webhook attempt that the kill interrupted.
    const pending = 'payment.provider_pending';
    assert.deepEqual(merchant.typesOf(id), [pending, pending, 'payment.failed']);
    assert.deepEqual(await brokenInvariants(database.settings), []);
  });

  test('cannot be opened on a database with production sessions', async () => {
    await using database = await createTestDatabase('sqlite');
    const store = await openTestStore(database.settings);
    await write(
      store,
      { type: 'customer_created', customer: aCustomer({ environment: 'production' }) },
      { type: 'session_created', session: aSession({ environment: 'production' }) },
    );
    await store.close();
    await assert.rejects(startOn(database.url, { TEST_CLOCK: 'true' }), /TEST_CLOCK=true is for sandboxes/);
  });
});
