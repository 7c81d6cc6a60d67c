// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Tillway } from '../../sdk/src/index.ts';
import { providerSays } from '../support/money-arrives.ts';
import { type TestService, call, sessionBody, startTestService } from '../support/service.ts';
import { runIn } from '../cli/terminal.ts';
import { type Refusal } from '../support/refusal.ts';

interface EventAnswer {
  id: string;
  type: string;
}
interface List {
  object: string;
  data: EventAnswer[];
  hasMore: boolean;
}

describe('the feed of the API', () => {
  let tillway: TestService;
  let api: string;
  const sold: string[] = [];

  async function sell(...statuses: ('provider_pending' | 'paid')[]): Promise<string> {
    const { body } = await call<{ id: string }>('POST', `${tillway.url}/api/gateway/sessions`, sessionBody());
    for (const status of statuses) {
      await providerSays(tillway, body.id, status);
      sold.push(`evt_${body.id}_${status}`);
    }
    return body.id;
  }

  async function feed(query: string): Promise<List> {
    const { status, body } = await call<List>('GET', `${api}?${query}`);
    assert.equal(status, 200, JSON.stringify(body));
    return body;
  }

  before(async () => {
    tillway = await startTestService();
    api = `${tillway.url}/api/gateway/events`;
  });
  after(() => tillway[Symbol.asyncDispose]());

  it('is empty before anything happened', async () => {
    assert.deepEqual(await feed('after='), { object: 'list', data: [], hasMore: false });
    assert.equal((await runIn(tillway, 'events', 'feed')).stdout, 'None.\n');
  });

  it('goes from the oldest to the newest, page by page, and on from where it was', async () => {
    for (let count = 0; count < 3; count++) {
      await sell('provider_pending', 'paid');
      tillway.clock.advance(1);
    }
    const first = await feed('after=&limit=4');
    assert.deepEqual([first.data.map(({ id }) => id), first.hasMore], [sold.slice(0, 4), true]);
    const rest = await feed(`after=${sold[3]}`);
    assert.deepEqual([rest.data.map(({ id }) => id), rest.hasMore], [sold.slice(4), false]);
    assert.deepEqual(await feed(`after=${sold.at(-1)}`), { object: 'list', data: [], hasMore: false });
    await sell('provider_pending');
    assert.deepEqual(
      (await feed(`after=${sold.at(-2)}`)).data.map(({ id }) => id),
      sold.slice(-1),
    );
  });

  it('keeps every event byte for byte as it was sent', async () => {
    const text = await (await fetch(`${api}?after=&limit=1`)).text();
    const one = await (await fetch(`${api}/${sold[0]}`)).text();
    assert.equal(text, `{"object":"list","data":[${one}],"hasMore":true}`);
  });

  it('is filtered by type and environment, with the same places', async () => {
    const paid = await feed('after=&type=payment.paid');
    assert.deepEqual(
      paid.data.map(({ id }) => id),
      sold.filter((id) => id.endsWith('_paid')),
    );
    assert.equal((await feed('after=&environment=sandbox')).data.length, sold.length);
    assert.deepEqual((await feed('after=&environment=production')).data, []);
    assert.deepEqual((await feed('after=&type=unheard.of')).data, []);
  });

  it('refuses what it cannot be combined with, and an event that does not exist, in words', async () => {
    for (const [query, field] of [
      [`after=&startingAfter=${sold[0]}`, 'startingAfter'],
      [`after=&endingBefore=${sold[0]}`, 'endingBefore'],
      [`after=${sold[0]}&sessionId=chk_${'0'.repeat(36)}`, 'sessionId'],
      ['after=yesterday', 'after'],
      [`after=evt_chk_${'0'.repeat(36)}_paid`, 'after'],
    ] as const) {
      const { status, body } = await call<Refusal>('GET', `${api}?${query}`);
      assert.deepEqual([status, body.error.code, body.error.field], [400, 'invalid_input', field], query);
      assert.ok(body.error.suggestion);
    }
    const { body } = await call<Refusal>('GET', `${api}?after=evt_chk_${'0'.repeat(36)}_paid`);
    assert.match(body.error.message, /no event evt_chk_0+_paid exists here/);
  });

  it('is read by the SDK to its end, with a cursor to begin with the next time', async () => {
    const client = new Tillway({ baseUrl: tillway.url, maxRetries: 0 });
    const all: string[] = [];
    const reading = client.events.feed({ limit: 2 });
    for await (const { id } of reading) {
      all.push(id);
      if (all.length === 3) break;
    }
    assert.deepEqual([all, reading.cursor], [sold.slice(0, 3), sold[2]]);
    const going = client.events.feed({ after: reading.cursor, limit: 2 });
    for await (const { id } of going) all.push(id);
    assert.deepEqual([all, going.cursor], [sold, sold.at(-1)]);
    assert.equal((await client.events.feed({ after: sold[0], limit: 1 })).data[0]!.id, sold[1]);
    const nothing = client.events.feed({ after: sold.at(-1) });
    for await (const event of nothing) assert.fail(event.id);
    assert.equal(nothing.cursor, sold.at(-1));
  });

  it('is printed by the command line, and says where to go on', async () => {
    const { stdout } = await runIn(tillway, 'events', 'feed', '--after', sold[1]!, '--limit', '2');
    assert.match(stdout, new RegExp(`${sold[2]}[^]*${sold[3]}[^]*go on: --after ${sold[3]}\n$`));
    assert.doesNotMatch(stdout, new RegExp(sold[4]!));
    const json = await runIn(tillway, 'events', 'feed', '--after', sold[4]!, '--json');
    const lines = json.stdout.trimEnd().split('\n');
    assert.deepEqual(
      lines.map((line) => (JSON.parse(line) as EventAnswer).id),
      sold.slice(5),
    );
  });
});
