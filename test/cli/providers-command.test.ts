import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CheckResult } from '../../src/providers/provider.ts';
import { runIn, runOn } from './terminal.ts';
import { suiteService } from '../support/suite.ts';

const READY: CheckResult = {
  ready: true,
  findings: [
    { level: 'ok', message: 'the account takes charges' },
    { level: 'warning', message: 'no webhook endpoint has our URL', todo: 'Add it at the provider.' },
  ],
  unavailable: { ach: 'the account has no capability for it' },
};
const REFUSED: CheckResult = {
  ready: false,
  findings: [{ level: 'error', message: 'the key was refused (401)', todo: 'Set another key.' }],
};

function providersWith(results: Record<string, CheckResult>) {
  const configured = Object.entries(results).map(([id, result]) => ({
    id,
    environment: 'sandbox' as const,
    routes: [{ id: `card_${id}` }],
    check: async () => result,
  }));
  return { providers: async () => configured };
}

describe('tillway providers check', () => {
  const both = providersWith({ good: READY, bad: REFUSED });

  it('`tillway providers check` prints a line for each finding with what to do, and exits with 1 for a provider that is not ready', async () => {
    const { code, stdout, stderr } = await runOn(both, {}, 'providers check');
    assert.deepEqual([code, stderr], [1, '']);
    assert.equal(
      stdout,
      [
        'good (sandbox): ready',
        '  ok       the account takes charges',
        '  warning  no webhook endpoint has our URL. Add it at the provider.',
        '  warning  routes over ach are in standby: the account has no capability for it',
        '',
        'bad (sandbox): NOT READY',
        '  error    the key was refused (401). Set another key.',
        '',
      ].join('\n'),
    );
  });

  it('`tillway providers check` exits with 0 if all providers, or the named provider, are ready', async () => {
    assert.equal((await runOn(providersWith({ good: READY }), {}, 'providers check')).code, 0);
    const { code, stdout } = await runOn(both, {}, 'providers check good --json');
    assert.equal(code, 0);
    assert.deepEqual(JSON.parse(stdout), { ok: true, data: [{ id: 'good', environment: 'sandbox', ...READY }] });
  });

  it('`tillway providers check` exits with 2 if there is nothing to check', async () => {
    const none = await runOn(providersWith({}), {}, 'providers check');
    assert.deepEqual([none.code, none.stdout], [2, '']);
    assert.match(
      none.stderr,
      /no provider is configured: set STRIPE_SECRET_KEY, PAYPAL_CLIENT_ID, ADYEN_API_KEY, USDC_XPUB or PROVIDERS_FILE/,
    );
    const unknown = await runOn(both, {}, 'providers check other');
    assert.equal(unknown.code, 2);
    assert.match(unknown.stderr, /no provider other: configured are good, bad/);
  });
});

describe('tillway providers routes', () => {
  it('`tillway providers routes` prints entries for the catalogue file', async () => {
    const { code, stdout } = await runOn(providersWith({ good: READY, other: READY }), {}, 'providers routes good');
    assert.equal(code, 0);
    assert.deepEqual(JSON.parse(stdout), { routes: [{ id: 'card_good' }] });
  });
});

describe('tillway providers list', () => {
  const on = suiteService();

  it('`tillway providers list` shows the providers of the service', async () => {
    const { code, stdout } = await runIn(on, 'providers');
    assert.equal(code, 0);
    const [, row = ''] = stdout.split('\n');
    assert.match(row, /^sandbox +simulator +sandbox +yes +sandbox_card_acquirer, /);
  });
});
