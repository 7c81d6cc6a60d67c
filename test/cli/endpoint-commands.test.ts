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

  const { told, json, complaint } = commandsOn(() => on, 'endpoints');
  const shop = (context: TestContext, status: number) =>
    receiver(context, (_, __, response) => void response.writeHead(status).end('from the shop'));

  it('creates one and shows its secret once', async (context) => {
    const { url } = await shop(context, 200);
    const said = await told(`create --to ${url} --description Orders --events`, 'payment.paid, payment.failed');
    const [, id] = /^Endpoint +(whe_\w+)$/m.exec(said)!;
    assert.match(said, /^Secret, shown this once: whsec_\S+$/m);
    assert.match(said, /^Events +payment\.paid, payment\.failed$/m);
    const shown = await told('get', id!);
    assert.doesNotMatch(shown, /whsec_/);
    assert.match(shown, /^Status +active$/m);
    assert.doesNotMatch(await told(), /whsec_/);
    const made = await json<WebhookEndpointWithSecret>('create', '--to', url, '--environment', 'production');
    assert.match(made.secret, /^whsec_/);
    assert.equal((await json<Page<WebhookEndpoint>>('list', '--environment', 'production')).data[0]!.id, made.id);
    await told('delete', made.id);
    assert.equal(await told('delete', id!), `Deleted ${id!}.\n`);
    assert.equal(await told('list'), 'None.\n');
  });

  it('changes, disables, enables and rotates', async (context) => {
    const { url } = await shop(context, 200);
    const { id, secret } = await json<WebhookEndpointWithSecret>('create', '--to', url);
    assert.match(await told('update', id, '--events', 'payment.paid'), /^Events +payment\.paid$/m);
    assert.match(await told('disable', id), /^Disabled reason +an operator disabled it$/m);
    assert.match(await told('list'), /an operator disabled it/);
    assert.match(await told('enable', id), /^Status +active$/m);
    const rotated = await json<WebhookEndpointWithSecret>('rotate-secret', id, '--expires-in-hours', '2');
    assert.notEqual(rotated.secret, secret);
    assert.equal(rotated.secrets[1]!.expiresAt, new Date(on.clock.now() + 7_200_000).toISOString());
    assert.match(await told('get', id), /^Old secrets until +\d{4}-/m);
    assert.doesNotMatch(await told('rotate-secret', id, '--expires-in-hours', '0'), /Old secrets/);
    await told('delete', id);
  });

  it('tests one, and exits with 1 if the event was not acknowledged', async (context) => {
    const { url } = await shop(context, 200);
    const { id } = await json<WebhookEndpoint>('create', '--to', url);
    assert.match(await told('test', id), /^Delivered +acknowledged$/m);
    const broken = await shop(context, 500);
    await told('update', id, '--to', broken.url);
    const ended = await runIn(on, 'endpoints', 'test', id);
    assert.equal(ended.code, 1);
    assert.match(ended.stdout, /^Delivered +answered 500$/m);
    assert.match(ended.stdout, /^Response body +from the shop$/m);
    await told('delete', id);
  });

  it('rejects invalid options and unknown endpoints', async () => {
    for (const [code, line, complains] of [
      [2, 'create', /--to/],
      [2, 'create --to x --events payment.late', /--events knows no "payment\.late"/],
      [2, 'update whe_x', /name a change/],
      [2, 'rotate-secret whe_x --expires-in-hours 25', /0 to 24/],
      [2, 'rotate-secret whe_x --expires-in-hours -1', /0 to 24/],
      [2, 'rotate-secret whe_x --expires-in-hours 1.5', /0 to 24/],
      [1, 'create --to ftp://shop.example/', /http or https/],
      [1, 'get whe_x', /No webhook endpoint/],
    ] as const) {
      assert.match(await complaint(code, line), complains);
    }
  });
});
