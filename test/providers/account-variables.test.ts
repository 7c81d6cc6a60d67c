import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readConfig } from '../../src/config.ts';
import { assertRefused } from './refused-settings.ts';

// Secrets of the settings: no error message may contain `HIDDEN`.
const HIDDEN = 'hunter2hunter2hunter2';
const LOCAL = 'http://127.0.0.1:4242';
const HTTPS = { BASE_URL: 'https://pay.example' };
const PAYPAL = {
  PAYPAL_CLIENT_ID: `A-${HIDDEN}`,
  PAYPAL_CLIENT_SECRET: HIDDEN,
  PAYPAL_WEBHOOK_ID: '4JH86294D6297924G',
};
const HMAC_KEY = '0'.repeat(64);
const ADYEN = { ADYEN_API_KEY: HIDDEN, ADYEN_MERCHANT_ACCOUNT: 'ShopUS', ADYEN_HMAC_KEY: HMAC_KEY };
const ADYEN_LIVE = {
  ...ADYEN,
  ADYEN_ENVIRONMENT: 'production',
  ADYEN_LIVE_PREFIX: '1797a841fbb37ca7-ShopUS',
  ADYEN_CALLBACK_USER: 'tillway',
  ADYEN_CALLBACK_PASSWORD: HIDDEN,
  ...HTTPS,
};

function summary(variables: Record<string, string>) {
  return readConfig(variables).providers.map(({ id, adapter, environment, routes }) => {
    return `${id} ${adapter} ${environment} ${routes.map((route) => (route as { id: string }).id).join(',')}`;
  });
}

function without(variables: Record<string, string>, name: string): Record<string, string> {
  return Object.fromEntries(Object.entries(variables).filter(([each]) => each !== name));
}

describe('PayPal and Adyen from variables', () => {
  test('three variables configure an instance in sandbox with its default route', () => {
    assert.deepEqual(summary(PAYPAL), ['paypal_test paypal sandbox wallet_paypal_test']);
    assert.deepEqual(summary(ADYEN), ['adyen_test adyen sandbox local_adyen_test']);
  });

  test('the variable of the environment configures an instance in production', () => {
    const paypal = { ...PAYPAL, PAYPAL_ENVIRONMENT: 'production', ...HTTPS };
    assert.deepEqual(summary(paypal), ['paypal paypal production wallet_paypal']);
    assert.deepEqual(summary(ADYEN_LIVE), ['adyen adyen production local_adyen']);
  });

  test('API bases on loopback configure another server, and two HMAC keys are accepted', () => {
    const all = { ...PAYPAL, ...ADYEN, PAYPAL_API_BASE: LOCAL, ADYEN_API_BASE: LOCAL };
    assert.equal(summary({ ...all, ADYEN_HMAC_KEY: `${HMAC_KEY}, ${HMAC_KEY}` }).length, 2);
  });

  const faults: [name: string, variables: Record<string, string>, line: RegExp][] = [
    ...Object.keys(PAYPAL).map((name): [string, Record<string, string>, RegExp] => [
      `no ${name}`,
      without(PAYPAL, name),
      new RegExp(`^${name} must be set`),
    ]),
    ...Object.keys(ADYEN).map((name): [string, Record<string, string>, RegExp] => [
      `no ${name}`,
      without(ADYEN, name),
      new RegExp(`^${name} must be set`),
    ]),
    [
      'an API base alone',
      { PAYPAL_API_BASE: LOCAL },
      /^PAYPAL_CLIENT_ID, PAYPAL_CLIENT_SECRET, PAYPAL_WEBHOOK_ID must/,
    ],
    ['an unknown environment', { ...PAYPAL, PAYPAL_ENVIRONMENT: 'live' }, /^PAYPAL_ENVIRONMENT must be sandbox or/],
    [
      'a malformed webhook id',
      { ...PAYPAL, PAYPAL_WEBHOOK_ID: HIDDEN },
      /^PAYPAL_WEBHOOK_ID \(webhookId of paypal_test\) must be the id/,
    ],
    [
      'a PayPal host that is not on this machine',
      { ...PAYPAL, PAYPAL_API_BASE: 'https://api-m.paypal.com' },
      /^PAYPAL_API_BASE \(apiBase of paypal_test\) must be on this machine/,
    ],
    [
      'an API base in production',
      { ...PAYPAL, ...HTTPS, PAYPAL_ENVIRONMENT: 'production', PAYPAL_API_BASE: LOCAL },
      /^PAYPAL_API_BASE \(apiBase of paypal\) is for sandbox only/,
    ],
    ['production without https', { ...PAYPAL, PAYPAL_ENVIRONMENT: 'production' }, /^BASE_URL .* https .* paypal /],
    ['a short HMAC key', { ...ADYEN, ADYEN_HMAC_KEY: HIDDEN }, /^ADYEN_HMAC_KEY \(hmacKeys of adyen_test\) must be/],
    [
      'a user without a password',
      { ...ADYEN, ADYEN_CALLBACK_USER: 'tillway' },
      /callbackUser and callbackPassword must be set together|ADYEN_CALLBACK_USER .*callbackPassword must be set tog/,
    ],
    ['a live prefix in sandbox', { ...ADYEN, ADYEN_LIVE_PREFIX: '1a-Shop' }, /^ADYEN_LIVE_PREFIX .* is for production/],
    [
      'Adyen in production without a prefix',
      without(ADYEN_LIVE, 'ADYEN_LIVE_PREFIX'),
      /livePrefix must be set in prod/,
    ],
    [
      'Adyen in production without a password for callbacks',
      without(without(ADYEN_LIVE, 'ADYEN_CALLBACK_USER'), 'ADYEN_CALLBACK_PASSWORD'),
      /callbackUser and callbackPassword must be set in production/,
    ],
    ['a test clock', { ...PAYPAL, TEST_CLOCK: 'true' }, /^TEST_CLOCK .* paypal_test/],
  ];
  for (const [name, variables, line] of faults) {
    test(`the service refuses to start with ${name}, in one line without a value`, () => {
      assertRefused(variables, line, HIDDEN);
    });
  }
});
