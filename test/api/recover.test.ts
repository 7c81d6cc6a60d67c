// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { type TestContext, after, before, describe, it } from 'node:test';
import type { Delivery, Recovery } from '../../sdk/src/index.ts';
import { runIn } from '../cli/terminal.ts';
import { type Gateway, gatewayOf } from '../support/gateway.ts';
import { type Merchant, merchantOf } from '../support/merchant.ts';
import { startTestService } from '../support/service.ts';
import { SECRET, receiver } from '../webhooks/fixtures.ts';

// test/instances/recover.test.ts tests the order of recovered events and recoveries on two instances.
describe('after an outage of a receiver', () => {
  let shop: Merchant;
  let api: Gateway;
  let endpointId: string;
  /** Status of the receiver's responses; if undefined, the receiver closes the connection. */
  let answer: number | undefined = 200;
  let beginning: string;
  const stopped: (() => unknown)[] = [];

  before(async () => {
    const context = { after: (stop: () => unknown) => void stopped.unshift(stop) } as unknown as TestContext;
    const { url, received } = await receiver(context, (_, __, response) => {
      if (answer === undefined) response.destroy();
      else response.writeHead(answer).end('from the shop');
    });
    const tillway = await startTestService({ variables: { WEBHOOK_URL: url, WEBHOOK_SECRET: SECRET } });
    context.after(() => tillway[Symbol.asyncDispose]());
    shop = merchantOf(tillway, received as Merchant['received']);
    api = gatewayOf(tillway);
    beginning = shop.now();
  });
  after(async () => {
    for (const stop of stopped) await stop();
  });

  const pass = (ms: number) => shop.tillway.pass(ms);
  async function sell(...statuses: ('provider_pending' | 'paid')[]): Promise<string> {
    const id = await shop.sell(statuses);
    shop.tillway.clock.advance(1000);
    return id;
  }
  const list = (query: string) => api.list<Delivery>(`deliveries?${query}`);
  const recover = (body: object) => api.post<Recovery>(`webhook-endpoints/${endpointId}/recover`, body);
  const refuse = (expected: string, body: object) =>
    api.refused(expected, `POST webhook-endpoints/${endpointId}/recover`, body);

  it('every delivery shows its last attempt, and deliveries can be filtered by its result', async () => {
    const good = await sell('paid');
    await pass(0);
    answer = 503;
    const bad = await sell('provider_pending');
    await pass(0);
    answer = 404;
    const gone = await sell('provider_pending');
    await pass(0);
    answer = undefined;
    const cut = await sell('paid');
    await pass(0);
    const untried = await sell('paid');

    const all = await list('limit=100');
    endpointId = all[0]!.endpointId;
    const sessions: Record<string, string> = { good, bad, gone, cut, untried };
    const named = (deliveries: Delivery[]) =>
      deliveries
        .map(({ eventId }) => Object.keys(sessions).find((name) => eventId.includes(sessions[name]!)))
        .join(' ');
    assert.equal(named(all), 'untried cut gone bad good');
    assert.equal(all[0]!.lastAttempt, null);
    assert.deepEqual(
      all.slice(1).map(({ lastAttempt }) => [lastAttempt!.statusCode, lastAttempt!.failure]),
      [
        [null, 'other side closed'],
        [404, 'answered 404'],
        [503, 'answered 503'],
        [200, null],
      ],
    );
    const [at] = all.filter(({ eventId }) => eventId.includes(bad)).map(({ created }) => created);
    for (const [query, expected] of [
      ['statusClass=2xx', 'good'],
      ['statusClass=3xx', ''],
      ['statusClass=4xx', 'gone'],
      ['statusClass=5xx', 'bad'],
      ['statusClass=none', 'cut'],
      ['status=pending&statusClass=5xx', 'bad'],
      ['status=delivered&statusClass=2xx', 'good'],
      [`endpointId=${endpointId}`, 'untried cut gone bad good'],
      [`endpointId=${endpointId}&environment=production`, ''],
      [`endpointId=${endpointId}&statusClass=4xx&type=payment.provider_pending`, 'gone'],
      [`endpointId=${endpointId}&statusClass=4xx&type=payment.paid`, ''],
      [`endpointId=whe_${'0'.repeat(36)}`, ''],
      ['type=payment.paid', 'untried cut good'],
      ['type=unheard.of', ''],
      [`createdFrom=${at}`, 'untried cut gone bad'],
      [`createdUntil=${at}`, 'good'],
      [`createdFrom=${at}&createdUntil=${new Date(Date.parse(at!) + 1).toISOString()}`, 'bad'],
      [`createdFrom=${at}&type=payment.paid`, 'untried cut'],
      [`sessionId=${bad}&statusClass=5xx&createdFrom=${at}&type=payment.provider_pending`, 'bad'],
      [`sessionId=${bad}&statusClass=none`, ''],
      [`sessionId=${bad}&createdUntil=${at}`, ''],
      [`eventId=evt_${gone}_provider_pending&endpointId=${endpointId}`, 'gone'],
    ] as const) {
      assert.equal(named(await list(query)), expected, query);
    }
    const paged = await list(`createdFrom=${at}&limit=2&startingAfter=${all[1]!.id}`);
    assert.equal(named(paged), 'gone bad');
    assert.equal(named(await list(`createdFrom=${at}&limit=2&endingBefore=${all[3]!.id}`)), 'cut gone');
    assert.equal(named(await list(`createdFrom=${at}&endingBefore=${all[4]!.id}`)), 'untried cut gone bad');
    for (const query of ['statusClass=6xx', 'createdFrom=yesterday', 'endpointId=chk_x', 'createdUntil=2026-01-01'])
      await api.refused('400 invalid_input', `GET deliveries?${query}`);
    const filters = `--status-class 5xx --type payment.provider_pending --endpoint-id ${endpointId} --created-from ${at}`;
    const { stdout } = await runIn(shop.tillway, 'deliveries', 'list', ...filters.split(' '));
    assert.match(stdout, /answered 503/);
  });

  it('a recovery queues each missed event once, also if the request is repeated', async () => {
    await shop.exhaust();
    const dead = (await list('status=dead')).toReversed().map(({ eventId }) => eventId);
    assert.equal(dead.length, 4);
    const before = shop.received.length;
    answer = 200;
    const recovery = await recover({ from: beginning });
    assert.partialDeepStrictEqual(recovery, {
      status: 'done',
      queued: 4,
      pending: 0,
      delivered: 1,
      until: shop.now(),
    });
    assert.partialDeepStrictEqual(await recover({ from: beginning }), { queued: 0, pending: 4 });
    await pass(0);
    // The receiver also got later requests, with the events of payments that had timed out.
    const sent = shop.received.slice(before, before + 4).map(({ body }) => (JSON.parse(body) as { id: string }).id);
    assert.deepEqual(sent, dead);
    assert.deepEqual(await api.get(`recoveries/${recovery.id}`), recovery);
    assert.deepEqual(await list('status=dead'), []);
  });

  it('a recovery with --all also sends acknowledged events, up to --until', async () => {
    const before = shop.received.length;
    const [third] = (await list('limit=100')).toReversed().slice(2);
    const args = `endpoints recover ${endpointId} --from ${beginning} --until ${third!.created} --all`;
    const { stdout } = await runIn(shop.tillway, ...args.split(' '));
    assert.match(stdout, /^Status +done$[^]*^Queued +2$/m);
    await pass(0);
    assert.equal(shop.received.length, before + 2);
  });

  it('a recovery is rejected with invalid times or fields, and for a disabled endpoint', async () => {
    for (const [body, field] of [
      [{}, 'from'],
      [{ from: 'yesterday' }, 'from'],
      [{ from: shop.now() }, 'from'],
      [{ from: '2999-01-01T00:00:00Z' }, 'from'],
      [{ from: beginning, until: beginning }, 'from'],
      [{ from: beginning, all: 'yes' }, 'all'],
      [{ from: beginning, since: 1 }, 'since'],
    ] as const)
      assert.equal((await refuse('400 invalid_input', body)).field, field, JSON.stringify(body));
    const { store } = shop.tillway.service.deps;
    const endpoint = (await store.endpoint(endpointId))!;
    await store.commit([{ type: 'endpoint_saved', endpoint: { ...endpoint, status: 'disabled' } }]);
    await refuse('409 invalid_state', { from: beginning });
  });
});
