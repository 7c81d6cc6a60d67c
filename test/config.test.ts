import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { ConfigError, readConfig } from '../src/config.ts';
import { reservePort, warnOfNoAddress } from '../src/service/addresses.ts';

const KEY = `sk_sandbox_${'a'.repeat(43)}`;
const LIVE_KEY = `sk_live_${'b'.repeat(43)}`;
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
      redirectSchemes: [],
      sessionTtlMs: 86_400_000,
      encryptionKeys: [],
      sandboxSettlementDelayMs: 86_400_000,
      webhook: undefined,
      webhookTargets: 'loopback',
      loopbackOnly: true,
      exposedBy: undefined,
      allowUnauthenticated: false,
      bootstrapKeys: [],
      demo: 'while_open',
      testClock: false,
      shutdownDelayMs: 1_000,
      shutdownTimeoutMs: 10_000,
      limits: {
        trustedProxies: [],
        maxConnections: 8192,
        headersTimeoutMs: 10_000,
        requestTimeoutMs: 30_000,
        api: 'off',
        pages: 1200,
        callbacks: 60,
        payments: 60,
      },
      telemetry: { metrics: undefined, traces: undefined },
      logLevel: 'info',
    });
  });

  test('what is none of ours is left alone', () => {
    assert.deepEqual(readConfig({ PATH: '/bin', LANG: '' }), readConfig({}));
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
      REDIRECT_SCHEMES: 'myapp, Other+App',
      SESSION_TTL: '60',
      SANDBOX_SETTLEMENT_DELAY: '0',
      WEBHOOK_URL: 'https://shop.example/hooks?a=1',
      WEBHOOK_SECRET: SECRET,
      WEBHOOK_ENVIRONMENT: 'production',
      BOOTSTRAP_API_KEYS: `${KEY}, ${LIVE_KEY}`,
      DEMO: 'false',
      SHUTDOWN_DELAY: '0.5',
      SHUTDOWN_TIMEOUT: '3',
      TRUSTED_PROXIES: '10.0.0.7, 192.168.0.0/16,fd00::/8',
      MAX_CONNECTIONS: '500',
      HEADERS_TIMEOUT: '5',
      REQUEST_TIMEOUT: '6',
      ENCRYPTION_KEY: [1, 2].map((byte) => Buffer.alloc(32, byte).toString('base64')).join(','),
      API_RATE_LIMIT: 'standard',
      PAGE_RATE_LIMIT: 'off',
      CALLBACK_RATE_LIMIT: '7',
      PAYMENT_RATE_LIMIT: '8',
      METRICS_PORT: '9464',
      METRICS_HOST: '10.0.0.7',
      OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector.example/otlp/',
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20a%20b, x-team=pay',
      OTEL_SERVICE_NAME: 'checkout',
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.25',
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
      redirectSchemes: ['myapp', 'other+app'],
      sessionTtlMs: 60_000,
      encryptionKeys: [Buffer.alloc(32, 1), Buffer.alloc(32, 2)],
      sandboxSettlementDelayMs: 0,
      webhook: { url: 'https://shop.example/hooks?a=1', secret: SECRET, environment: 'production' },
      webhookTargets: 'public',
      loopbackOnly: true,
      exposedBy: 'BASE_URL',
      allowUnauthenticated: false,
      bootstrapKeys: [KEY, LIVE_KEY],
      demo: false,
      testClock: false,
      shutdownDelayMs: 500,
      shutdownTimeoutMs: 3_000,
      limits: {
        trustedProxies: ['10.0.0.7', '192.168.0.0/16', 'fd00::/8'],
        maxConnections: 500,
        headersTimeoutMs: 5000,
        requestTimeoutMs: 6000,
        api: 'standard',
        pages: undefined,
        callbacks: 7,
        payments: 8,
      },
      telemetry: {
        metrics: { port: 9464, host: '10.0.0.7' },
        traces: {
          url: 'https://collector.example/otlp/v1/traces',
          headers: { authorization: 'Bearer a b', 'x-team': 'pay' },
          serviceName: 'checkout',
          sampler: { name: 'traceidratio', parentBased: true, ratio: 0.25 },
        },
      },
      logLevel: 'debug',
    });
  });

  test('the demo is on where nobody else can reach it, as long as there is no key, and off elsewhere, unless it is said', () => {
    const open = { HOST: '0.0.0.0', ALLOW_UNAUTHENTICATED: 'true' };
    assert.deepEqual([readConfig({}).demo, readConfig(open).demo], ['while_open', false]);
    assert.equal(readConfig({ DEMO: 'true' }).demo, true);
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

describe('a variable that is set but empty', () => {
  const documented = readFileSync(new URL('../README.md', import.meta.url), 'utf8').match(
    /(?<=^\| `)[A-Z][A-Z_]+(?=`)/gm,
  );
  const names = [...(documented ?? []), 'DATABASE_POOL_SIZE', 'OTEL_TRACES_SAMPLER_ARG'];

  for (const name of new Set(names)) {
    test(`is refused, and named: ${name}`, () => {
      for (const value of ['', '  ']) {
        assert.throws(
          () => readConfig({ [name]: value }),
          (error) =>
            error instanceof ConfigError && error.message === `${name} is set but empty: unset it, or give it a value`,
        );
      }
    });
  }

  test('every one is named at once', () => {
    assert.throws(
      () => readConfig({ DATABASE_URL: '', PORT: '' }),
      /PORT is set but empty.*; DATABASE_URL is set but empty/,
    );
  });
});

describe('what would open the service to strangers', () => {
  for (const host of ['0.0.0.0', '::', '192.168.1.5', '10.0.0.1', 'pay.example', '127.0.0.1.example', '1127.0.0.1']) {
    // Whether it has a key is known when the database is: see test/api/api-keys.test.ts.
    test(`HOST=${host} can be reached by others, and needs a key unless it is told otherwise`, () => {
      const closed = readConfig({ HOST: host });
      assert.deepEqual([closed.host, closed.loopbackOnly, closed.allowUnauthenticated], [host, false, false]);
      assert.equal(closed.exposedBy, 'HOST');
      assert.equal(readConfig({ HOST: host, ALLOW_UNAUTHENTICATED: 'true' }).allowUnauthenticated, true);
    });
  }

  for (const host of ['127.0.0.1', '127.0.0.53', '::1', 'localhost', 'LOCALHOST', '::ffff:127.0.0.1']) {
    test(`HOST=${host} is this machine alone`, () => {
      const config = readConfig({ HOST: host });
      assert.deepEqual([config.loopbackOnly, config.exposedBy], [true, undefined]);
    });
  }

  test('a proxy in front does, or a public name: then a key is needed, nothing is shown, and no webhook stays here', () => {
    const exposing = { BASE_URL: 'https://pay.example', CHECKOUT_URL: 'http://10.0.0.1', TRUSTED_PROXIES: '127.0.0.1' };
    for (const [name, value] of Object.entries(exposing)) {
      const { loopbackOnly, exposedBy, demo, webhookTargets } = readConfig({ [name]: value });
      assert.deepEqual([loopbackOnly, exposedBy, demo, webhookTargets], [true, name, false, 'public']);
    }
    for (const url of ['http://localhost:8080', 'http://127.1/pay', 'https://[::1]', 'http://[::ffff:127.0.0.1]']) {
      assert.equal(readConfig({ BASE_URL: url, CHECKOUT_URL: url }).exposedBy, undefined, url);
    }
  });
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
    ['DATABASE_URL', 'sqlite::memory:', /must name a file/],
    ['DATABASE_URL', 'sqlite:file::memory:?cache=shared', /must name a file/],
    ['DATABASE_URL', 'sqlite:file:a.db?mode=memory', /must name a file/],
    ['MERCHANT_NAME', 'x'.repeat(121), /./],
    ...[
      'javascript',
      'data',
      'vbscript',
      'file',
      'blob',
      'about',
      'JavaScript',
      'http',
      'https',
      'my app',
      'myapp:',
      ',',
    ].map((schemes): [string, string, RegExp] => ['REDIRECT_SCHEMES', schemes, /app schemes separated by commas/]),
    ['SESSION_TTL', 'a day', /seconds/],
    ['SANDBOX_SETTLEMENT_DELAY', 'never', /seconds/],
    ['SANDBOX_SETTLEMENT_DELAY', '0.5', /whole number/],
    ['SANDBOX_SETTLEMENT_DELAY', '2592001', /at most 2592000/],
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
    ['BOOTSTRAP_API_KEYS', KEY.slice(0, -1), /sk_sandbox_ or sk_live_ and 43/],
    ['BOOTSTRAP_API_KEYS', `${KEY} ${LIVE_KEY}`, /separated by commas/],
    ['BOOTSTRAP_API_KEYS', `${KEY},`, /separated by commas/],
    ['SHUTDOWN_TIMEOUT', 'soon', /seconds/],
    ['SHUTDOWN_DELAY', 'soon', /seconds/],
    ['SHUTDOWN_DELAY', '-1', /./],
    ['SHUTDOWN_DELAY', '301', /./],
    ['DEMO', 'yes', /true or false/],
    ['TEST_CLOCK', '24h', /true or false/],
    ['LOG_LEVEL', 'loud', /info/],
    ['METRICS_PORT', '65536', /port/],
    ['METRICS_PORT', '3000', /another port than PORT/],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', '127.0.0.1:4318', /http or https URL/],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'authorization', /name=value/],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'a=%zz', /percent-encoded/],
    ['OTEL_TRACES_SAMPLER', 'sometimes', /always_on/],
    ['OTEL_TRACES_SAMPLER_ARG', '1.1', /0 to 1/],
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
    assert.throws(
      () => readConfig({ BOOTSTRAP_API_KEYS: `${KEY},sk_live_hunter2` }),
      (error: Error) => !error.message.includes('hunter2') && !error.message.includes(KEY),
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

describe('what is taken of callers', () => {
  const wrong: Record<string, RegExp> = {
    'TRUSTED_PROXIES=proxy.example':
      /^TRUSTED_PROXIES must be addresses or networks, for example 10\.0\.0\.7,192\.168\.0\.0\/16$/,
    'TRUSTED_PROXIES=10.0.0.0/33': /^TRUSTED_PROXIES must be addresses/,
    'TRUSTED_PROXIES=10/8': /^TRUSTED_PROXIES must be addresses/,
    'TRUSTED_PROXIES=010.0.0.0/8': /^TRUSTED_PROXIES must be addresses/,
    'TRUSTED_PROXIES=0.0.0.0/00': /^TRUSTED_PROXIES must be addresses/,
    'TRUSTED_PROXIES=10.0.0.0/8/8': /^TRUSTED_PROXIES must be addresses/,
    'TRUSTED_PROXIES=0.0.0.0/0': /^TRUSTED_PROXIES must hold no network as wide as 0\.0\.0\.0\/0$/,
    'TRUSTED_PROXIES=10.0.0.1,128.0.0.0/7': /^TRUSTED_PROXIES must hold no network as wide as 128\.0\.0\.0\/7$/,
    'TRUSTED_PROXIES=fc00::/6': /^TRUSTED_PROXIES must hold no network as wide as fc00::\/6$/,
    'TRUSTED_PROXIES=::/80': /^TRUSTED_PROXIES must hold no network as wide as /,
    'TRUSTED_PROXIES=::ffff:0:0/103': /^TRUSTED_PROXIES must hold no network as wide as /,
    'TRUSTED_PROXIES=10.0.0.1,': /^TRUSTED_PROXIES must be addresses/,
    'MAX_CONNECTIONS=9': /^MAX_CONNECTIONS must be at least 10$/,
    'REQUEST_TIMEOUT=9': /^REQUEST_TIMEOUT must be at least HEADERS_TIMEOUT/,
    'HEADERS_TIMEOUT=0': /^HEADERS_TIMEOUT must be more than 0 seconds$/,
    'API_RATE_LIMIT=on': /^API_RATE_LIMIT must be one of off, standard$/,
    'PAGE_RATE_LIMIT=many': /^PAGE_RATE_LIMIT must be a whole number of requests a minute, more than 0, or off$/,
    'PAYMENT_RATE_LIMIT=0': /^PAYMENT_RATE_LIMIT must be more than 0 payments a minute$/,
    'CALLBACK_RATE_LIMIT=1.5':
      /^CALLBACK_RATE_LIMIT must be a whole number of callbacks a minute, more than 0, or off$/,
  };
  test('a proxy is an address, or a network that can be one’s own', () => {
    const proxies = '10.0.0.0/8,fc00::/7,::1,::ffff:10.0.0.0/104,0.0.0.0';
    assert.deepEqual(readConfig({ TRUSTED_PROXIES: proxies }).limits.trustedProxies, proxies.split(','));
  });
  for (const [setting, complaint] of Object.entries(wrong)) {
    test(`${setting} is refused`, () => {
      const [name, value] = setting.split('=');
      assert.throws(() => readConfig({ [name!]: value! }), { message: complaint });
    });
  }
});

describe('HOST', () => {
  const warned = (variables: Record<string, string>, url: string) => {
    const lines: string[] = [];
    warnOfNoAddress(readConfig(variables), url, { warn: (...words: unknown[]) => void lines.push(String(words[0])) });
    return lines.map((line) => line.includes('BASE_URL'));
  };

  test('that is every address is warned of where no BASE_URL says which one others see', () => {
    assert.deepEqual(warned({ HOST: '0.0.0.0' }, 'http://0.0.0.0:3000'), [true]);
    assert.deepEqual(warned({ HOST: '::' }, 'http://[::]:3000'), [true]);
    assert.deepEqual(warned({ HOST: '0.0.0.0', BASE_URL: 'https://pay.example' }, 'https://pay.example'), []);
    assert.deepEqual(warned({ HOST: '192.168.0.7' }, 'http://192.168.0.7:3000'), []);
  });
});

describe('PORT', () => {
  test('of 0 is another one for each of two services that start at once, whatever both draw', async () => {
    const config = readConfig({ PORT: '0' });
    const drawn: Uint8Array[] = [];
    await using first = await reservePort(config, (count) => {
      drawn.unshift(randomBytes(count));
      return drawn[0]!;
    });
    const again = drawn.slice(0, 1);
    await using second = await reservePort(config, (count) => again.pop() ?? randomBytes(count));
    assert.equal(again.length, 0);
    assert.notEqual(first.port, second.port);
  });
});
