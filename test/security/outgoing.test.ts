import assert from 'node:assert/strict';
import { promises as dns } from 'node:dns';
import { type AddressInfo, createServer } from 'node:net';
import { after, before, describe, it } from 'node:test';
import type { WebhookTestResource } from '../../src/contract/webhook-endpoint-contract.ts';
import { BLOCKED, INNER_HOSTS } from '../fixtures/addresses.ts';
import { gatewayOf } from '../support/gateway.ts';
import { type TestService, call, startTestService } from '../support/service.ts';
import { receiver } from '../webhooks/fixtures.ts';

// Registers the addresses of test/webhooks/address.test.ts through the API while a canary server listens.

const { 'is not an IP address': NOT_ADDRESSES, ...SPECIAL } = BLOCKED;
const HOSTS = new Set([
  ...INNER_HOSTS,
  'any.localhost',
  ...Object.values(SPECIAL)
    .flat()
    .map((address) => (address.includes(':') ? `[${address}]` : address)),
  ...NOT_ADDRESSES!.filter((host) => /^[\w.]+$/.test(host)),
]);

let connections = 0;
let expected = 0;
const canary = createServer((socket) => {
  connections += 1;
  socket.destroy();
});
let port: number;

before(async () => {
  await new Promise<void>((resolve) => canary.listen(0, resolve));
  port = (canary.address() as AddressInfo).port;
});
after(() => canary.close());

/** Asserts the number of connections to the canary since the last call. */
function assertConnected(times: number): void {
  expected += times;
  assert.equal(connections, expected);
}

/** Starts a service with an encryption key for endpoint secrets. Only a service on SQLite generates its own key. */
function startTillway(allowPrivate?: 'true' | 'false'): Promise<TestService> {
  const ENCRYPTION_KEY = Buffer.alloc(32, 7).toString('base64');
  return startTestService({
    variables: { ENCRYPTION_KEY, ...(allowPrivate && { WEBHOOK_ALLOW_PRIVATE: allowPrivate }) },
  });
}

/** Registers a webhook endpoint and sends a test event to it; null if the endpoint was rejected. */
async function probe(tillway: TestService, url: string, environment = 'sandbox'): Promise<WebhookTestResource | null> {
  const api = gatewayOf(tillway);
  const created = await call<{ id: string }>('POST', api.url('webhook-endpoints'), { url, environment });
  if (created.status !== 200) {
    assert.equal(created.status, 400, url);
    return null;
  }
  const tested = await api.post<WebhookTestResource>(`webhook-endpoints/${created.body.id}/test`);
  await api.delete(`webhook-endpoints/${created.body.id}`);
  return tested;
}

describe('a webhook endpoint', () => {
  it('a webhook endpoint at an address of this machine or its network is rejected or gets no connection', async () => {
    await using tillway = await startTillway('false');
    let rejected = 0;
    for (const host of HOSTS) {
      const tested = await probe(tillway, `http://${host}:${port}/hook`);
      if (tested === null) rejected += 1;
      else assert.deepEqual([tested.delivered, tested.statusCode], [false, null], host);
    }
    assert.ok(rejected > 60 && HOSTS.size > 90, `${rejected} of ${HOSTS.size}`);
    assertConnected(0);
  });

  it('a webhook endpoint whose host name later resolves to a blocked address gets no further connection', async (context) => {
    await using tillway = await startTillway();
    let addresses: string[] = [];
    const of = (isV6: boolean) => Promise.resolve(addresses.filter((address) => address.includes(':') === isV6));
    context.mock.method(dns.Resolver.prototype, 'resolve4', () => of(false));
    context.mock.method(dns.Resolver.prototype, 'resolve6', () => of(true));
    const failureAt = async (environment: string, ...found: string[]) => {
      addresses = found;
      const scheme = environment === 'production' ? 'https' : 'http';
      return (await probe(tillway, `${scheme}://rebind.example:${port}/hook`, environment))!.failure!;
    };
    // By default sandbox endpoints may be on loopback, so the host name is allowed at first.
    assert.doesNotMatch(await failureAt('sandbox', '127.0.0.1'), /blocked/);
    assertConnected(1);
    for (const address of ['169.254.169.254', '10.0.0.1', 'fd00:ec2::254']) {
      assert.match(
        await failureAt('sandbox', address),
        /^blocked destination: \S+ is (?:link-local|unique-local|private)$/,
        address,
      );
    }
    for (const found of [['127.0.0.1'], ['::1'], ['127.0.0.1', '::ffff:127.0.0.1']])
      assert.match(await failureAt('production', ...found), /^blocked destination: \S+ is loopback$/, found.join());
    assertConnected(0);
  });

  it('a production webhook endpoint cannot be on loopback, even if a sandbox endpoint can', async () => {
    await using tillway = await startTillway();
    for (const host of ['127.0.0.1', '[::1]', 'localhost']) {
      const url = `://${host}:${port}/hook`;
      assert.equal(await probe(tillway, `http${url}`, 'production'), null, host);
      const tested = await probe(tillway, `https${url}`, 'production');
      if (host === 'localhost') assert.match(tested!.failure!, /^blocked destination: .* is loopback$/);
      else assert.equal(tested, null, host);
    }
    assertConnected(0);
    assert.equal((await probe(tillway, `http://127.0.0.1:${port}/hook`))!.delivered, false);
    assertConnected(1);
    await using open = await startTillway('true');
    await probe(open, `http://127.0.0.1:${port}/hook`, 'production');
    assertConnected(1);
  });

  it('a delivery that is answered with a redirect fails, and the redirect target gets no request', async (context) => {
    await using tillway = await startTillway();
    for (const status of [301, 302, 303, 307, 308]) {
      const { url } = await receiver(context, (_, __, response) => {
        response.writeHead(status, { location: `http://127.0.0.1:${port}/` }).end();
      });
      const tested = await probe(tillway, url);
      assert.deepEqual([tested?.delivered, tested?.statusCode], [false, status]);
      assert.match(tested!.failure!, /redirects are not followed/);
    }
    assertConnected(0);
  });
});
