// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { queueHints } from '../../src/operations/provider-hints.ts';
import type { HintAnswer, Provider } from '../../src/providers/provider.ts';
import { createSession, replaceProvider, startAt } from '../simulator/buyer.ts';
import { call, type TestService, startTestService } from '../support/service.ts';

const SECOND = 1000;
const HOUR = 3600 * SECOND;
const SENDER = { provider: 'sandbox', environment: 'sandbox' } as const;
const NOTHING: HintAnswer = { signals: [], next: null };

/** A service whose provider answers hints with `query`, and a list of its queries: object id, and seconds since the test began. */
async function asking(query: (id: string) => Promise<HintAnswer>) {
  const on = await startTestService({ providers: [hinting()], variables: { SIMULATOR: 'true' } });
  const started = on.clock.now();
  const asked: [id: string, seconds: number][] = [];
  replaceProvider(on, {
    async query({ id }) {
      asked.push([id, (on.clock.now() - started) / SECOND]);
      return query(id);
    },
  });
  return { on, asked };
}

/** A provider instance with `query`, which makes the service run its hint worker. The tests replace the simulated provider. */
function hinting() {
  const create = async () =>
    ({
      id: 'hinting',
      environment: 'sandbox',
      query: async () => NOTHING,
      check: async () => ({ ready: true, findings: [] }),
    }) as unknown as Provider;
  return { id: 'hinting', adapter: 'test', environment: 'sandbox', routes: [], create } as const;
}

const send = (on: TestService, eventId: string, id: string) =>
  queueHints(on.service.deps, SENDER, [{ eventId, about: 'payment', id }]);

/** Moves the clock to the due time of the next hint and runs due work; returns false if no hint is due any more. */
async function passToNext({ service, clock, pass }: TestService): Promise<boolean> {
  const [next] = await service.deps.store.hintsDue(Number.MAX_SAFE_INTEGER, 1);
  if (next) await pass(Math.max(0, next.dueAt - clock.now()));
  return next !== undefined;
}

test('the service queries a failing hint at once, then after 5, 10, 20 and 30 s, less often after an hour, and gives up after 3 days', async () => {
  const { on, asked } = await asking(async () => Promise.reject(new Error('the provider is down')));
  await using _ = on;
  await send(on, 'ev_1', 'object_1');
  const delays = () => asked.slice(1).map(([, seconds], index) => seconds - asked[index]![1]);
  while (asked.length < 6) await passToNext(on);
  assert.equal(asked[0]![1], 0);
  assert.deepEqual(delays(), [5, 10, 20, 30, 30]);
  await on.pass(12 * HOUR);
  await passToNext(on);
  assert.equal(delays().at(-1), 320);
  await on.pass(72 * HOUR);
  assert.equal(await passToNext(on), false);
  const abandoned = on.logged
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ level }) => level === 50);
  assert.deepEqual(
    abandoned.map(({ objectId, about, eventId }) => [objectId, about, eventId]),
    [['object_1', 'payment', 'ev_1']],
  );
});

test('several hints about one object cause one query, and a hint about another object causes its own query', async () => {
  const { on, asked } = await asking(async () => NOTHING);
  await using _ = on;
  for (const event of ['ev_1', 'ev_2', 'ev_3']) await send(on, event, 'object_1');
  await send(on, 'ev_4', 'object_2');
  await on.pass(0);
  assert.deepEqual(asked.map(([id]) => id).toSorted(), ['object_1', 'object_2']);
  await send(on, 'ev_1', 'object_1');
  await on.pass(0);
  assert.equal(asked.length, 2, 'a repeated event id caused a query');
  await send(on, 'ev_5', 'object_1');
  await on.pass(0);
  assert.equal(asked.length, 3, 'a hint that arrived after the answer caused no query');
});

test('after an incomplete answer the service repeats the query 1 h and 24 h after the hint', async () => {
  const { on, asked } = await asking(async () => ({ ...NOTHING, isIncomplete: true }));
  await using _ = on;
  await send(on, 'ev_1', 'object_1');
  while (await passToNext(on));
  assert.deepEqual(
    asked.map(([, seconds]) => seconds),
    [0, 3600, 24 * 3600],
  );
});

test('an answer of several pages is read page by page, and from the first page again if a page fails', async () => {
  const pages: (string | null)[] = [];
  const { on } = await asking(async () => NOTHING);
  await using _ = on;
  let failures = 1;
  replaceProvider(on, {
    async query(_hint, page) {
      pages.push(page);
      if (page === 'b' && failures-- > 0) throw new Error('the provider is down');
      return { signals: [], next: page === null ? 'a' : page === 'a' ? 'b' : null };
    },
  });
  await send(on, 'ev_1', 'payout_1');
  while (await passToNext(on));
  assert.deepEqual(pages, [null, 'a', 'b', null, 'a', 'b']);
});

test('when a buyer returns, the service asks the provider at most once per 5 s and redirects to the checkout page', async () => {
  const { on, asked } = await asking(async () => NOTHING);
  await using _ = on;
  replaceProvider(on, { returnHint: ({ id }) => ({ about: 'payment', id }) });
  const session = await createSession(on);
  await startAt(on, session, 'card');
  const back = async () => {
    const answer = await fetch(`${on.url}/checkout/${session}/back?paid=true`, { redirect: 'manual' });
    return [answer.status, new URL(answer.headers.get('location')!, on.url).pathname];
  };
  for (let each = 0; each < 3; each++) assert.deepEqual(await back(), [303, `/checkout/${session}`]);
  await on.pass(0);
  assert.equal(asked.length, 1);
  assert.equal(
    (await on.service.deps.store.checkout(session))!.session.status,
    'pending',
    'the query string marked the payment paid',
  );
  await on.pass(5 * SECOND);
  await back();
  await on.pass(0);
  assert.equal(asked.length, 2);
});

test('a callback with two hints stores both, and the service answers with the reply text of the adapter', async () => {
  await using on = await startTestService();
  const hints = [
    { eventId: 'ev_1', about: 'payment', id: 'object_1' } as const,
    { eventId: 'ev_2', about: 'payout', id: 'object_2' } as const,
  ];
  replaceProvider(on, { readCallback: async () => ({ signals: [], hints, reply: '[accepted]' }) });
  const answer = await fetch(`${on.url}/api/providers/sandbox/callbacks`, { method: 'POST', body: '{}' });
  assert.deepEqual([answer.status, await answer.text()], [200, '[accepted]']);
  const due = await on.service.deps.store.hintsDue(on.clock.now(), 10);
  assert.deepEqual(
    new Set(due.map(({ eventId, objectId }) => `${eventId} ${objectId}`)),
    new Set(['ev_1 object_1', 'ev_2 object_2']),
  );
});

test('a callback to a provider instance that does not exist gets 404', async () => {
  await using on = await startTestService();
  assert.equal((await call('POST', `${on.url}/api/providers/nobody/callbacks`, {})).status, 404);
});

test('hints with the same event id from two provider instances or two environments are stored separately', async () => {
  await using on = await startTestService();
  const hint = { eventId: 'ev_1', about: 'payment', id: 'object_1' } as const;
  const senders = ['alpha', 'beta'].flatMap((provider) =>
    (['sandbox', 'production'] as const).map((environment) => ({ provider, environment })),
  );
  for (const sender of [...senders, ...senders]) await queueHints(on.service.deps, sender, [hint]);
  assert.equal((await on.service.deps.store.hintsDue(on.clock.now(), 10)).length, 4);
});
