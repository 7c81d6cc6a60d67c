import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import type { z } from 'zod';
import { amount, email, metadata, movedAmount, sampleMetadata, text } from '../../src/contract/request-fields.ts';
import { feesEstimateRequest, verifySampleRequest, webhookExampleRequest } from '../../src/contract/action-contract.ts';
import { sessionRequest } from '../../src/contract/session-contract.ts';
import { isPlainHttp, redirectUrlField } from '../../src/contract/redirect-url.ts';
import { anyCodePoint } from '../support/code-point.ts';
import { runs } from '../support/for-all.ts';

const EMOJI = '🦉';
const LONE_SURROGATE = '\ud83e';

/** Validation issues of `value` as `path.code`; empty if `value` is valid. */
function issuesOf(schema: z.ZodType, value: unknown): string[] {
  const result = schema.safeParse(value);
  if (result.success) return [];
  return result.error.issues.map(({ path, code }) => [...path.map(String), code].join('.'));
}

function assertAccepts(schema: z.ZodType, ...values: unknown[]): void {
  for (const value of values) assert.deepEqual(issuesOf(schema, value), [], JSON.stringify(value).slice(0, 100));
}

function assertRejects(schema: z.ZodType, code: string, ...values: unknown[]): void {
  for (const value of values) {
    assert.deepEqual(issuesOf(schema, value), [code], (JSON.stringify(value) ?? String(value)).slice(0, 100));
  }
}

const redirectUrl = redirectUrlField([]);
const minimal = { product: 'Field guide', amount: 49.99, customer: 'buyer@example.com' };

function withField(field: string): (value: unknown) => Record<string, unknown> {
  return (value) => ({ ...minimal, [field]: value });
}

describe('amount: greater than 0, at most 10000, two decimals', () => {
  test('amount accepts 0.01 to 10000 and rejects values outside this range', () => {
    assertAccepts(amount, 0.01, 1, 49.99, 9999.99, 10_000);
    assertRejects(amount, 'too_small', 0, -0, -0.01, -1, 1e-9);
    assertRejects(amount, 'too_big', 10_000.01, 10_000.001, 10_001, 1e300, Number.MAX_VALUE);
  });

  test('movedAmount accepts 0 to the largest safe integer of cents', () => {
    assertAccepts(movedAmount, 0, 0.01, 10_000.01, 90_071_992_547_409.91);
    assertRejects(movedAmount, 'too_small', -0.01);
    assertRejects(movedAmount, 'too_big', 90_071_992_547_410);
    assertRejects(movedAmount, 'not_multiple_of', 0.001);
  });

  test('amount accepts 0.1 + 0.2 as 30 cents, and rejects a third decimal', () => {
    assertAccepts(amount, 0.1 + 0.2, 1.1 * 3);
    assertRejects(amount, 'not_multiple_of', 0.001, 0.005, 0.015, 1.234, 9999.999);
  });

  test('amount rejects values that are not finite numbers', () => {
    assertRejects(amount, 'invalid_type', '49.99', null, true, [], {}, undefined, Number.NaN, Infinity);
  });
});

