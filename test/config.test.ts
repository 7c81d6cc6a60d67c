import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { ConfigError, readConfig } from '../src/config.ts';
import { reservePort } from '../src/service/addresses.ts';

const EVERY_TRACE = { name: 'always_on', parentBased: true, ratio: 1 };
const KEY = `sk_sandbox_${'a'.repeat(43)}`;
const LIVE_KEY = `sk_live_${'b'.repeat(43)}`;
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const POSTGRES = 'postgres://pay:secret@db.example:5433/tillway?sslmode=verify-full';
const EXPOSED = { HOST: '0.0.0.0', ALLOW_UNAUTHENTICATED: 'true' };
/** For each setting, the other settings that it requires. */
const REQUIRED: Record<string, Record<string, string>> = {
  DATABASE_POOL_SIZE: { DATABASE_URL: POSTGRES },
  WEBHOOK_URL: { WEBHOOK_SECRET: SECRET },
  METRICS_HOST: { METRICS_PORT: '9464' },
  OTEL_EXPORTER_OTLP_HEADERS: { OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector.example' },
  OTEL_SERVICE_NAME: { OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector.example' },
  OTEL_TRACES_SAMPLER: { OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector.example' },
  OTEL_TRACES_SAMPLER_ARG: {
    OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector.example',
    OTEL_TRACES_SAMPLER: 'traceidratio',
  },
};

/** For each setting: the path of its value in the config, the default value, and pairs of text and value. */
const EXAMPLES: [path: string, fallback: unknown, setting: string, ...values: [text: string, value: unknown][]][] = [
  ['port', 3000, 'PORT', ['8080', 8080], ['0', 0], ['65535', 65_535]],
  ['host', '127.0.0.1', 'HOST', ['localhost', 'localhost']],
  [
    'baseUrl',
    undefined,
    'BASE_URL',
    ['https://pay.example/', 'https://pay.example'],
    ['https://оплата.example/a b/', 'https://xn--80aa5alfu.example/a%20b'],
  ],
  [
    'checkoutUrl',
    undefined,
    'CHECKOUT_URL',
    ['https://checkout.example/shop//', 'https://checkout.example/shop'],
    ['HTTPS://Pay.Example:443', 'https://pay.example'],
  ],
  [
    'database',
    { kind: 'sqlite', path: './data/tillway.db' },
    'DATABASE_URL',
    ['sqlite:/var/lib/tillway.db', { kind: 'sqlite', path: '/var/lib/tillway.db' }],
    [POSTGRES, { kind: 'postgres', url: POSTGRES, poolSize: 10 }],
    ['postgresql://db/tillway', { kind: 'postgres', url: 'postgresql://db/tillway', poolSize: 10 }],
  ],
  ['database.poolSize', 10, 'DATABASE_POOL_SIZE', ['6', 6]],
  ['merchantName', 'Demo merchant', 'MERCHANT_NAME', ['Owl books', 'Owl books']],
  ['reportingZone', 'UTC', 'REPORTING_TIME_ZONE', ['Asia/Kathmandu', 'Asia/Kathmandu']],
  ['routesFile', undefined, 'ROUTES_FILE', ['./routes.json', './routes.json']],
  ['routingRulesFile', undefined, 'ROUTING_RULES_FILE', ['./rules.json', './rules.json']],
  ['routingMetadataKey', undefined, 'ROUTING_METADATA_KEY', ['country', 'country']],
  ['redirectSchemes', [], 'REDIRECT_SCHEMES', ['myapp, Other+App', ['myapp', 'other+app']]],
  ['sessionTtlMs', 86_400_000, 'SESSION_TTL', ['60', 60_000]],
  ['sandboxSettlementDelayMs', 86_400_000, 'SANDBOX_SETTLEMENT_DELAY', ['0', 0]],
  [
    'webhook',
    undefined,
    'WEBHOOK_URL',
    [
      'https://shop.example/hooks?a=1',
      { url: 'https://shop.example/hooks?a=1', secret: SECRET, environment: 'sandbox' },
    ],
  ],
  ['webhookTargets', 'loopback', 'WEBHOOK_ALLOW_PRIVATE', ['false', 'public'], ['true', 'any']],
  [
    'encryptionKeys',
    [],
    'ENCRYPTION_KEY',
    [
      [1, 2].map((byte) => Buffer.alloc(32, byte).toString('base64')).join(','),
      [Buffer.alloc(32, 1), Buffer.alloc(32, 2)],
    ],
  ],
  ['allowUnauthenticated', false, 'ALLOW_UNAUTHENTICATED', ['true', true]],
  ['bootstrapKeys', [], 'BOOTSTRAP_API_KEYS', [`${KEY}, ${LIVE_KEY}`, [KEY, LIVE_KEY]]],
  ['demo', 'while_open', 'DEMO', ['false', false], ['true', true]],
  ['testClock', false, 'TEST_CLOCK', ['true', true]],
  ['shutdownDelayMs', 1000, 'SHUTDOWN_DELAY', ['0.5', 500]],
  ['shutdownTimeoutMs', 10_000, 'SHUTDOWN_TIMEOUT', ['3', 3000]],
  [
    'limits.trustedProxies',
    [],
    'TRUSTED_PROXIES',
    ['10.0.0.7, 192.168.0.0/16,fd00::/8', ['10.0.0.7', '192.168.0.0/16', 'fd00::/8']],
    [
      '10.0.0.0/8,fc00::/7,::1,::ffff:10.0.0.0/104,0.0.0.0',
      ['10.0.0.0/8', 'fc00::/7', '::1', '::ffff:10.0.0.0/104', '0.0.0.0'],
    ],
  ],
  ['limits.maxConnections', 8192, 'MAX_CONNECTIONS', ['500', 500]],
  ['limits.headersTimeoutMs', 10_000, 'HEADERS_TIMEOUT', ['5', 5000]],
  ['limits.requestTimeoutMs', 30_000, 'REQUEST_TIMEOUT', ['12', 12_000]],
  ['limits.api', 'off', 'API_RATE_LIMIT', ['standard', 'standard']],
  ['dashboard.isEnabled', true, 'DASHBOARD', ['false', false]],
  ['dashboard.url', 'http://localhost:3000', 'DASHBOARD_URL', ['https://ops.example/', 'https://ops.example']],
  ['limits.pages', 1200, 'PAGE_RATE_LIMIT', ['off', undefined]],
  ['limits.callbacks', 60, 'CALLBACK_RATE_LIMIT', ['7', 7]],
  ['limits.payments', 60, 'PAYMENT_RATE_LIMIT', ['8', 8]],
  ['telemetry.metrics', undefined, 'METRICS_PORT', ['9464', { port: 9464, host: '127.0.0.1' }]],
  ['telemetry.metrics.host', '127.0.0.1', 'METRICS_HOST', ['10.0.0.7', '10.0.0.7']],
  [
    'telemetry.traces',
    undefined,
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    [
      'https://collector.example/otlp/',
      { url: 'https://collector.example/otlp/v1/traces', headers: {}, serviceName: 'tillway', sampler: EVERY_TRACE },
    ],
  ],
  [
    'telemetry.traces.headers',
    {},
    'OTEL_EXPORTER_OTLP_HEADERS',
    ['authorization=Bearer%20a%20b, x-team=pay', { authorization: 'Bearer a b', 'x-team': 'pay' }],
  ],
  ['telemetry.traces.serviceName', 'tillway', 'OTEL_SERVICE_NAME', ['checkout', 'checkout']],
  [
    'telemetry.traces.sampler',
    EVERY_TRACE,
    'OTEL_TRACES_SAMPLER',
    ['always_off', { name: 'always_off', parentBased: false, ratio: 1 }],
    ['parentbased_traceidratio', { name: 'traceidratio', parentBased: true, ratio: 1 }],
  ],
  ['telemetry.traces.sampler.ratio', 1, 'OTEL_TRACES_SAMPLER_ARG', ['0.25', 0.25]],
  ['logLevel', 'info', 'LOG_LEVEL', ['debug', 'debug']],
];

function valueAt(config: unknown, path: string): unknown {
  return path.split('.').reduce((part, name) => (part as Record<string, unknown>)[name], config);
}

describe('a setting of the service', () => {
  for (const [path, fallback, setting, ...values] of EXAMPLES) {
    test(`${setting} is read, and has a default`, () => {
      assert.deepEqual(valueAt(readConfig(REQUIRED[setting] ?? {}), path), fallback);
      for (const [text, value] of values) {
        assert.deepEqual(valueAt(readConfig({ ...REQUIRED[setting], [setting]: text }), path), value, text);
      }
    });
  }

  test('environment variables of other programs are ignored', () => {
    assert.deepEqual(readConfig({ PATH: '/bin', LANG: '' }), readConfig({}));
  });

  test('WEBHOOK_ENVIRONMENT sets the environment of WEBHOOK_URL', () => {
    const url = 'https://shop.example';
    const variables = { WEBHOOK_URL: url, WEBHOOK_SECRET: SECRET, WEBHOOK_ENVIRONMENT: 'production' };
    assert.deepEqual(readConfig(variables).webhook, { url, secret: SECRET, environment: 'production' });
    assert.equal(readConfig({ WEBHOOK_SECRET: SECRET }).webhook, undefined);
  });

  const documented = readFileSync(new URL('../README.md', import.meta.url), 'utf8').match(
    /(?<=^\| `)[A-Z][A-Z_]+(?=`)/gm,
  );
  for (const name of new Set([...(documented ?? []), ...EXAMPLES.map(([, , setting]) => setting)])) {
    test(`${name} is rejected if its value is empty`, () => {
      for (const value of ['', '  ']) {
        const message = `${name} is set but empty: unset it, or give it a value`;
        assert.throws(() => readConfig({ [name]: value }), new ConfigError(message));
      }
    });
  }

  test('the error names all empty settings', () => {
    const variables = { DATABASE_URL: '', PORT: '' };
    assert.throws(() => readConfig(variables), /PORT is set but empty.*; DATABASE_URL is set but empty/);
  });
});

describe('a service that other machines can reach', () => {
  for (const host of ['0.0.0.0', '::', '192.168.1.5', '10.0.0.1', 'pay.example', '127.0.0.1.example', '1127.0.0.1']) {
    // test/api/api-keys.test.ts tests the check for an API key, which needs the database.
    test(`with HOST=${host}, the service is exposed: it shows no demo and calls only public webhooks`, () => {
      const { loopbackOnly, exposedBy, demo, webhookTargets } = readConfig({ HOST: host });
      assert.deepEqual([loopbackOnly, exposedBy, demo, webhookTargets], [false, 'HOST', false, 'public']);
    });
  }

  for (const host of ['127.0.0.1', '127.0.0.53', '::1', 'localhost', 'LOCALHOST', '::ffff:127.0.0.1']) {
    test(`with HOST=${host}, the service is not exposed`, () => {
      const config = readConfig({ HOST: host });
      assert.deepEqual([config.loopbackOnly, config.exposedBy], [true, undefined]);
    });
  }

  test('with a proxy or a public URL, the service is exposed: it shows no demo and calls only public webhooks', () => {
    const exposing = { BASE_URL: 'https://pay.example', CHECKOUT_URL: 'http://10.0.0.1', TRUSTED_PROXIES: '127.0.0.1' };
    for (const [name, value] of Object.entries(exposing)) {
      const { loopbackOnly, exposedBy, demo, webhookTargets } = readConfig({ [name]: value });
      assert.deepEqual([loopbackOnly, exposedBy, demo, webhookTargets], [true, name, false, 'public']);
    }
    for (const url of ['http://localhost:8080', 'http://127.1/pay', 'https://[::1]', 'http://[::ffff:127.0.0.1]']) {
      assert.equal(readConfig({ BASE_URL: url, CHECKOUT_URL: url }).exposedBy, undefined, url);
    }
  });

  test('an exposed service shows a demo and calls private webhooks if DEMO and WEBHOOK_ALLOW_PRIVATE are true', () => {
    const { demo, webhookTargets } = readConfig({ ...EXPOSED, DEMO: 'true', WEBHOOK_ALLOW_PRIVATE: 'true' });
    assert.deepEqual([demo, webhookTargets], [true, 'any']);
  });
});

describe('the error for invalid settings', () => {
  const SECONDS = ['a day', '0', '-5', '1.5'];
  const SCHEMES = 'javascript data vbscript file blob about JavaScript http https myapp: ,'.split(' ');
  const INVALID: [setting: string, values: string[], words: RegExp][] = [
    ['PORT', ['http', '80.5', '-1', '65536'], /port/],
    ['BASE_URL', ['pay.example', 'ftp://pay.example'], /http or https URL/],
    ['BASE_URL', ['https://user:pw@pay.example', 'https://pay.example/?a=1'], /no user name, password, query/],
    ['CHECKOUT_URL', ['https://pay.example/#a'], /query or fragment/],
    ['CHECKOUT_URL', ['/checkout'], /http or https URL/],
    ['DATABASE_URL', ['mysql://localhost/tillway', 'sqlite:', 'postgres:tillway'], /sqlite:<path>.*postgres:/],
    ['DATABASE_URL', ['postgres://db.example'], /<database>/],
    ['DATABASE_URL', ['postgres://pay:p@ss/w@db.example/tillway', 'postgres://pay:a#b@db/tillway'], /percent-encode/],
    ['DATABASE_URL', ['postgres://a:1,b:2/tillway', 'postgres://a,b/tillway'], /one host/],
    ['DATABASE_URL', ['postgres://db/tillway?sslmode=require'], /sslmode verify-full, no-verify, disable/],
    ['DATABASE_URL', ['sqlite::memory:', 'sqlite:file::memory:?cache=shared', 'sqlite:file:a.db'], /contain a file/],
    ['DATABASE_POOL_SIZE', ['5'], /at least 6/],
    ['DATABASE_POOL_SIZE', ['1001'], /at most 1000/],
    ['MERCHANT_NAME', ['x'.repeat(121)], /./],
    ['REPORTING_TIME_ZONE', ['Europe/Atlantis', '+05:45', 'local'], /IANA name of a time zone/],
    ['REDIRECT_SCHEMES', [...SCHEMES, 'my app'], /app schemes separated by commas/],
    ['SESSION_TTL', [...SECONDS, '315360001'], /seconds/],
    ['SANDBOX_SETTLEMENT_DELAY', ['never', '0.5', '2592001'], /seconds/],
    ['WEBHOOK_URL', ['shop.example'], /http or https URL/],
    ['WEBHOOK_URL', ['https://user:secret@shop.example', 'https://user@shop.example'], /no user name or password/],
    ['WEBHOOK_SECRET', ['secret'], /whsec_/],
    ['WEBHOOK_SECRET', [23, 65].map((size) => `whsec_${Buffer.alloc(size).toString('base64')}`), /24 to 64/],
    ['WEBHOOK_ENVIRONMENT', ['test'], /sandbox/],
    ['WEBHOOK_ALLOW_PRIVATE', ['yes'], /true or false/],
    ['ALLOW_UNAUTHENTICATED', ['1'], /true or false/],
    [
      'BOOTSTRAP_API_KEYS',
      [KEY.slice(0, -1), `${KEY} ${LIVE_KEY}`, `${KEY},`],
      /separated by commas, each sk_sandbox_/,
    ],
    ['SHUTDOWN_TIMEOUT', [...SECONDS, '86401'], /seconds/],
    ['SHUTDOWN_DELAY', ['soon', '-1', '301'], /seconds/],
    ['ENCRYPTION_KEY', [31, 33].map((size) => Buffer.alloc(size).toString('base64')), /base64/],
    ['DEMO', ['yes'], /true or false/],
    ['TEST_CLOCK', ['24h'], /true or false/],
    ['LOG_LEVEL', ['loud'], /info/],
    ['METRICS_PORT', ['65536'], /port/],
    ['METRICS_PORT', ['3000'], /must differ from PORT/],
    ['DASHBOARD', ['no'], /true or false/],
    ['DASHBOARD_URL', ['http://ops.example'], /must be an https URL, or one of this machine/],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', ['127.0.0.1:4318'], /http or https URL/],
    ['OTEL_EXPORTER_OTLP_HEADERS', ['authorization', 'a=%zz'], /name=value.*percent-encoded/],
    ['OTEL_TRACES_SAMPLER', ['sometimes'], /always_on/],
    ['OTEL_TRACES_SAMPLER_ARG', ['1.1'], /0 to 1/],
    [
      'TRUSTED_PROXIES',
      ['proxy.example', '10.0.0.0/33', '10/8', '010.0.0.0/8', '0.0.0.0/00', '10.0.0.0/8/8', '10.0.0.1,'],
      / must be addresses or networks, for example 10\.0\.0\.7,192\.168\.0\.0\/16$/,
    ],
    [
      'TRUSTED_PROXIES',
      ['0.0.0.0/0', '10.0.0.1,128.0.0.0/7', 'fc00::/6', '::/80', '::ffff:0:0/103'],
      / must not contain a network as wide as /,
    ],
    ['MAX_CONNECTIONS', ['9'], / must be at least 10$/],
    ['REQUEST_TIMEOUT', ['9'], / must be at least HEADERS_TIMEOUT/],
    ['HEADERS_TIMEOUT', ['0'], / must be more than 0 seconds$/],
    ['API_RATE_LIMIT', ['on'], / must be one of off, standard$/],
    ['PAGE_RATE_LIMIT', ['many'], / must be a whole number of requests a minute, more than 0, or off$/],
    ['PAYMENT_RATE_LIMIT', ['0'], / must be more than 0 payments a minute$/],
    ['CALLBACK_RATE_LIMIT', ['1.5'], / must be a whole number of callbacks a minute, more than 0, or off$/],
  ];
  for (const [name, values, words] of INVALID) {
    for (const value of values) {
      test(`the error for ${name}=${value.slice(0, 50)} is one line`, () => {
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
  }

  test('a WEBHOOK_SECRET of 24 or 64 bytes is accepted', () => {
    for (const size of [24, 64]) {
      const secret = `whsec_${Buffer.alloc(size, 1).toString('base64')}`;
      assert.equal(readConfig({ WEBHOOK_URL: 'https://shop.example', WEBHOOK_SECRET: secret }).webhook?.secret, secret);
    }
  });

  test('the error names the missing WEBHOOK_SECRET of a WEBHOOK_URL', () => {
    assert.throws(() => readConfig({ WEBHOOK_URL: 'https://shop.example' }), /WEBHOOK_SECRET is needed.*openssl rand/);
  });

  test('the error for an invalid setting does not contain secrets', () => {
    for (const [name, value] of [
      ['WEBHOOK_SECRET', 'whsec_not-base64-hunter2'],
      ['BOOTSTRAP_API_KEYS', `${KEY},sk_live_hunter2`],
    ] as const) {
      const isSilent = ({ message }: Error) => !message.includes('hunter2') && !message.includes(KEY);
      assert.throws(() => readConfig({ [name]: value }), isSilent);
    }
  });

  test('rejects TEST_CLOCK with production webhooks, and on PostgreSQL, which instances can share', () => {
    for (const [name, value, message] of [
      ['WEBHOOK_ENVIRONMENT', 'production', /^Error: TEST_CLOCK moves .* sandbox .*WEBHOOK_ENVIRONMENT=sandbox$/],
      ['DATABASE_URL', 'postgres://localhost/t', /^Error: TEST_CLOCK is for a single instance.*DATABASE_URL=sqlite:/],
    ] as const) {
      assert.throws(() => readConfig({ TEST_CLOCK: 'true', [name]: value }), message);
    }
  });

  test('the error names all invalid settings', () => {
    assert.throws(() => readConfig({ PORT: 'x', LOG_LEVEL: 'loud' }), /^Error: PORT .*; LOG_LEVEL /);
  });
});

test('two services that start with PORT=0 reserve different ports, even with the same random numbers', async () => {
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
