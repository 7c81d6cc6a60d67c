import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Fetch, Tillway } from '../../sdk/src/index.ts';
import { itemsOf, scriptedFetch } from './recorder.ts';

const ALL = ['cus_7', 'cus_6', 'cus_5', 'cus_4', 'cus_3', 'cus_2', 'cus_1'];

/** A client of a service with seven customers, and the query strings of its requests. */
function sevenCustomers(): { tillway: Tillway; requests: string[] } {
  const requests: string[] = [];
  const fetch: Fetch = (url) => {
    const { search, searchParams } = new URL(url);
    requests.push(search);
    const limit = Number(searchParams.get('limit') ?? 20);
    const after = searchParams.get('startingAfter');
    const before = searchParams.get('endingBefore');
    const rest = before ? ALL.slice(0, ALL.indexOf(before)) : ALL.slice(after === null ? 0 : ALL.indexOf(after) + 1);
    const data = (before ? rest.slice(-limit) : rest.slice(0, limit)).map((id) => ({ id }));
    return Promise.resolve(Response.json({ object: 'list', data, hasMore: rest.length > data.length }));
  };
  return { tillway: new Tillway({ fetch }), requests };
}

const idsOf = async (list: AsyncIterable<{ id: string }>) => (await itemsOf(list)).map(({ id }) => id);

describe('a list of the SDK', () => {
  test('a list of the SDK returns one page if it is awaited', async () => {
    const { tillway, requests } = sevenCustomers();
    assert.deepEqual(await tillway.customers.list({ limit: 2 }), {
      object: 'list',
      data: [{ id: 'cus_7' }, { id: 'cus_6' }],
      hasMore: true,
    });
    assert.deepEqual(requests, ['?limit=2']);
    const { data } = await tillway.customers.list({ limit: 2, endingBefore: 'cus_2' });
    assert.deepEqual(data, [{ id: 'cus_4' }, { id: 'cus_3' }]);
  });

  for (const [what, params, ids, queries] of [
    ['every record', { limit: 3 }, ALL, '?limit=3 ?limit=3&startingAfter=cus_5 ?limit=3&startingAfter=cus_2'],
    [
      'the records after startingAfter',
      { limit: 2, startingAfter: 'cus_4' },
      ALL.slice(4),
      '?limit=2&startingAfter=cus_4 ?limit=2&startingAfter=cus_2',
    ],
    ['no record after the last one', { startingAfter: 'cus_1' }, [], '?startingAfter=cus_1'],
    [
      'the records from endingBefore to the newest, oldest first',
      { limit: 2, endingBefore: 'cus_2' },
      ALL.slice(0, 5).toReversed(),
      '?limit=2&endingBefore=cus_2 ?limit=2&endingBefore=cus_4 ?limit=2&endingBefore=cus_6',
    ],
  ] as const) {
    test(`a list of the SDK iterates over ${what}`, async () => {
      const { tillway, requests } = sevenCustomers();
      assert.deepEqual(await idsOf(tillway.customers.list(params)), ids);
      assert.equal(requests.join(' '), queries);
    });
  }

  test('a list of the SDK requests its first page once', async () => {
    const { tillway, requests } = sevenCustomers();
    const list = tillway.customers.list({ limit: 4 });
    await list;
    const { data, response } = await list.withResponse();
    assert.deepEqual([data.data.length, response.attempts], [4, 1]);
    assert.deepEqual(await idsOf(list), ALL);
    assert.equal(requests.length, 2);
  });

  test('a list of the SDK can be read page by page, or into an array of limited length', async () => {
    const { tillway, requests } = sevenCustomers();
    const pages = await itemsOf(tillway.customers.list({ limit: 5 }).pages());
    assert.deepEqual(
      pages.map(({ data }) => data.length),
      [5, 2],
    );
    assert.equal((await tillway.customers.list({ limit: 5 }).toArray()).length, 7);
    requests.length = 0;
    const array = await tillway.customers.list({ limit: 2 }).toArray({ max: 2 });
    assert.deepEqual(array, [{ id: 'cus_7' }, { id: 'cus_6' }]);
    assert.deepEqual(await tillway.customers.list().toArray({ max: 0 }), []);
    assert.deepEqual(requests, ['?limit=2']);
  });
});

test('a list continues at the id at which a search ended, also after an empty page', async () => {
  const { fetch, sent } = scriptedFetch(
    { body: { object: 'list', data: [{ id: 'pay_9' }], hasMore: true, searchedTo: 'pay_5' } },
    { body: { object: 'list', data: [], hasMore: true, searchedTo: 'pay_2' } },
    { body: { object: 'list', data: [{ id: 'pay_1' }], hasMore: false } },
  );
  assert.deepEqual(await idsOf(new Tillway({ fetch }).payments.list({ amountFrom: 10 })), ['pay_9', 'pay_1']);
  assert.deepEqual(
    sent.map(({ target }) => new URLSearchParams(target.split('?')[1]).get('startingAfter')),
    [null, 'pay_5', 'pay_2'],
  );
});

test('the feed repeats its request with the same cursor after an empty page with hasMore', async () => {
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