describe('text lengths in Unicode code points', () => {
  const limits: [z.ZodType, string, number, number][] = [
    [sessionRequest, 'product', 1, 120],
    [sessionRequest, 'idempotencyKey', 8, 120],
    [sessionRequest, 'clientReferenceId', 3, 120],
    [feesEstimateRequest, 'routeId', 3, 120],
  ];
  for (const [schema, field, min, max] of limits) {
    test(`${field} accepts ${min} to ${max} code points`, () => {
      const withValue = (value: unknown) => ({
        ...(schema === sessionRequest ? minimal : { amount: 1 }),
        [field]: value,
      });
      for (const letter of ['a', 'é', EMOJI]) {
        assertAccepts(schema, withValue(letter.repeat(min)), withValue(letter.repeat(max)));
        assertRejects(schema, `${field}.too_small`, withValue(letter.repeat(min - 1)));
        assertRejects(schema, `${field}.too_big`, withValue(letter.repeat(max + 1)));
      }
      assertRejects(schema, `${field}.invalid_type`, withValue(5), withValue(null), withValue(['a']));
    });
  }

  test('a random text is accepted if it is well-formed, has no NUL and 3 to 12 code points', () => {
    const schema = text(3, 12);
    fc.assert(
      fc.property(fc.string({ unit: anyCodePoint, maxLength: 30 }), (value) => {
        const length = Array.from(value).length;
        const accepted = !value.includes('\0') && value.isWellFormed() && length >= 3 && length <= 12;
        assert.equal(issuesOf(schema, value).length === 0, accepted);
      }),
      { numRuns: runs(1000) },
    );
  });

  test('a text with NUL or a lone surrogate is rejected, because databases cannot store it', () => {
    for (const field of ['product', 'idempotencyKey', 'clientReferenceId']) {
      const withValue = withField(field);
      const values = [`order\0-1001`, `order-1001${LONE_SURROGATE}`, `${EMOJI.slice(1)}order-1001`];
      assertRejects(sessionRequest, `${field}.invalid_format`, ...values.map(withValue));
    }
  });
});

describe('customer: an email address of at most 254 characters', () => {
  test('customer requires a local part and a domain with a dot', () => {
    assertAccepts(email, 'buyer@example.com', 'Buyer.Name+tag@Sub.Example.co', "o'neil@example.org");
    assertRejects(email, 'invalid_format', '', 'buyer', 'buyer@', '@example.com', 'a b@example.com', 'a@example');
    assertRejects(email, 'invalid_format', 'buyer@example.com\n', ' buyer@example.com', 'a@b@example.com', 'a\0@b.co');
    assertRejects(email, 'invalid_type', 5, null, undefined, {}, []);
  });

  test('customer accepts 254 characters and rejects 255', () => {
    const address = (length: number) => `${'a'.repeat(64)}@${'b.'.repeat(90)}${'c'.repeat(length - 65 - 180 - 3)}.io`;
    assert.equal(address(254).length, 254);
    assertAccepts(email, address(254));
    assertRejects(email, 'too_big', address(255));
  });
});

describe('metadata: up to 10 string pairs, each value at most 500 characters', () => {
  const pairs = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`key${index}`, 'v']));

  test('metadata accepts 10 pairs and rejects 11', () => {
    assertAccepts(metadata, {}, pairs(1), pairs(10));
    assertRejects(metadata, 'key10.too_big', pairs(11));
    assertAccepts(sampleMetadata, pairs(11));
  });

  test('metadata accepts keys and values of 500 code points, and rejects 501', () => {
    for (const letter of ['a', EMOJI]) {
      assertAccepts(metadata, { key: letter.repeat(500) }, { [letter.repeat(500)]: 'value' }, { key: '' });
      assertRejects(metadata, 'key.too_big', { key: letter.repeat(501) });
      assertRejects(sampleMetadata, 'key.too_big', { key: letter.repeat(501) });
      const longKey = letter.repeat(501);
      assertRejects(metadata, `${longKey}.too_big`, { [longKey]: 'value' });
    }
    assertRejects(metadata, '.too_small', { '': 'value' });
  });

  test('metadata rejects values that are not strings', () => {
    assertRejects(metadata, 'key.invalid_type', { key: 1 }, { key: null }, { key: true }, { key: {} }, { key: ['a'] });
    assertRejects(metadata, 'invalid_type', null, 'a', 5, [], ['a'], true);
  });

  test('the error for metadata reports every invalid pair', () => {
    const invalid = { ...pairs(11), key0: 1, key1: 'a'.repeat(501) };
    assert.deepEqual(issuesOf(metadata, invalid), ['key0.invalid_type', 'key1.too_big', 'key10.too_big']);
  });

  test('metadata rejects NUL and lone surrogates in keys and values', () => {
    assertRejects(metadata, 'key.invalid_format', { key: 'a\0b' }, { key: LONE_SURROGATE });
    assertRejects(metadata, 'a\0b.invalid_format', { 'a\0b': 'value' });
    assertRejects(metadata, `${LONE_SURROGATE}.invalid_format`, { [LONE_SURROGATE]: 'value' });
  });

  test('metadata defaults to an empty object, and accepts keys such as __proto__ and constructor', () => {
    assert.deepEqual(sessionRequest.parse(minimal).metadata, {});
    const sent: unknown = JSON.parse('{"__proto__": "a", "constructor": "b", "toString": "c"}');
    assert.equal(JSON.stringify(metadata.parse(sent)), JSON.stringify(sent));
    assert.equal(issuesOf(metadata, JSON.parse('{"__proto__": 1}')).length, 1);
  });
});

