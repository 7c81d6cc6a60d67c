// @run on=sqlite,postgres
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { providerSays } from '../support/money-arrives.ts';
import { type TestService, call, sessionBody, startTestService } from '../support/service.ts';
import { SECRET, receiver } from '../webhooks/fixtures.ts';
import { runIn } from '../cli/terminal.ts';
import { type Refusal } from '../support/refusal.ts';

const MINUTE = 60_000;
// Longer than each delay of sandbox with its jitter, and shorter than the next one without.
const WAITS = [0, 7000, 90_000, 13 * MINUTE, 73 * MINUTE];

interface Recovery {
  id: string;
  status: string;
  endpointId: string;
  from: string;
  until: string;
  queued: number;
  pending: number;
  delivered: number;
}
interface Delivery {
  id: string;
  eventId: string;
  endpointId: string;
  type: string;
  status: string;
  created: string;
  lastAttempt: { at: string; durationMs: number; statusCode: number | null; failure: string | null } | null;
}

describe('after an outage of a receiver', () => {
  let tillway: TestService;
  let received: { body: string }[];
  let endpointId: string;
  let answer: number | undefined = 200;
  let beginning: string;
  const gateway = () => `${tillway.url}/api/gateway`;
  const stopped: (() => unknown)[] = [];

  before(async () => {
    const opened = await receiver(
      { after: (fn: () => unknown) => void stopped.push(fn) } as never,
      (_, __, response) => {
        if (answer === undefined) response.destroy();
        else response.writeHead(answer).end('from the shop');
      },
    );
    received = opened.received;
    tillway = await startTestService({ variables: { WEBHOOK_URL: opened.url, WEBHOOK_SECRET: SECRET } });
    beginning = new Date(tillway.clock.now()).toISOString();
  });
  after(async () => {
    await tillway[Symbol.asyncDispose]();
    for (const stop of stopped) await stop();
  });

  async function sell(...statuses: ('provider_pending' | 'paid')[]): Promise<string> {
    const { body } = await call<{ id: string }>('POST', `${gateway()}/sessions`, sessionBody());
    for (const status of statuses) await providerSays(tillway, body.id, status);
    tillway.clock.advance(1000);
    return body.id;
  }
  async function list(query: string): Promise<Delivery[]> {
    const { status, body } = await call<{ data: Delivery[] }>('GET', `${gateway()}/deliveries?${query}`);
    assert.equal(status, 200, JSON.stringify(body));
    return body.data;
  }
  const recover = (body: object, id = endpointId) =>
    call<Recovery & Refusal>('POST', `${gateway()}/webhook-endpoints/${id}/recover`, body);
  const idsReceived = () => received.map(({ body }) => (JSON.parse(body) as { id: string }).id);

  it('every delivery shows its last attempt, and is found by what came of it', async () => {
    const good = await sell('paid');
    await tillway.pass(0);
    answer = 503;
    const bad = await sell('provider_pending');
    await tillway.pass(0);
    answer = 404;
    const gone = await sell('provider_pending');
    await tillway.pass(0);
    answer = undefined;
    const cut = await sell('paid');
    await tillway.pass(0);
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
        [null, 'connection closed before an answer came'],
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
      ['status=delivered&statusClass=5xx', ''],
      ['status=delivered&statusClass=2xx', 'good'],
      [`endpointId=${endpointId}`, 'untried cut gone bad good'],
      [`endpointId=${endpointId}&environment=production`, ''],
      [`endpointId=${endpointId}&statusClass=4xx&type=payment.provider_pending`, 'gone'],
      [`endpointId=${endpointId}&statusClass=4xx&type=payment.paid`, ''],
      [`endpointId=whe_${'0'.repeat(36)}`, ''],
      ['type=payment.paid', 'untried cut good'],
      ['type=payment.paid&status=pending', 'untried cut'],
      ['type=unheard.of', ''],
      [`createdFrom=${at}`, 'untried cut gone bad'],
      [`createdUntil=${at}`, 'good'],
      [`createdFrom=${at}&createdUntil=${new Date(Date.parse(at!) + 1).toISOString()}`, 'bad'],
      [`createdFrom=${at}&type=payment.paid`, 'untried cut'],
      [`createdUntil=${at}&limit=1&endpointId=${endpointId}`, 'good'],
      [`sessionId=${bad}&statusClass=5xx&createdFrom=${at}&type=payment.provider_pending`, 'bad'],
      [`sessionId=${bad}&statusClass=none`, ''],
      [`sessionId=${untried}&statusClass=none`, ''],
      [`sessionId=${bad}&createdUntil=${at}`, ''],
      [`eventId=evt_${gone}_provider_pending&endpointId=${endpointId}`, 'gone'],
    ] as const) {
      assert.equal(named(await list(query)), expected, query);
    }
    const paged = await list(`createdFrom=${at}&limit=2&startingAfter=${all[1]!.id}`);
    assert.equal(named(paged), 'gone bad');
    assert.equal(named(await list(`createdFrom=${at}&limit=2&endingBefore=${all[3]!.id}`)), 'cut gone');
    assert.equal(named(await list(`createdFrom=${at}&endingBefore=${all[4]!.id}`)), 'untried cut gone bad');
    for (const query of ['statusClass=6xx', 'createdFrom=yesterday', 'endpointId=chk_x', 'createdUntil=2026-01-01']) {
      const { status, body } = await call<Refusal>('GET', `${gateway()}/deliveries?${query}`);
      assert.deepEqual([status, body.error.code], [400, 'invalid_input'], query);
    }
    const { stdout } = await runIn(
      tillway,
      ...`deliveries list --status-class 5xx --type payment.provider_pending`.split(' '),
      ...`--endpoint-id ${endpointId} --created-from ${at}`.split(' '),
    );
    assert.match(stdout, /answered 503/);
  });

  it('one call sends what it has missed, and asking twice sends nothing twice', async () => {
    for (const wait of WAITS) await tillway.pass(wait);
    const given = (await list('status=dead')).toReversed().map(({ eventId }) => eventId);
    assert.equal(given.length, 4);
    const before = received.length;
    answer = 200;
    const { status, body } = await recover({ from: beginning });
    assert.equal(status, 200);
    const { id, queued, pending, delivered, until } = body;
    assert.deepEqual(
      { status: body.status, queued, pending, delivered },
      { status: 'done', queued: 4, pending: 0, delivered: 1 },
    );
    assert.equal(until, new Date(tillway.clock.now()).toISOString());
    assert.deepEqual(
      [(await recover({ from: beginning })).body].map((one) => [one.queued, one.pending]),
      [[0, 4]],
    );
    await tillway.pass(0);
    // Payments time out meanwhile, which is told in its own time.
    assert.deepEqual(idsReceived().slice(before, before + 4), given);
    const known = await call<Recovery>('GET', `${gateway()}/recoveries/${id}`);
    assert.deepEqual(known.body, body);
    assert.deepEqual(await list('status=dead'), []);
  });

  it('all sends even what was acknowledged, up to a time', async () => {
    const before = received.length;
    const [third] = (await list('limit=100')).toReversed().slice(2);
    const { stdout } = await runIn(
      tillway,
      'endpoints',
      'recover',
      endpointId,
      '--from',
      beginning,
      '--until',
      third!.created,
      '--all',
    );
    assert.match(stdout, /^Status +done$[^]*^Queued +2$/m);
    await tillway.pass(0);
    assert.equal(received.length, before + 2);
  });

  it('what cannot be is refused in words', async () => {
    const now = new Date(tillway.clock.now()).toISOString();
    for (const [body, field] of [
      [{}, 'from'],
      [{ from: 'yesterday' }, 'from'],
      [{ from: now }, 'from'],
      [{ from: '2999-01-01T00:00:00Z' }, 'from'],
      [{ from: beginning, until: beginning }, 'from'],
      [{ from: beginning, all: 'yes' }, 'all'],
      [{ from: beginning, since: 1 }, 'since'],
    ] as const) {
      const { status, body: answered } = await recover(body);
      assert.deepEqual(
        [status, answered.error.code, answered.error.field],
        [400, 'invalid_input', field],
        JSON.stringify(body),
      );
    }
    assert.equal((await recover({ from: beginning }, `whe_${'0'.repeat(36)}`)).status, 404);
    assert.equal((await call('GET', `${gateway()}/recoveries/rcv_${'0'.repeat(36)}`)).status, 404);
    await tillway.service.deps.store.commit([
      {
        type: 'endpoint_saved',
        endpoint: { ...(await tillway.service.deps.store.endpoint(endpointId))!, status: 'disabled' },
      },
    ]);
    const { status, body } = await recover({ from: beginning });
    assert.deepEqual([status, body.error.code], [409, 'invalid_state']);
  });
});
