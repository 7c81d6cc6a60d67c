import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { readConfig } from '../../src/config.ts';
import { assertRefused } from './refused-settings.ts';

// Secrets of the settings: no error message may contain `HIDDEN`.
const HIDDEN = 'hunter2';
const TEST_KEY = `sk_test_${HIDDEN}`;
const LIVE_KEY = `rk_live_${HIDDEN}`;
const SECRET = `whsec_${HIDDEN}`;
const TEST = { STRIPE_SECRET_KEY: TEST_KEY, STRIPE_WEBHOOK_SECRET: SECRET };
const LIVE = { STRIPE_SECRET_KEY: LIVE_KEY, STRIPE_WEBHOOK_SECRET: SECRET, BASE_URL: 'https://pay.example' };
const BESIDE = { STRIPE_TEST_SECRET_KEY: TEST_KEY, STRIPE_TEST_WEBHOOK_SECRET: SECRET };

const folder = mkdtempSync(join(tmpdir(), 'tillway-providers-'));
after(() => rmSync(folder, { recursive: true }));
let files = 0;

/** Writes a file, as JSON unless `content` is a text; returns its path. */
function written(content: unknown): string {
  const path = join(folder, `${++files}.json`);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

const ENTRY = {
  id: 'shop',
  adapter: 'stripe',
  environment: 'sandbox',
  secretKey: { env: 'SHOP_KEY' },
  webhookSecrets: [{ env: 'SHOP_WEBHOOK' }],
};
const SHOP = { SHOP_KEY: TEST_KEY, SHOP_WEBHOOK: SECRET };

/** Settings whose providers file contains one entry: {@link ENTRY} with these fields changed. */
function entryWith(fields: Record<string, unknown>, variables: Record<string, string> = SHOP) {
  return { ...variables, PROVIDERS_FILE: written({ providers: [{ ...ENTRY, ...fields }] }) };
}

function summary(variables: Record<string, string>) {
  return readConfig(variables).providers.map(({ id, adapter, environment }) => `${id} ${adapter} ${environment}`);
}

describe('provider instances from the settings', () => {
  test('the settings configure no provider instance by default', () => assert.deepEqual(summary({}), []));

  test('a Stripe instance from variables has the environment of its key', () => {
    assert.deepEqual(summary(TEST), ['stripe_test stripe sandbox']);
    assert.deepEqual(summary({ ...TEST, STRIPE_SECRET_KEY: `rk_test_${HIDDEN}` }), ['stripe_test stripe sandbox']);
    assert.deepEqual(summary(LIVE), ['stripe stripe production']);
    assert.deepEqual(summary({ ...LIVE, ...BESIDE }), ['stripe stripe production', 'stripe_test stripe sandbox']);
  });

  test('STRIPE_WEBHOOK_SECRET accepts two secrets, for a rotation', () => {
    assert.equal(summary({ ...TEST, STRIPE_WEBHOOK_SECRET: `${SECRET}, ${SECRET}2` }).length, 1);
  });

  test('STRIPE_API_BASE configures another server for a sandbox instance', () => {
    for (const host of ['127.0.0.1:4242', 'localhost', '[::1]:80']) {
      assert.equal(summary({ ...TEST, STRIPE_API_BASE: `http://${host}` }).length, 1);
      assert.equal(summary({ ...LIVE, ...BESIDE, STRIPE_API_BASE: `http://${host}` }).length, 2);
    }
  });

  test('PROVIDERS_FILE adds instances, whose secrets come from variables or files', () => {
    assert.deepEqual(summary(entryWith({ account: 'acct_1', buyerWindowMinutes: 60 })), ['shop stripe sandbox']);
    const second = { ...ENTRY, id: 'other', secretKey: { file: written(`${TEST_KEY}\n`) } };
    const PROVIDERS_FILE = written({ providers: [ENTRY, second] });
    const instances = readConfig({ ...SHOP, ...TEST, PROVIDERS_FILE }).providers;
    assert.deepEqual(
      instances.map(({ id }) => id),
      ['stripe_test', 'shop', 'other'],
    );
    assert.doesNotMatch(JSON.stringify(instances), new RegExp(HIDDEN));
  });

  test('the settings reader accepts the PROVIDERS_FILE example of the documentation', () => {
    const page = readFileSync(new URL('../../docs/providers.md', import.meta.url), 'utf8');
    const { providers } = JSON.parse(/```json\n([^`]*)```/.exec(page)![1]!) as { providers: object[] };
    const secret = written(SECRET);
    const PROVIDERS_FILE = written({ providers: [{ ...providers[0], webhookSecrets: [{ file: secret }] }] });
    const variables = { BOOKS_STRIPE_KEY: LIVE_KEY, BASE_URL: 'https://pay.example', PROVIDERS_FILE };
    assert.deepEqual(summary(variables), ['stripe_books stripe production']);
  });

  test('an instance has the `account` of its entry in PROVIDERS_FILE', () => {
    assert.equal(readConfig(entryWith({ account: 'acct_1' })).providers[0]!.account, 'acct_1');
    assert.equal(readConfig(entryWith({})).providers[0]!.account, undefined);
  });

  test('the `simulator` setting is undefined unless SIMULATOR is set', () => {
    assert.equal(readConfig(TEST).simulator, undefined);
    assert.equal(readConfig({ ...TEST, SIMULATOR: 'true' }).simulator, true);
  });
});

describe('invalid provider settings', () => {
  const { STRIPE_WEBHOOK_SECRET: _secret, ...noSecret } = TEST;
  const { STRIPE_SECRET_KEY: _key, ...noKey } = TEST;
  const faults: [name: string, variables: Record<string, string>, line: RegExp][] = [
    ['no webhook secret', noSecret, /^STRIPE_WEBHOOK_SECRET \(webhookSecrets of stripe_test\) is needed/],
    ['a webhook secret alone', noKey, /^STRIPE_SECRET_KEY is needed with STRIPE_WEBHOOK_SECRET/],
    [
      'no webhook secret beside live keys',
      { ...LIVE, STRIPE_TEST_SECRET_KEY: TEST_KEY },
      /^STRIPE_TEST_WEBHOOK_SECRET \(webhookSecrets of stripe_test\) is needed/,
    ],
    ['an empty variable', { ...TEST, STRIPE_WEBHOOK_SECRET: ' ' }, /^STRIPE_WEBHOOK_SECRET is set but empty/],
    ['a publishable key', { ...TEST, STRIPE_SECRET_KEY: `pk_test_${HIDDEN}` }, /^STRIPE_SECRET_KEY must be a sec/],
    [
      'a malformed webhook secret',
      { ...TEST, STRIPE_WEBHOOK_SECRET: HIDDEN },
      /^STRIPE_WEBHOOK_SECRET \(webhookSecrets of stripe_test\) must/,
    ],
    [
      'a live key in sandbox',
      { ...LIVE, ...BESIDE, STRIPE_TEST_SECRET_KEY: LIVE_KEY },
      /^STRIPE_TEST_SECRET_KEY \(secretKey of stripe_test\) /,
    ],
    ['a duplicate id', { ...TEST, ...BESIDE }, /^STRIPE_TEST_SECRET_KEY \(stripe_test\) has an id that is taken/],
    [
      'a STRIPE_API_BASE that is not on this machine',
      { ...TEST, STRIPE_API_BASE: 'https://stripe.example' },
      /^STRIPE_API_BASE \(apiBase of stripe_test\) /,
    ],
    ['an API base in production', { ...LIVE, STRIPE_API_BASE: 'http://localhost' }, /^STRIPE_API_BASE is for san/],
    ['an API base without a key', { STRIPE_API_BASE: 'http://localhost' }, /^STRIPE_API_BASE is for sandbox only/],
    ['production without https', { ...LIVE, BASE_URL: 'http://pay.example' }, /^BASE_URL .* https .* stripe /],
    ['a test clock and a real provider', { ...TEST, TEST_CLOCK: 'true' }, /^TEST_CLOCK .* stripe_test/],
    ['a missing file', { PROVIDERS_FILE: '/nowhere/p.json' }, /^PROVIDERS_FILE \/nowhere\/p\.json .*ENOENT/],
    [
      'invalid JSON',
      { PROVIDERS_FILE: written(`{"providers": [{"secretKey": ${HIDDEN}}]}`) },
      /^PROVIDERS_FILE \S+ is not valid JSON$/,
    ],
    ['another document', { PROVIDERS_FILE: written([]) }, /^PROVIDERS_FILE \S+ must be an object$/],
    ['no list', { PROVIDERS_FILE: written({ providers: {} }) }, /: providers must be a list$/],
    ['an unknown key', { PROVIDERS_FILE: written({ providers: [], x: HIDDEN }) }, /: x is not a setting/],
    ['an entry of a wrong type', { PROVIDERS_FILE: written({ providers: [HIDDEN] }) }, /: providers\.0 must be an obj/],
    ['no id', entryWith({ id: undefined }), /: providers\.0\.id must be/],
    ['the id of the simulator', entryWith({ id: 'sandbox' }), /: providers\.0\.id must be/],
    ['an unknown adapter', entryWith({ adapter: 'stripes' }), /: adapter of shop must be one of \S.*$/],
    ['an unknown environment', entryWith({ environment: 'live' }), /: environment of shop must be one of sandbox, pro/],
    ['an unknown setting', entryWith({ webhookSecret: 'x' }), /: webhookSecret of shop is not a setting$/],
    ['a literal secret', entryWith({ secretKey: TEST_KEY }), /: secretKey of shop must be \{"env"/],
    ['a literal secret in a list', entryWith({ webhookSecrets: [SECRET] }), /: webhookSecrets of shop must be \{"env"/],
    [
      'a malformed reference to a secret',
      entryWith({ secretKey: { env: 'SHOP_KEY', file: HIDDEN } }),
      /: secretKey of shop must/,
    ],
    [
      'a variable that is not set',
      entryWith({}, { SHOP_WEBHOOK: SECRET }),
      /: secretKey of shop: .* SHOP_KEY is not s/,
    ],
    [
      'an empty referenced variable',
      entryWith({}, { SHOP_KEY: TEST_KEY, SHOP_WEBHOOK: ' ' }),
      /: webhookSecrets of shop: the variable SHOP_WEBHOOK is empty$/,
    ],
    [
      'an unreadable secret',
      entryWith({ secretKey: { file: '/nowhere/k' } }),
      /: secretKey of shop: .*\/nowhere\/k ca/,
    ],
    [
      'an empty secret file',
      entryWith({ secretKey: { file: written('\n') } }),
      /: secretKey of shop: the file \S+ is e/,
    ],
    ['no secret', entryWith({ webhookSecrets: undefined }), /: webhookSecrets of shop is missing$/],
    ['no secret in the list', entryWith({ webhookSecrets: [] }), /: webhookSecrets of shop must/],
    ['a value out of range', entryWith({ buyerWindowMinutes: 1 }), /: buyerWindowMinutes of shop /],
    [
      'a live key in sandbox, in the file',
      entryWith({}, { ...SHOP, SHOP_KEY: LIVE_KEY }),
      /: secretKey of shop \(SHOP_KEY\) /,
    ],
    ['a test key in production', entryWith({ environment: 'production' }), /: secretKey of shop \(SHOP_KEY\) /],
    [
      'an entry with the id of an instance from the variables',
      { ...TEST, ...entryWith({ id: 'stripe_test' }) },
      /: stripe_test has an id that is taken: STRIPE_SECRET_KEY \(stripe_test\) has it$/,
    ],
  ];
  for (const [name, variables, line] of faults) {
    test(`the service refuses to start with ${name}: one line names instance, setting and variable`, () => {
      assertRefused(variables, line, HIDDEN);
    });
  }
});
