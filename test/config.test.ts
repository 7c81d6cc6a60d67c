import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigError, readConfig } from '../src/config.ts';

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

describe('what is not set', () => {
  test('the defaults: sandbox on this machine alone', () => {
    assert.deepEqual(readConfig({}), {
      port: 3000,
      host: '127.0.0.1',
      baseUrl: undefined,
      checkoutUrl: undefined,
      database: { kind: 'sqlite', path: './data/tillway.db' },
      merchantName: 'Demo merchant',
      routesFile: undefined,
      routingRulesFile: undefined,
      sessionTtlMs: 86_400_000,
      webhook: undefined,
      webhookTargets: 'loopback',
      loopbackOnly: true,
      demo: true,
      testClock: false,
      shutdownDelayMs: 1_000,
      shutdownTimeoutMs: 10_000,
      logLevel: 'info',
    });
  });

  test('an empty variable is not set', () => {
    const names = [
      'PORT',
      'HOST',
      'BASE_URL',
      'CHECKOUT_URL',
      'DATABASE_URL',
      'MERCHANT_NAME',
      'ROUTES_FILE',
      'ROUTING_RULES_FILE',
    ];
    const more = ['SESSION_TTL', 'WEBHOOK_URL', 'WEBHOOK_SECRET', 'WEBHOOK_ENVIRONMENT', 'WEBHOOK_ALLOW_PRIVATE'];
    const rest = ['DEMO', 'TEST_CLOCK', 'SHUTDOWN_DELAY', 'ALLOW_UNAUTHENTICATED', 'SHUTDOWN_TIMEOUT', 'LOG_LEVEL'];
    const empty = Object.fromEntries([...names, ...more, ...rest].map((name) => [name, '']));
    assert.deepEqual(readConfig(empty), readConfig({}));
  });

  test('what is none of ours is left alone', () => {
    assert.deepEqual(readConfig({ PATH: '/bin', LANG: 'C' }), readConfig({}));
  });
});

describe('what is set', () => {
  test('a PostgreSQL database, with so many connections', () => {
    const url = 'postgres://pay:secret@db.example:5433/tillway?sslmode=verify-full';
    assert.deepEqual(readConfig({ DATABASE_URL: url }).database, { kind: 'postgres', url, poolSize: 10 });
    const { database } = readConfig({ DATABASE_URL: 'postgresql://db/tillway', DATABASE_POOL_SIZE: '6' });
    assert.deepEqual(database, { kind: 'postgres', url: 'postgresql://db/tillway', poolSize: 6 });
  });

  test('public URLs are taken in the form in which they travel', () => {
    const { baseUrl, checkoutUrl } = readConfig({
      BASE_URL: 'https://оплата.example/a b/',
      CHECKOUT_URL: 'HTTPS://Pay.Example:443',
    });
    assert.deepEqual([baseUrl, checkoutUrl], ['https://xn--80aa5alfu.example/a%20b', 'https://pay.example']);
  });

  test('every variable is read', () => {
    const config = readConfig({
      PORT: '8080',
      HOST: 'localhost',
      BASE_URL: 'https://pay.example/',
      CHECKOUT_URL: 'https://checkout.example/shop//',
      DATABASE_URL: 'sqlite:/var/lib/tillway/tillway.db',
      MERCHANT_NAME: 'Owl books',
      ROUTES_FILE: './routes.json',
      ROUTING_RULES_FILE: './rules.json',
      SESSION_TTL: '60',
      WEBHOOK_URL: 'https://shop.example/hooks?a=1',
      WEBHOOK_SECRET: SECRET,
      WEBHOOK_ENVIRONMENT: 'production',
      DEMO: 'false',
      SHUTDOWN_DELAY: '0.5',
      SHUTDOWN_TIMEOUT: '3',
      LOG_LEVEL: 'debug',
    });
    assert.deepEqual(config, {
      port: 8080,
      host: 'localhost',
      baseUrl: 'https://pay.example',
      checkoutUrl: 'https://checkout.example/shop',
      database: { kind: 'sqlite', path: '/var/lib/tillway/tillway.db' },
      merchantName: 'Owl books',
      routesFile: './routes.json',
      routingRulesFile: './rules.json',
      sessionTtlMs: 60_000,
      webhook: { url: 'https://shop.example/hooks?a=1', secret: SECRET, environment: 'production' },
      webhookTargets: 'loopback',
      loopbackOnly: true,
      demo: false,
      testClock: false,
      shutdownDelayMs: 500,
      shutdownTimeoutMs: 3_000,
      logLevel: 'debug',
    });
  });

  test('the demo is on where nobody else can reach it, and off elsewhere, unless it is said', () => {
    const open = { HOST: '0.0.0.0', ALLOW_UNAUTHENTICATED: 'true' };
    assert.deepEqual([readConfig({}).demo, readConfig(open).demo], [true, false]);
    assert.equal(readConfig({ ...open, DEMO: 'true' }).demo, true);
  });

  test('port 0 is any free one', () => {
    assert.equal(readConfig({ PORT: '0' }).port, 0);
    assert.equal(readConfig({ PORT: '65535' }).port, 65_535);
  });

  test('webhooks go to public targets, to loopback too on a loopback-only service, to any if allowed', () => {
    const open = { HOST: '0.0.0.0', ALLOW_UNAUTHENTICATED: 'true' };
    assert.equal(readConfig(open).webhookTargets, 'public');
    assert.equal(readConfig({ ...open, WEBHOOK_ALLOW_PRIVATE: 'true' }).webhookTargets, 'any');
    assert.equal(readConfig({ WEBHOOK_ALLOW_PRIVATE: 'false' }).webhookTargets, 'public');
    assert.equal(readConfig({ WEBHOOK_ALLOW_PRIVATE: 'true' }).webhookTargets, 'any');
  });
});

