import assert from 'node:assert/strict';
import { promises as dns } from 'node:dns';
import { type Server, createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { BLOCKED, INNER_HOSTS } from '../fixtures/addresses.ts';
import { type TestService, call, startTestService } from '../support/service.ts';

// The same addresses as in test/webhooks/address.test.ts; here they come in by the API, and a canary listens.

const { 'is not an IP address': NO_ADDRESS, ...SPECIAL } = BLOCKED;
const HOSTS = new Set([
  ...INNER_HOSTS,
  'any.localhost',
  ...Object.values(SPECIAL)
    .flat()
    .map((address) => (address.includes(':') ? `[${address}]` : address)),
  ...NO_ADDRESS!.filter((host) => /^[\w.]+$/.test(host)),
]);

let connections = 0;
const canary = createServer((socket) => {
  connections += 1;
  socket.destroy();
});
let port: number;

before(async () => {
  await new Promise<void>((resolve) => canary.listen(0, resolve));
  port = (canary.address() as { port: number }).port;
});
after(() => canary.close());

/** Secrets of endpoints need a key, which SQLite alone makes for itself. */
function startTillway(allowPrivate?: 'true' | 'false'): Promise<TestService> {
  const ENCRYPTION_KEY = Buffer.alloc(32, 7).toString('base64');
  return startTestService({
    variables: { ENCRYPTION_KEY, ...(allowPrivate && { WEBHOOK_ALLOW_PRIVATE: allowPrivate }) },
  });
}

interface Tested {
  delivered: boolean;
  failure: string;
  statusCode: number | null;
}

/** Registers a webhook endpoint and has a test event sent to it; null where it was refused at once. */
async function probe(tillway: TestService, url: string, environment = 'sandbox'): Promise<Tested | null> {
  const endpoints = `${tillway.url}/api/gateway/webhook-endpoints`;
  const made = await call<{ id: string }>('POST', endpoints, { url, environment });
  if (made.status !== 200) {
    assert.equal(made.status, 400, url);
    return null;
  }
  const { body } = await call<Tested>('POST', `${endpoints}/${made.body.id}/test`);
  await call('DELETE', `${endpoints}/${made.body.id}`);
  return body;
}

describe('a webhook endpoint', () => {
  it('at any address of this machine or its network is refused, or gets nothing: no connection is made', async () => {
    await using tillway = await startTillway('false');
    let refused = 0;
    for (const host of HOSTS) {
      const tested = await probe(tillway, `http://${host}:${port}/hook`);
      if (tested === null) refused += 1;
      else assert.deepEqual([tested.delivered, tested.statusCode], [false, null], host);
    }
    assert.ok(refused > 60 && HOSTS.size > 90, `${refused} of ${HOSTS.size}`);
    assert.equal(connections, 0);
  });

  it('whose name is rebound after it was allowed gets nothing more: each connection is checked', async (context) => {
    await using tillway = await startTillway();
    const before = connections;
    let addresses: string[] = [];
    const of = (isV6: boolean) => Promise.resolve(addresses.filter((address) => address.includes(':') === isV6));
    context.mock.method(dns.Resolver.prototype, 'resolve4', () => of(false));
    context.mock.method(dns.Resolver.prototype, 'resolve6', () => of(true));
    const ask = async (environment: string, ...found: string[]) => {
      addresses = found;
      const scheme = environment === 'production' ? 'https' : 'http';
      return (await probe(tillway, `${scheme}://rebind.example:${port}/hook`, environment))!.failure;
    };
    // Here test events may stay on this machine, so that the name can be allowed without leaving it.
    assert.doesNotMatch(await ask('sandbox', '127.0.0.1'), /blocked/);
    assert.equal(connections, before + 1);
    for (const address of ['169.254.169.254', '10.0.0.1', 'fd00:ec2::254']) {
      assert.match(await ask('sandbox', address), /^blocked destination: \S+ is (?:link-local|private)$/, address);
    }
    for (const found of [['127.0.0.1'], ['::1'], ['127.0.0.1', '::ffff:127.0.0.1']]) {
      assert.match(await ask('production', ...found), /^blocked destination: \S+ is loopback$/, found.join());
    }
    assert.equal(connections, before + 1);
    connections = before;
  });

  it('of production is not on this machine, not even where test events may stay on it', async () => {
    await using tillway = await startTillway();
    const before = connections;
    for (const host of ['127.0.0.1', '[::1]', 'localhost']) {
      const url = `://${host}:${port}/hook`;
      assert.equal(await probe(tillway, `http${url}`, 'production'), null, host);
      const tested = await probe(tillway, `https${url}`, 'production');
      if (host === 'localhost') assert.match(tested!.failure, /^blocked destination: .* is loopback$/);
      else assert.equal(tested, null, host);
    }
    assert.equal(connections, before);
    assert.equal((await probe(tillway, `http://127.0.0.1:${port}/hook`))!.delivered, false);
    assert.equal(connections, before + 1);
    connections = before;
    await using open = await startTillway('true');
    await probe(open, `http://127.0.0.1:${port}/hook`, 'production');
    assert.equal(connections, before + 1);
    connections = before;
  });

  it('that redirects leads nowhere: the redirect is a failure, and its target is never asked', async (context) => {
    await using tillway = await startTillway();
    const statuses = [301, 302, 303, 307, 308];
    for (const status of statuses) {
      const server: Server = createHttpServer((_request, response) =>
        response.writeHead(status, { location: `http://127.0.0.1:${port}/` }).end(),
      );
      context.after(() => server.close().closeAllConnections());
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const tested = await probe(tillway, `http://127.0.0.1:${(server.address() as { port: number }).port}/hook`);
      assert.deepEqual([tested?.delivered, tested?.statusCode], [false, status]);
      assert.match(tested!.failure, /redirects are not followed/);
    }
    assert.equal(connections, 0);
  });

  it('is watched by a canary that can be heard', async () => {
    await using tillway = await startTillway();
    await probe(tillway, `http://127.0.0.1:${port}/hook`);
    assert.ok(connections > 0);
  });
});
