import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { ConfigError, readConfig } from '../../src/config.ts';

// Texts that no message may contain.
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

/** A file, and its path. */
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

/** Settings with a providers file of one entry, which has other fields than {@link ENTRY}. */
function entryWith(fields: Record<string, unknown>, variables: Record<string, string> = SHOP) {
  return { ...variables, PROVIDERS_FILE: written({ providers: [{ ...ENTRY, ...fields }] }) };
}

function summary(variables: Record<string, string>) {
  return readConfig(variables).providers.map(({ id, adapter, environment }) => `${id} ${adapter} ${environment}`);
}

describe('the instances of the settings', () => {
  test('are none by default', () => assert.deepEqual(summary({}), []));

  test('have the environment of their key', () => {
    assert.deepEqual(summary(TEST), ['stripe_test stripe sandbox']);
    assert.deepEqual(summary({ ...TEST, STRIPE_SECRET_KEY: `rk_test_${HIDDEN}` }), ['stripe_test stripe sandbox']);
    assert.deepEqual(summary(LIVE), ['stripe stripe production']);
    assert.deepEqual(summary({ ...LIVE, ...BESIDE }), ['stripe stripe production', 'stripe_test stripe sandbox']);
  });

  test('accept two webhook secrets, for a rotation', () => {
    assert.equal(summary({ ...TEST, STRIPE_WEBHOOK_SECRET: `${SECRET}, ${SECRET}2` }).length, 1);
  });

  test('accept another server in sandbox', () => {
    for (const host of ['127.0.0.1:4242', 'localhost', '[::1]:80']) {
      assert.equal(summary({ ...TEST, STRIPE_API_BASE: `http://${host}` }).length, 1);
      assert.equal(summary({ ...LIVE, ...BESIDE, STRIPE_API_BASE: `http://${host}` }).length, 2);
    }
  });

  test('are read from the file too, with secrets from variables and files', () => {
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

  test('are read from the example of the documentation', () => {
    const page = readFileSync(new URL('../../docs/providers.md', import.meta.url), 'utf8');
    const { providers } = JSON.parse(/```json\n([^`]*)```/.exec(page)![1]!) as { providers: object[] };
    const secret = written(SECRET);
    const PROVIDERS_FILE = written({ providers: [{ ...providers[0], webhookSecrets: [{ file: secret }] }] });
    const variables = { BOOKS_STRIPE_KEY: LIVE_KEY, BASE_URL: 'https://pay.example', PROVIDERS_FILE };
    assert.deepEqual(summary(variables), ['stripe_books stripe production']);
  });

  test('have the account of the file', () => {
    assert.equal(readConfig(entryWith({ account: 'acct_1' })).providers[0]!.account, 'acct_1');
    assert.equal(readConfig(entryWith({})).providers[0]!.account, undefined);
  });

  test('leave the simulator setting undefined unless SIMULATOR is set', () => {
    assert.equal(readConfig(TEST).simulator, undefined);
    assert.equal(readConfig({ ...TEST, SIMULATOR: 'true' }).simulator, true);
  });
});

describe('a fault ends the start with one line that names instance, setting and variable', () => {
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
    ['another key', { ...TEST, STRIPE_SECRET_KEY: `pk_test_${HIDDEN}` }, /^STRIPE_SECRET_KEY must be a secret or/],
    [
      'a webhook secret of another form',
      { ...TEST, STRIPE_WEBHOOK_SECRET: HIDDEN },
      /^STRIPE_WEBHOOK_SECRET \(webhookSecrets of stripe_test\) must/,
    ],
    [
      'a live key in sandbox',
      { ...LIVE, ...BESIDE, STRIPE_TEST_SECRET_KEY: LIVE_KEY },
      /^STRIPE_TEST_SECRET_KEY \(secretKey of stripe_test\) /,
    ],
    ['an id twice', { ...TEST, ...BESIDE }, /^STRIPE_TEST_SECRET_KEY \(stripe_test\) has an id that is taken/],
    [
      'another server far away',
      { ...TEST, STRIPE_API_BASE: 'https://stripe.example' },
      /^STRIPE_API_BASE \(apiBase of stripe_test\) /,
    ],
    ['another server in production', { ...LIVE, STRIPE_API_BASE: 'http://localhost' }, /^STRIPE_API_BASE is for san/],
    ['another server without a key', { STRIPE_API_BASE: 'http://localhost' }, /^STRIPE_API_BASE is for sandbox only/],
    ['production without https', { ...LIVE, BASE_URL: 'http://pay.example' }, /^BASE_URL .* https .* stripe /],
    ['a test clock', { ...TEST, TEST_CLOCK: 'true' }, /^TEST_CLOCK .* stripe_test/],
    ['a missing file', { PROVIDERS_FILE: '/nowhere/p.json' }, /^PROVIDERS_FILE \/nowhere\/p\.json .*ENOENT/],
    [
      'invalid JSON',
      { PROVIDERS_FILE: written(`{"providers": [{"secretKey": ${HIDDEN}}]}`) },
      /^PROVIDERS_FILE \S+ is not valid JSON$/,
    ],
    ['another document', { PROVIDERS_FILE: written([]) }, /^PROVIDERS_FILE \S+ must be an object$/],
    ['no list', { PROVIDERS_FILE: written({ providers: {} }) }, /: providers must be a list$/],
    ['an unknown key', { PROVIDERS_FILE: written({ providers: [], x: HIDDEN }) }, /: x is not a setting/],
    ['an entry of another form', { PROVIDERS_FILE: written({ providers: [HIDDEN] }) }, /: providers\.0 must be an obj/],
    ['no id', entryWith({ id: undefined }), /: providers\.0\.id must be/],
    ['the id of the simulator', entryWith({ id: 'sandbox' }), /: providers\.0\.id must be/],
    ['an unknown adapter', entryWith({ adapter: 'stripes' }), /: adapter of shop must be one of stripe$/],
    ['an unknown environment', entryWith({ environment: 'live' }), /: environment of shop must be one of sandbox, pro/],
    ['an unknown setting', entryWith({ webhookSecret: 'x' }), /: webhookSecret of shop is not a setting$/],
    ['a literal secret', entryWith({ secretKey: TEST_KEY }), /: secretKey of shop must be \{"env"/],
    ['a literal secret in a list', entryWith({ webhookSecrets: [SECRET] }), /: webhookSecrets of shop must be \{"env"/],
    [
      'a reference of another form',
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
      'an id of the variables in the file',
      { ...TEST, ...entryWith({ id: 'stripe_test' }) },
      /: stripe_test has an id that is taken: STRIPE_SECRET_KEY \(stripe_test\) has it$/,
    ],
  ];
  for (const [name, variables, line] of faults) {
    test(name, () => {
      assert.throws(
        () => readConfig(variables),
        (error: Error) => {
          assert.ok(error instanceof ConfigError, String(error));
          assert.match(error.message, line);
          assert.doesNotMatch(error.message, new RegExp(`\n|undefined|${HIDDEN}`));
          return true;
        },
      );
    });
  }
});