describe('what would open the service to strangers', () => {
  for (const host of ['0.0.0.0', '::', '192.168.1.5', '10.0.0.1', 'pay.example', '127.0.0.1.example', '1127.0.0.1']) {
    test(`HOST=${host} is refused without the opt-out`, () => {
      assert.throws(
        () => readConfig({ HOST: host }),
        /^Error: HOST must be a loopback address, .*ALLOW_UNAUTHENTICATED/,
      );
      assert.throws(() => readConfig({ HOST: host, ALLOW_UNAUTHENTICATED: 'false' }), ConfigError);
      const opened = readConfig({ HOST: host, ALLOW_UNAUTHENTICATED: 'true' });
      assert.deepEqual([opened.host, opened.loopbackOnly], [host, false]);
    });
  }

  for (const host of ['127.0.0.1', '127.0.0.53', '::1', 'localhost']) {
    test(`HOST=${host} is this machine alone`, () => assert.equal(readConfig({ HOST: host }).loopbackOnly, true));
  }
});

describe('what is wrong gives one clear line', () => {
  const bad: [string, string, RegExp][] = [
    ['PORT', 'http', /port/],
    ['PORT', '80.5', /port/],
    ['PORT', '-1', /port/],
    ['PORT', '65536', /port/],
    ['BASE_URL', 'pay.example', /http or https URL/],
    ['BASE_URL', 'ftp://pay.example', /http or https URL/],
    ['BASE_URL', 'https://user:pw@pay.example', /no user name, password/],
    ['BASE_URL', 'https://pay.example/?a=1', /no user name, password, query/],
    ['CHECKOUT_URL', 'https://pay.example/#a', /query or fragment/],
    ['CHECKOUT_URL', '/checkout', /http or https URL/],
    ['DATABASE_URL', 'mysql://localhost/tillway', /sqlite:<path>.*postgres:/],
    ['DATABASE_URL', 'postgres:tillway', /postgres:/],
    ['DATABASE_URL', 'postgres://db.example', /<database>/],
    ['DATABASE_URL', 'postgres://pay:p@ss/w@db.example/tillway', /percent-encoded/],
    ['DATABASE_URL', 'postgres://pay:a#b@db.example/tillway', /percent-encoded/],
    ['DATABASE_URL', 'postgres://a:1,b:2/tillway', /one host/],
    ['DATABASE_URL', 'postgres://a,b/tillway', /one host/],
    ['DATABASE_URL', 'postgres://db.example/tillway?sslmode=require', /sslmode verify-full, no-verify, disable/],
    ['DATABASE_POOL_SIZE', '5', /at least 6/],
    ['DATABASE_POOL_SIZE', '1001', /at most 1000/],
    ['DATABASE_URL', 'sqlite:', /sqlite:<path>/],
    ['MERCHANT_NAME', 'x'.repeat(121), /./],
    ['SESSION_TTL', 'a day', /seconds/],
    ['SESSION_TTL', '0', /seconds/],
    ['SESSION_TTL', '-5', /seconds/],
    ['SESSION_TTL', '1.5', /seconds/],
    ['WEBHOOK_URL', 'shop.example', /http or https URL/],
    ['WEBHOOK_SECRET', 'secret', /whsec_/],
    ['WEBHOOK_SECRET', `whsec_${Buffer.alloc(23).toString('base64')}`, /24 to 64/],
    ['WEBHOOK_SECRET', `whsec_${Buffer.alloc(65).toString('base64')}`, /24 to 64/],
    ['WEBHOOK_ENVIRONMENT', 'test', /sandbox/],
    ['WEBHOOK_ALLOW_PRIVATE', 'yes', /true or false/],
    ['ALLOW_UNAUTHENTICATED', '1', /true or false/],
    ['SHUTDOWN_TIMEOUT', 'soon', /seconds/],
    ['SHUTDOWN_DELAY', 'soon', /seconds/],
    ['SHUTDOWN_DELAY', '-1', /./],
    ['SHUTDOWN_DELAY', '301', /./],
    ['DEMO', 'yes', /true or false/],
    ['TEST_CLOCK', '24h', /true or false/],
    ['LOG_LEVEL', 'loud', /info/],
  ];
  for (const [name, value, words] of bad) {
    test(`${name}=${value.slice(0, 30)}`, () => {
      assert.throws(
        () => readConfig({ [name]: value }),
        (error: Error) => {
          assert.ok(error instanceof ConfigError);
          assert.ok(error.message.startsWith(`${name} `), error.message);
          assert.doesNotMatch(error.message, /\n|undefined/);
          assert.match(error.message, words);
          return true;
        },
      );
    });
  }

  test('secrets of 24 and of 64 bytes pass', () => {
    for (const size of [24, 64]) {
      const secret = `whsec_${Buffer.alloc(size, 1).toString('base64')}`;
      assert.equal(readConfig({ WEBHOOK_URL: 'https://shop.example', WEBHOOK_SECRET: secret }).webhook?.secret, secret);
    }
  });

  test('WEBHOOK_URL without a secret is refused, and the line says how to make one', () => {
    assert.throws(() => readConfig({ WEBHOOK_URL: 'https://shop.example' }), /WEBHOOK_SECRET is needed.*openssl rand/);
    assert.equal(readConfig({ WEBHOOK_SECRET: SECRET }).webhook, undefined);
  });

  test('a secret is never repeated in the line', () => {
    assert.throws(
      () => readConfig({ WEBHOOK_SECRET: 'whsec_not-base64-hunter2' }),
      (error: Error) => !error.message.includes('hunter2'),
    );
  });

  test('a test clock is for sandbox alone', () => {
    assert.equal(readConfig({ TEST_CLOCK: 'true' }).testClock, true);
    assert.equal(readConfig({ TEST_CLOCK: 'true', WEBHOOK_ENVIRONMENT: 'sandbox' }).testClock, true);
    assert.throws(
      () => readConfig({ TEST_CLOCK: 'true', WEBHOOK_ENVIRONMENT: 'production' }),
      /^Error: TEST_CLOCK moves the time of sandbox payments only: .*WEBHOOK_ENVIRONMENT=sandbox$/,
    );
  });

  test('several mistakes are named at once', () => {
    assert.throws(() => readConfig({ PORT: 'x', LOG_LEVEL: 'loud' }), /^Error: PORT .*; LOG_LEVEL /);
  });
});
