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
  it('is sent with every request', async () => {
    const { code, stderr } = await runWith({ url: service.url, apiKey: ADMIN.sandbox }, 'sessions', 'list');
    assert.deepEqual([code, stderr], [0, '']);
    const made = await runWith({ url: service.url, apiKey: ADMIN.sandbox }, 'trigger', 'payment.paid', '--json');
    assert.equal(made.code, 0, made.stderr);
  });

  it('is named in the error if the service requires a key, and is not printed', async () => {
    const apiKey = ADMIN.sandbox.replace(/.$/, '0');
    for (const given of [undefined, apiKey]) {
      const { code, stderr } = await runWith({ url: service.url, apiKey: given }, 'sessions', 'list');
      assert.equal(code, 1);
      assert.match(stderr, /Set TILLWAY_API_KEY to a key of that service/);
      assert.ok(!stderr.includes(apiKey));
    }
  });

  it('of production is rejected by trigger, and for the environment of the sandbox', async () => {
    const live = { url: service.url, apiKey: ADMIN.production };
    const { code, stderr } = await runWith(live, 'trigger', 'payment.paid');
    assert.deepEqual([code, /makes sandbox checkouts.*sk_sandbox_/.test(stderr)], [1, true], stderr);
    const listed = await runWith(live, 'payments', 'list', '--environment', 'sandbox');
    assert.match(listed.stderr, /--environment production\), or use a key of sandbox/);
  });

  it('decides the environment of a command without --environment', async () => {
    using rules = temporaryFile('rules.json', { version: 1, rules: [] });
    const questions = [
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
      for (const question of questions) {
        const { code, stdout, stderr } = await runWith({ url: service.url, apiKey: ADMIN[environment] }, question);
        assert.deepEqual([code, stderr], [0, ''], question);
        if (/^fees|list$|dry-run/.test(question)) assert.ok(stdout.includes(route), stdout);
      }
    }
  });

  it('is in the examples for curl exactly if the service requires a key', async () => {
    await using open = await startTestService();
    for (const path of ['/docs', '/']) {
      const [asking, silent] = await Promise.all([service, open].map(({ url }) => fetch(url + path)));
      assert.match(await asking!.text(), /curl [^<]*Authorization: Bearer \$TILLWAY_API_KEY/);
      assert.doesNotMatch(await silent!.text(), /TILLWAY_API_KEY/);
    }
  });

  it('is rejected without being printed or sent if it is not a key', async () => {
    for (const apiKey of ['sk_live_mine', `${ADMIN.sandbox}\n`, 'whsec_abc']) {
      const { code, stderr } = await runWith({ url: service.url, apiKey }, 'sessions', 'list');
      assert.equal(code, 2);
      assert.match(stderr, /TILLWAY_API_KEY is no API key/);
      assert.ok(!stderr.includes(apiKey.trim()));
    }
  });
});
