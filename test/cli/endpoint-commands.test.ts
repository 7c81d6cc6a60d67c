import assert from 'node:assert/strict';
import { type TestContext, after, before, describe, it } from 'node:test';
import type { Page, WebhookEndpoint, WebhookEndpointWithSecret } from '../../sdk/src/index.ts';
import { type TestService, startTestService } from '../support/service.ts';
import { receiver } from '../webhooks/fixtures.ts';
import { commandsOn, runIn } from './terminal.ts';

describe('tillway endpoints', () => {
  let on: TestService;
  before(async () => {
    const ENCRYPTION_KEY = Buffer.alloc(32, 7).toString('base64');
    on = await startTestService({ variables: { ENCRYPTION_KEY, WEBHOOK_ALLOW_PRIVATE: 'true' } });
  });
  after(() => on[Symbol.asyncDispose]());

  const { stdoutOf, json, stderrOf } = commandsOn(() => on, 'endpoints');
  const startShop = (context: TestContext, status: number) =>
    receiver(context, (_, __, response) => void response.writeHead(status).end('from the shop'));

  it('`tillway endpoints` creates an endpoint and shows its secret once', async (context) => {
    const { url } = await startShop(context, 200);
    const output = await stdoutOf(`create --to ${url} --description Orders --events`, 'payment.paid, payment.failed');
    const [, id] = /^Endpoint +(whe_\w+)$/m.exec(output)!;
    assert.match(output, /^Secret \(shown only once\): whsec_\S+$/m);
    assert.match(output, /^Events +payment\.paid, payment\.failed$/m);
    const shown = await stdoutOf('get', id!);
    assert.doesNotMatch(shown, /whsec_/);
    assert.match(shown, /^Status +active$/m);
    assert.doesNotMatch(await stdoutOf(), /whsec_/);
    const created = await json<WebhookEndpointWithSecret>('create', '--to', url, '--environment', 'production');
    assert.match(created.secret, /^whsec_/);
    assert.equal((await json<Page<WebhookEndpoint>>('list', '--environment', 'production')).data[0]!.id, created.id);
    await stdoutOf('delete', created.id);
    assert.equal(await stdoutOf('delete', id!), `Deleted ${id!}.\n`);
    assert.equal(await stdoutOf('list'), 'None.\n');
  });

  it('`tillway endpoints` changes, disables and enables an endpoint, and rotates its secret', async (context) => {
    const { url } = await startShop(context, 200);
    const { id, secret } = await json<WebhookEndpointWithSecret>('create', '--to', url);
    assert.match(await stdoutOf('update', id, '--events', 'payment.paid'), /^Events +payment\.paid$/m);
    assert.match(await stdoutOf('disable', id), /^Disabled reason +an operator disabled it$/m);
    assert.match(await stdoutOf('list'), /an operator disabled it/);
    assert.match(await stdoutOf('enable', id), /^Status +active$/m);
    const rotated = await json<WebhookEndpointWithSecret>('rotate-secret', id, '--expires-in-hours', '2');
    assert.notEqual(rotated.secret, secret);
    assert.equal(rotated.secrets[1]!.expiresAt, new Date(on.clock.now() + 7_200_000).toISOString());
    assert.match(await stdoutOf('get', id), /^Old secrets until +\d{4}-/m);
    assert.doesNotMatch(await stdoutOf('rotate-secret', id, '--expires-in-hours', '0'), /Old secrets/);
    await stdoutOf('delete', id);
  });

  it('`tillway endpoints` sends a test event to an endpoint, and exits with 1 if the event is not acknowledged', async (context) => {
    const { url } = await startShop(context, 200);
    const { id } = await json<WebhookEndpoint>('create', '--to', url);
    assert.match(await stdoutOf('test', id), /^Delivered +acknowledged$/m);
    const failingShop = await startShop(context, 500);
    await stdoutOf('update', id, '--to', failingShop.url);
    const ended = await runIn(on, 'endpoints', 'test', id);
    assert.equal(ended.code, 1);
    assert.match(ended.stdout, /^Failed +answered 500$/m);
    assert.doesNotMatch(ended.stdout, /Delivered/);
    assert.match(ended.stdout, /^Response body +from the shop$/m);
    await stdoutOf('delete', id);
  });

  it('`tillway endpoints` rejects invalid options and unknown endpoints', async () => {
    for (const [code, line, message] of [
      [2, 'create', /--to/],
      [2, 'create --to x --events payment.late', /--events takes [^]*not "payment\.late"/],
      [2, 'update whe_x', /nothing to change/],
      [2, 'rotate-secret whe_x --expires-in-hours 25', /0 to 24/],
      [2, 'rotate-secret whe_x --expires-in-hours -1', /0 to 24/],
      [2, 'rotate-secret whe_x --expires-in-hours 1.5', /0 to 24/],
      [1, 'create --to ftp://shop.example/', /http or https/],
      [1, 'get whe_x', /No webhook endpoint/],
    ] as const) {
      assert.match(await stderrOf(code, line), message);
    }
  });
});
