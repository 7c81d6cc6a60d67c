// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PaymentEvent } from '../../src/contract/event-contract.ts';
import { gatewayOf } from '../support/gateway.ts';
import { type List, merchantOf } from '../support/merchant.ts';
import { runIn } from '../cli/terminal.ts';
import { suiteService } from '../support/suite.ts';

describe('the event feed (GET events?after=)', () => {
  const tillway = suiteService();
  const api = gatewayOf(tillway);
  const eventIds: string[] = [];

  async function sell(...statuses: ('provider_pending' | 'paid')[]): Promise<void> {
    const id = await merchantOf(tillway).sell(statuses);
    eventIds.push(...statuses.map((status) => `evt_${id}_${status}`));
  }

  const feed = (query: string) => api.get<List<PaymentEvent>>(`events?${query}`);
  /** The event ids on a page, and whether more pages follow. */
  const page = async (query: string) => {
    const { data, hasMore } = await feed(query);
    return [data.map(({ id }) => id), hasMore];
  };

  it('the event feed is empty without events', async () => {
    assert.deepEqual(await feed('after='), { object: 'list', data: [], hasMore: false });
    assert.equal((await runIn(tillway, 'events', 'feed')).stdout, 'None.\n');
  });

  it('the event feed lists events from the oldest to the newest, page by page, starting after a given event', async () => {
    for (let count = 0; count < 3; count++) {
      await sell('provider_pending', 'paid');
      tillway.clock.advance(1);
    }
    assert.deepEqual(await page('after=&limit=4'), [eventIds.slice(0, 4), true]);
    assert.deepEqual(await page(`after=${eventIds[3]}`), [eventIds.slice(4), false]);
    assert.deepEqual(await page(`after=${eventIds.at(-1)}`), [[], false]);
    await sell('provider_pending');
    assert.deepEqual(await page(`after=${eventIds.at(-2)}`), [eventIds.slice(-1), false]);
  });

  it('the event feed contains every event with the same bytes as GET events/{id}', async () => {
    const text = await (await fetch(api.url('events?after=&limit=1'))).text();
    const one = await (await fetch(api.url(`events/${eventIds[0]}`))).text();
    assert.equal(text, `{"object":"list","data":[${one}],"hasMore":true}`);
  });

  it('the event feed is filtered by type and environment', async () => {
    const paid = eventIds.filter((id) => id.endsWith('_paid'));
    assert.deepEqual(await page('after=&type=payment.paid'), [paid, false]);
    assert.deepEqual(await page('after=&environment=sandbox'), [eventIds, false]);
    for (const query of ['environment=production', 'type=unheard.of'])
      assert.deepEqual(await page(`after=&${query}`), [[], false]);
  });

  it('the event feed rejects the cursors of other lists and the id of an event that does not exist', async () => {
    for (const [query, field] of [
      [`after=&startingAfter=${eventIds[0]}`, 'startingAfter'],
      [`after=&endingBefore=${eventIds[0]}`, 'endingBefore'],
      [`after=${eventIds[0]}&sessionId=chk_${'0'.repeat(36)}`, 'sessionId'],
      ['after=yesterday', 'after'],
      [`after=evt_chk_${'0'.repeat(36)}_paid`, 'after'],
    ] as const) {
      const error = await api.refused('400 invalid_input', `GET events?${query}`);
      assert.equal(error.field, field, query);
      assert.ok(error.suggestion);
      if (query.endsWith('0_paid')) assert.match(error.message, /no event evt_chk_0+_paid exists here/);
    }
  });

  it('the event feed is printed by the command line, with the cursor for the next page', async () => {
    const { stdout } = await runIn(tillway, 'events', 'feed', '--after', eventIds[1]!, '--limit', '2');
    assert.match(stdout, new RegExp(`${eventIds[2]}[^]*${eventIds[3]}[^]*continue: --after ${eventIds[3]}\n$`));
    assert.doesNotMatch(stdout, new RegExp(eventIds[4]!));
    const json = await runIn(tillway, 'events', 'feed', '--after', eventIds[4]!, '--json');
    const lines = json.stdout.trimEnd().split('\n');
    assert.deepEqual(
      lines.map((line) => (JSON.parse(line) as PaymentEvent).id),
      eventIds.slice(5),
    );
  });
});
