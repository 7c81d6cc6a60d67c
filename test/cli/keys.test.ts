import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ADMIN, BOOTSTRAP } from '../support/keys.ts';
import { temporaryFile } from '../support/routing.ts';
import { type TestService, startTestService } from '../support/service.ts';
import { runWith } from './terminal.ts';

let service: TestService;
before(async () => {
  service = await startTestService({ variables: BOOTSTRAP, live: true });
});
after(() => service[Symbol.asyncDispose]());

describe('TILLWAY_API_KEY', () => {
  it('the key from TILLWAY_API_KEY is sent with every request', async () => {
    const { code, stderr } = await runWith({ url: service.url, apiKey: ADMIN.sandbox }, 'sessions', 'list');
    assert.deepEqual([code, stderr], [0, '']);
    const triggered = await runWith({ url: service.url, apiKey: ADMIN.sandbox }, 'trigger', 'payment.paid', '--json');
    assert.equal(triggered.code, 0, triggered.stderr);
  });

  it('the error about a missing or invalid API key names TILLWAY_API_KEY without its value', async () => {
    const apiKey = ADMIN.sandbox.replace(/.$/, '0');
    for (const given of [undefined, apiKey]) {
      const { code, stderr } = await runWith({ url: service.url, apiKey: given }, 'sessions', 'list');
      assert.equal(code, 1);
      assert.match(stderr, /Set TILLWAY_API_KEY to a key of this service/);
      assert.ok(!stderr.includes(apiKey));
    }
  });

  it('a production key is rejected by `tillway trigger` and with `--environment sandbox`', async () => {
    const live = { url: service.url, apiKey: ADMIN.production };
    const { code, stderr } = await runWith(live, 'trigger', 'payment.paid');
    assert.deepEqual([code, /creates sandbox checkouts.*sk_sandbox_/.test(stderr)], [1, true], stderr);
    const listed = await runWith(live, 'payments', 'list', '--environment', 'sandbox');
    assert.match(listed.stderr, /--environment production\), or use a key of sandbox/);
  });

  it('the key from TILLWAY_API_KEY decides the environment of a command without `--environment`', async () => {
    using rules = temporaryFile('rules.json', { version: 1, rules: [] });
    const commandLines = [
      'fees 49.99',
      'routes list',
      'routes dry-run 49.99',
      'routes backtest',
      `routes rules check ${rules.path}`,
    ];
    for (const [environment, route] of [
      ['sandbox', 'sandbox_card_acquirer'],
      ['production', 'card_stripe'],
    ] as const) {
      for (const commandLine of commandLines) {
        const { code, stdout, stderr } = await runWith({ url: service.url, apiKey: ADMIN[environment] }, commandLine);
        assert.deepEqual([code, stderr], [0, ''], commandLine);
        if (/^fees|list$|dry-run/.test(commandLine)) assert.ok(stdout.includes(route), stdout);
      }
    }
  });

  it('TILLWAY_API_KEY appears in the curl examples only if the service requires a key', async () => {
    await using open = await startTestService();
    for (const path of ['/docs', '/']) {
      const [keyedPage, openPage] = await Promise.all([service, open].map(({ url }) => fetch(url + path)));
      assert.match(await keyedPage!.text(), /curl [^<]*Authorization: Bearer \$TILLWAY_API_KEY/);
      assert.doesNotMatch(await openPage!.text(), /TILLWAY_API_KEY/);
    }
  });

  it('a TILLWAY_API_KEY that is not an API key is rejected, and neither printed nor sent', async () => {
    for (const apiKey of ['sk_live_mine', `${ADMIN.sandbox}\n`, 'whsec_abc']) {
      const { code, stderr } = await runWith({ url: service.url, apiKey }, 'sessions', 'list');
      assert.equal(code, 2);
      assert.match(stderr, /TILLWAY_API_KEY must be sk_sandbox_/);
      assert.ok(!stderr.includes(apiKey.trim()));
    }
  });
});