describe('redirectUrl: an absolute URI to which a browser may be redirected', () => {
  const LENGTH = 2048;

  test('redirectUrl accepts http, https and app schemes with a dot', () => {
    const web =
      'https://shop.example/thanks?order=1#top http://shop.example HTTPS://SHOP.EXAMPLE/ https://xn--mnchen-3ya.de/';
    const local = 'http://localhost:3000/done http://127.0.0.1/ https://[::1]:8443/';
    const apps = 'com.example.shop:/thanks COM.Example.Shop://thanks shop.ms-x://thanks ws.shop://x';
    const escaped = "https://shop.example/%C3%BC https://shop.example/%00 https://shop.example/?a[]=(1)&b=*'!";
    assertAccepts(redirectUrl, ...[web, local, apps, escaped].flatMap((uris) => uris.split(' ')));
  });

  test('redirectUrl rejects schemes that run code, read files or open other programs', () => {
    const code = 'javascript:alert(1) JavaScript:alert(1) data:text/html,x vbscript:x';
    const files = 'file:///etc/passwd blob:https://shop.example/1 about:blank';
    const nested = 'feed:javascript:x view-source:https://a.example filesystem:https://a.example/x jar:x!/y';
    const programs =
      'chrome://settings resource://x ms-word:ofe|u|x MS-Settings:x search-ms:query=x vscode://x shell:startup';
    const detours = 'intent://x#Intent;scheme=https;end Intent:x android-app://com.example/https/evil.example';
    const network = 'ftp://shop.example/ ws://shop.example/ WSS://shop.example/ ssh://x smb://x/y';
    const others =
      'itms-services://?action=x mailto:a@b.example tel:1 x-apple.systempreferences:x ms-x.y:z shop:/x shop.:/x';
    for (const uris of [code, files, nested, programs, detours, network, others]) {
      assertRejects(redirectUrl, 'invalid_format', ...uris.split(' '));
    }
    const spaced = ['java\nscript:alert(1)', '\tjavascript:alert(1)', ' javascript:alert(1)'];
    assertRejects(redirectUrl, 'invalid_format', ...spaced);
  });

  test('redirectUrl accepts app schemes without a dot if the operator allows them, except forbidden schemes', () => {
    const withAllowedSchemes = redirectUrlField(['myapp', 'shop']);
    assertAccepts(
      withAllowedSchemes,
      'myapp:done',
      'MyApp:done',
      'shop://thanks',
      'com.example.shop:/thanks',
      'https://shop.example',
    );
    assertRejects(withAllowedSchemes, 'invalid_format', 'myapps:done', 'ssh://x', 'shop://user@thanks', 'shop:a b');
    const forbidden = redirectUrlField(['javascript', 'data']);
    assertRejects(forbidden, 'invalid_format', 'javascript:alert(1)', 'data:text/html,x');
  });

  test('redirectUrl rejects user names, and characters that a URI must encode', () => {
    const users = ['user@', 'user:pass@', ':pass@', '@'].map((user) => `https://${user}shop.example`);
    assertRejects(redirectUrl, 'invalid_format', ...users, 'com.shop://user@thanks', 'https:\\\\shop.example');
    const controls = [0x00, 0x09, 0x0a, 0x0d, 0x1f, 0x7f, 0x80, 0x85, 0x9f].map((code) => String.fromCharCode(code));
    const unencoded = ['a b', LONE_SURROGATE, 'ü', EMOJI, '%zz', '%4', '"', '<b>', '{a}', '|', '^', '`', ...controls];
    assertRejects(redirectUrl, 'invalid_format', ...unencoded.map((path) => `https://shop.example/${path}`));
  });

  test('redirectUrl rejects relative references', () => {
    const relative = ' /thanks thanks //shop.example/thanks ?a=1 shop.example/thanks www.shop.example';
    const incomplete = 'https: https:// https:///thanks https:shop.example http:/x';
    assertRejects(redirectUrl, 'invalid_format', ...relative.split(' '), ...incomplete.split(' '));
    assertRejects(redirectUrl, 'invalid_type', 5, null, {}, []);
  });

  test('redirectUrl accepts 2,048 characters and rejects 2,049', () => {
    const uri = (length: number) => `https://shop.example/${'a'.repeat(length - 21)}`;
    assertAccepts(redirectUrl, uri(LENGTH));
    assertRejects(redirectUrl, 'too_big', uri(LENGTH + 1));
  });

  test('redirectUrl accepts plain http in production only for loopback addresses', () => {
    const at = (environment: string) => (uri: string) => ({ ...minimal, environment, redirectUrl: uri });
    const accepted = 'https://shop.example com.shop://thanks http://localhost/ http://127.0.0.1:8080 http://[::1]/';
    assertAccepts(sessionRequest, ...accepted.split(' ').map(at('production')), at('sandbox')('http://shop.example'));
    const plain = ['http://shop.example', 'HTTP://shop.example', 'http://localhost.evil.example'].map(at('production'));
    assertRejects(sessionRequest, 'redirectUrl.custom', ...plain);
    assert.equal(isPlainHttp('no uri'), false);
  });
});

