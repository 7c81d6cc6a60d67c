import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Fetch, Tillway } from '../../sdk/src/index.ts';
import { scriptedFetch } from './recorder.ts';

const ALL = ['cus_7', 'cus_6', 'cus_5', 'cus_4', 'cus_3', 'cus_2', 'cus_1'];

/** A service with seven customers, newest first, and the queries of its requests. */
function sevenCustomers(): { tillway: Tillway; asked: string[] } {
  const asked: string[] = [];
  const fetch: Fetch = (url) => {
    const { search, searchParams } = new URL(url);
    asked.push(search);
    const limit = Number(searchParams.get('limit') ?? 20);
    const after = searchParams.get('startingAfter');
    const before = searchParams.get('endingBefore');
    const rest = before ? ALL.slice(0, ALL.indexOf(before)) : ALL.slice(after === null ? 0 : ALL.indexOf(after) + 1);
    const data = (before ? rest.slice(-limit) : rest.slice(0, limit)).map((id) => ({ id }));
    return Promise.resolve(Response.json({ object: 'list', data, hasMore: rest.length > data.length }));
  };
  return { tillway: new Tillway({ fetch }), asked };
}

async function idsOf(list: AsyncIterable<{ id: string }>): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id } of list) ids.push(id);
  return ids;
}

describe('a list', () => {
  test('is one page if it is awaited', async () => {
    const { tillway, asked } = sevenCustomers();
    const page = await tillway.customers.list({ limit: 3 });
    const data = [{ id: 'cus_7' }, { id: 'cus_6' }, { id: 'cus_5' }];
    assert.deepEqual(page, { object: 'list', data, hasMore: true });
    assert.deepEqual(asked, ['?limit=3']);
  });

  test('is every record, newest first, if it is iterated', async () => {
    const { tillway, asked } = sevenCustomers();
    assert.deepEqual(await idsOf(tillway.customers.list({ limit: 3 })), ALL);
    assert.deepEqual(asked, ['?limit=3', '?limit=3&startingAfter=cus_5', '?limit=3&startingAfter=cus_2']);
  });

  test('continues after startingAfter, also at the end', async () => {
    const { tillway } = sevenCustomers();
    assert.deepEqual(await idsOf(tillway.customers.list({ limit: 2, startingAfter: 'cus_4' })), ALL.slice(4));
    assert.deepEqual(await idsOf(tillway.customers.list({ startingAfter: 'cus_1' })), []);
  });

  test('goes from endingBefore to the newest, in the order of time', async () => {
    const { tillway, asked } = sevenCustomers();
    const list = tillway.customers.list({ limit: 2, endingBefore: 'cus_2' });
    assert.deepEqual(await idsOf(list), ['cus_3', 'cus_4', 'cus_5', 'cus_6', 'cus_7']);
    assert.deepEqual(
      asked,
      ['cus_2', 'cus_4', 'cus_6'].map((id) => `?limit=2&endingBefore=${id}`),
    );
    const page = await tillway.customers.list({ limit: 2, endingBefore: 'cus_2' });
    assert.deepEqual(page.data, [{ id: 'cus_4' }, { id: 'cus_3' }]);
  });

  test('fetches nothing before it is read, or after a break', async () => {
    const { tillway, asked } = sevenCustomers();
    const list = tillway.customers.list({ limit: 3 });
    assert.deepEqual(asked, []);
    for await (const { id } of list) if (id === 'cus_4') break;
    assert.equal(asked.length, 2);
  });

  test('fetches its first page once', async () => {
    const { tillway, asked } = sevenCustomers();
    const list = tillway.customers.list({ limit: 4 });
    await list;
    const { data, response } = await list.withResponse();
    assert.deepEqual([data.data.length, response.attempts], [4, 1]);
    assert.deepEqual(await idsOf(list), ALL);
    assert.equal(asked.length, 2);
  });

  test('can be read page by page, or into an array', async () => {
    const { tillway, asked } = sevenCustomers();
    const sizes: number[] = [];
    for await (const { data } of tillway.customers.list({ limit: 5 }).pages()) sizes.push(data.length);
    assert.deepEqual(sizes, [5, 2]);
    assert.equal((await tillway.customers.list({ limit: 5 }).toArray()).length, 7);
    asked.length = 0;
    assert.deepEqual(await tillway.customers.list({ limit: 2 }).toArray({ max: 2 }), [
      { id: 'cus_7' },
      { id: 'cus_6' },
    ]);
    assert.deepEqual(await tillway.customers.list().toArray({ max: 0 }), []);
    assert.deepEqual(asked, ['?limit=2']);
  });

  test('rejects with the error of a page', async () => {
    const { fetch } = scriptedFetch({ status: 400, body: { ok: false, error: { code: 'x', message: 'y' } } });
    await assert.rejects(idsOf(new Tillway({ fetch }).customers.list()), { code: 'x' });
  });
});

test('the feed asks again from the same position after an empty page that promises more', async () => {
  const page = (data: object[], hasMore: boolean) => ({ body: { object: 'list', data, hasMore } });
  const { fetch, sent } = scriptedFetch(page([{ id: 'evt_1' }], true), page([], true), page([{ id: 'evt_2' }], false));
  const feed = new Tillway({ fetch }).events.feed({ type: 'payment.paid' });
  assert.deepEqual(await idsOf(feed), ['evt_1', 'evt_2']);
  assert.equal(feed.cursor, 'evt_2');
  assert.deepEqual(
    sent.map(({ target }) => new URLSearchParams(target.split('?')[1]).get('after')),
    ['', 'evt_1', 'evt_1'],
  );
});