describe('request bodies', () => {
  test('request bodies are valid with the required fields only, and get the default values', () => {
    assert.deepEqual(sessionRequest.parse(minimal), { ...minimal, metadata: {}, environment: 'sandbox' });
    assert.deepEqual(feesEstimateRequest.parse({ amount: 1 }), { amount: 1, environment: 'sandbox' });
    const example = webhookExampleRequest.parse({});
    assert.deepEqual([example.event, example.livemode, example.metadata], ['payment.paid', false, {}]);
    assert.equal(webhookExampleRequest.parse({ txHash: null }).txHash, null);
  });

  test('request bodies are rejected for missing fields, unknown enum values and unknown properties', () => {
    const missing = ['product.invalid_type', 'amount.invalid_type', 'customer.invalid_type'];
    assert.deepEqual(issuesOf(sessionRequest, {}), missing);
    const callback = ['eventId.invalid_type', 'sessionId.invalid_type', 'status.invalid_value', 'amount.invalid_type'];
    assert.deepEqual(
      issuesOf(verifySampleRequest, { payload: {} }),
      callback.map((fault) => `payload.${fault}`),
    );
    assertAccepts(sessionRequest, ...['card', 'wallet', 'local'].map(withField('preferredRoute')));
    const kinds = ['CARD', '', 'bank', null, 1].map(withField('preferredRoute'));
    assertRejects(sessionRequest, 'preferredRoute.invalid_value', ...kinds);
    assertAccepts(sessionRequest, ...['sandbox', 'production'].map(withField('environment')));
    assertRejects(sessionRequest, 'environment.invalid_value', ...['test', '', null].map(withField('environment')));
    assert.deepEqual(issuesOf(sessionRequest, { ...minimal, currency: 'EUR', extra: 1 }), ['unrecognized_keys']);
  });
});
