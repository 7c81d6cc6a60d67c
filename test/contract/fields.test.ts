import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import type { z } from 'zod';
import { amount, email, metadata, movedAmount, sampleMetadata, text } from '../../src/contract/request-fields.ts';
import { feesEstimateRequest, verifySampleRequest, webhookExampleRequest } from '../../src/contract/action-contract.ts';
import { sessionRequest } from '../../src/contract/session-contract.ts';
import { isPlainHttp, redirectUrlField } from '../../src/contract/redirect-url.ts';
import { anyCodePoint } from '../support/code-point.ts';

const EMOJI = '🦉';
const LONE_SURROGATE = '\ud83e';

/** The codes of all that is wrong with `value`, each with its path; empty where it is taken. */
function faults(schema: z.ZodType, value: unknown): string[] {
  const result = schema.safeParse(value);
  if (result.success) return [];
  return result.error.issues.map(({ path, code }) => [...path.map(String), code].join('.'));
}

function assertTakes(schema: z.ZodType, ...values: unknown[]): void {
  for (const value of values) assert.deepEqual(faults(schema, value), [], JSON.stringify(value).slice(0, 100));
}

function assertRefuses(schema: z.ZodType, code: string, ...values: unknown[]): void {
  for (const value of values) {
    assert.deepEqual(faults(schema, value), [code], (JSON.stringify(value) ?? String(value)).slice(0, 100));
  }
}

const redirectUrl = redirectUrlField([]);
const minimal = { product: 'Field guide', amount: 49.99, customer: 'buyer@example.com' };

function withField(field: string): (value: unknown) => Record<string, unknown> {
  return (value) => ({ ...minimal, [field]: value });
}

describe('amount: greater than 0, at most 10000, two decimals', () => {
  test('both ends', () => {
    assertTakes(amount, 0.01, 1, 49.99, 9999.99, 10_000);
    assertRefuses(amount, 'too_small', 0, -0, -0.01, -1, 1e-9);
    assertRefuses(amount, 'too_big', 10_000.01, 10_000.001, 10_001, 1e300, Number.MAX_VALUE);
  });

  test('an amount moved by a provider may be 0 and at most what integers count in cents', () => {
    assertTakes(movedAmount, 0, 0.01, 10_000.01, 90_071_992_547_409.91);
    assertRefuses(movedAmount, 'too_small', -0.01);
    assertRefuses(movedAmount, 'too_big', 90_071_992_547_410);
    assertRefuses(movedAmount, 'not_multiple_of', 0.001);
  });

  test('0.1 + 0.2 is 30 cents, and a third decimal is refused', () => {
    assertTakes(amount, 0.1 + 0.2, 1.1 * 3);
    assertRefuses(amount, 'not_multiple_of', 0.001, 0.005, 0.015, 1.234, 9999.999);
  });

  test('only numbers', () => {
    assertRefuses(amount, 'invalid_type', '49.99', null, true, [], {}, undefined, Number.NaN, Infinity);
  });

  test('every whole number of cents is taken, and nothing between two of them', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_000_000 }), fc.integer({ min: 1, max: 9 }), (cents, mills) => {
        assertTakes(amount, cents / 100);
        if (cents < 1_000_000) assertRefuses(amount, 'not_multiple_of', (cents * 10 + mills) / 1000);
      }),
    );
  });
});

describe('lengths count Unicode code points', () => {
  const limits: [z.ZodType, string, number, number][] = [
    [sessionRequest, 'product', 1, 120],
    [sessionRequest, 'idempotencyKey', 8, 120],
    [sessionRequest, 'clientReferenceId', 3, 120],
    [feesEstimateRequest, 'routeId', 3, 120],
  ];
  for (const [schema, field, min, max] of limits) {
    test(`${field}: ${min} to ${max}`, () => {
      const withValue = (value: unknown) => ({
        ...(schema === sessionRequest ? minimal : { amount: 1 }),
        [field]: value,
      });
      for (const letter of ['a', 'é', EMOJI]) {
        assertTakes(schema, withValue(letter.repeat(min)), withValue(letter.repeat(max)));
        assertRefuses(schema, `${field}.too_small`, withValue(letter.repeat(min - 1)));
        assertRefuses(schema, `${field}.too_big`, withValue(letter.repeat(max + 1)));
      }
      assertRefuses(schema, `${field}.invalid_type`, withValue(5), withValue(null), withValue(['a']));
    });
  }

  test('a text is measured in code points, whatever its content', () => {
    const schema = text(3, 12);
    fc.assert(
      fc.property(fc.string({ unit: anyCodePoint, maxLength: 30 }), (value) => {
        const length = Array.from(value).length;
        const taken = !value.includes('\0') && value.isWellFormed() && length >= 3 && length <= 12;
        assert.equal(faults(schema, value).length === 0, taken);
      }),
      { numRuns: 1000 },
    );
  });

  test('a text with NUL or a lone surrogate, which no database stores, is refused', () => {
    for (const field of ['product', 'idempotencyKey', 'clientReferenceId']) {
      const withValue = withField(field);
      const values = [`order\0-1001`, `order-1001${LONE_SURROGATE}`, `${EMOJI.slice(1)}order-1001`];
      assertRefuses(sessionRequest, `${field}.invalid_format`, ...values.map(withValue));
    }
  });

  test('a product may contain control characters and right-to-left text', () => {
    assertTakes(sessionRequest, ...['tab\tand\nline', 'דו״ח', ' ', '<script>'].map(withField('product')));
  });
});

describe('customer: an email address of at most 254 characters', () => {
  test('an address has a local part and a domain with a dot', () => {
    assertTakes(email, 'buyer@example.com', 'Buyer.Name+tag@Sub.Example.co', "o'neil@example.org");
    assertRefuses(email, 'invalid_format', '', 'buyer', 'buyer@', '@example.com', 'a b@example.com', 'a@example');
    assertRefuses(email, 'invalid_format', 'buyer@example.com\n', ' buyer@example.com', 'a@b@example.com', 'a\0@b.co');
    assertRefuses(email, 'invalid_type', 5, null, undefined, {}, []);
  });

  test('254 characters pass, 255 do not', () => {
    const address = (length: number) => `${'a'.repeat(64)}@${'b.'.repeat(90)}${'c'.repeat(length - 65 - 180 - 3)}.io`;
    assert.equal(address(254).length, 254);
    assertTakes(email, address(254));
    assertRefuses(email, 'too_big', address(255));
  });
});

describe('metadata: up to 10 string pairs, each value at most 500 characters', () => {
  const pairs = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`key${index}`, 'v']));

  test('10 pairs pass, 11 do not', () => {
    assertTakes(metadata, {}, pairs(1), pairs(10));
    assertRefuses(metadata, 'key10.too_big', pairs(11));
    assertTakes(sampleMetadata, pairs(11));
  });

  test('500 characters pass, 501 do not, counted in code points, for values and keys', () => {
    for (const letter of ['a', EMOJI]) {
      assertTakes(metadata, { key: letter.repeat(500) }, { [letter.repeat(500)]: 'value' }, { key: '' });
      assertRefuses(metadata, 'key.too_big', { key: letter.repeat(501) });
      assertRefuses(sampleMetadata, 'key.too_big', { key: letter.repeat(501) });
      const longKey = letter.repeat(501);
      assertRefuses(metadata, `${longKey}.too_big`, { [longKey]: 'value' });
    }
    assertRefuses(metadata, '.too_small', { '': 'value' });
  });

  test('values are strings', () => {
    assertRefuses(metadata, 'key.invalid_type', { key: 1 }, { key: null }, { key: true }, { key: {} }, { key: ['a'] });
    assertRefuses(metadata, 'invalid_type', null, 'a', 5, [], ['a'], true);
  });

  test('every faulty pair is named', () => {
    const faulty = { ...pairs(11), key0: 1, key1: 'a'.repeat(501) };
    assert.deepEqual(faults(metadata, faulty), ['key0.invalid_type', 'key1.too_big', 'key10.too_big']);
  });

  test('NUL and lone surrogates are not taken, in keys nor values', () => {
    assertRefuses(metadata, 'key.invalid_format', { key: 'a\0b' }, { key: LONE_SURROGATE });
    assertRefuses(metadata, 'a\0b.invalid_format', { 'a\0b': 'value' });
    assertRefuses(metadata, `${LONE_SURROGATE}.invalid_format`, { [LONE_SURROGATE]: 'value' });
  });

  test('it defaults to an empty object, and keeps names that objects know already', () => {
    assert.deepEqual(sessionRequest.parse(minimal).metadata, {});
    const sent: unknown = JSON.parse('{"__proto__": "a", "constructor": "b", "toString": "c"}');
    assert.equal(JSON.stringify(metadata.parse(sent)), JSON.stringify(sent));
    assert.equal(faults(metadata, JSON.parse('{"__proto__": 1}')).length, 1);
  });
});

describe('redirectUrl: an absolute URI to which a browser may be redirected', () => {
  const LENGTH = 2048;

  test('http, https and app schemes with a dot pass', () => {
    const web =
      'https://shop.example/thanks?order=1#top http://shop.example HTTPS://SHOP.EXAMPLE/ https://xn--mnchen-3ya.de/';
    const local = 'http://localhost:3000/done http://127.0.0.1/ https://[::1]:8443/';
    const apps = 'com.example.shop:/thanks COM.Example.Shop://thanks shop.ms-x://thanks ws.shop://x';
    const escaped = "https://shop.example/%C3%BC https://shop.example/%00 https://shop.example/?a[]=(1)&b=*'!";
    assertTakes(redirectUrl, ...[web, local, apps, escaped].flatMap((uris) => uris.split(' ')));
  });

  test('schemes that run code, read files or open other programs do not pass', () => {
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
      assertRefuses(redirectUrl, 'invalid_format', ...uris.split(' '));
    }
    const spaced = ['java\nscript:alert(1)', '\tjavascript:alert(1)', ' javascript:alert(1)'];
    assertRefuses(redirectUrl, 'invalid_format', ...spaced);
  });

  test('app schemes without a dot pass if the operator names them, except forbidden ones', () => {
    const named = redirectUrlField(['myapp', 'shop']);
    assertTakes(named, 'myapp:done', 'MyApp:done', 'shop://thanks', 'com.example.shop:/thanks', 'https://shop.example');
    assertRefuses(named, 'invalid_format', 'myapps:done', 'ssh://x', 'shop://user@thanks', 'shop:a b');
    const forbidden = redirectUrlField(['javascript', 'data']);
    assertRefuses(forbidden, 'invalid_format', 'javascript:alert(1)', 'data:text/html,x');
  });

  test('user names, and characters that a URI must encode, do not pass', () => {
    const users = ['user@', 'user:pass@', ':pass@', '@'].map((user) => `https://${user}shop.example`);
    assertRefuses(redirectUrl, 'invalid_format', ...users, 'com.shop://user@thanks', 'https:\\\\shop.example');
    const controls = [0x00, 0x09, 0x0a, 0x0d, 0x1f, 0x7f, 0x80, 0x85, 0x9f].map((code) => String.fromCharCode(code));
    const unencoded = ['a b', LONE_SURROGATE, 'ü', EMOJI, '%zz', '%4', '"', '<b>', '{a}', '|', '^', '`', ...controls];
    assertRefuses(redirectUrl, 'invalid_format', ...unencoded.map((path) => `https://shop.example/${path}`));
  });

  test('a relative reference does not pass', () => {
    const relative = ' /thanks thanks //shop.example/thanks ?a=1 shop.example/thanks www.shop.example';
    const incomplete = 'https: https:// https:///thanks https:shop.example http:/x';
    assertRefuses(redirectUrl, 'invalid_format', ...relative.split(' '), ...incomplete.split(' '));
    assertRefuses(redirectUrl, 'invalid_type', 5, null, {}, []);
  });

  test('2,048 characters pass, 2,049 do not', () => {
    const uri = (length: number) => `https://shop.example/${'a'.repeat(length - 21)}`;
    assertTakes(redirectUrl, uri(LENGTH));
    assertRefuses(redirectUrl, 'too_big', uri(LENGTH + 1));
  });

  test('in production, plain http passes for loopback only', () => {
    const at = (environment: string) => (uri: string) => ({ ...minimal, environment, redirectUrl: uri });
    const taken = 'https://shop.example com.shop://thanks http://localhost/ http://127.0.0.1:8080 http://[::1]/';
    assertTakes(sessionRequest, ...taken.split(' ').map(at('production')), at('sandbox')('http://shop.example'));
    const plain = ['http://shop.example', 'HTTP://shop.example', 'http://localhost.evil.example'].map(at('production'));
    assertRefuses(sessionRequest, 'redirectUrl.custom', ...plain);
    assert.equal(isPlainHttp('no uri'), false);
  });
});

describe('requests as a whole', () => {
  test('the required fields are enough, and the defaults are filled in', () => {
    assert.deepEqual(sessionRequest.parse(minimal), { ...minimal, metadata: {}, environment: 'sandbox' });
    assert.deepEqual(feesEstimateRequest.parse({ amount: 1 }), { amount: 1, environment: 'sandbox' });
    const example = webhookExampleRequest.parse({});
    assert.deepEqual([example.event, example.livemode, example.metadata], ['payment.paid', false, {}]);
    assert.equal(webhookExampleRequest.parse({ txHash: null }).txHash, null);
  });

  test('required fields are required, enums take their values only, and unknown properties are refused', () => {
    const missing = ['product.invalid_type', 'amount.invalid_type', 'customer.invalid_type'];
    assert.deepEqual(faults(sessionRequest, {}), missing);
    const callback = ['eventId.invalid_type', 'sessionId.invalid_type', 'status.invalid_value', 'amount.invalid_type'];
    assert.deepEqual(
      faults(verifySampleRequest, { payload: {} }),
      callback.map((fault) => `payload.${fault}`),
    );
    assertTakes(sessionRequest, ...['card', 'wallet', 'local'].map(withField('preferredRoute')));
    const kinds = ['CARD', '', 'bank', null, 1].map(withField('preferredRoute'));
    assertRefuses(sessionRequest, 'preferredRoute.invalid_value', ...kinds);
    assertTakes(sessionRequest, ...['sandbox', 'production'].map(withField('environment')));
    assertRefuses(sessionRequest, 'environment.invalid_value', ...['test', '', null].map(withField('environment')));
    assert.deepEqual(faults(sessionRequest, { ...minimal, currency: 'EUR', extra: 1 }), ['unrecognized_keys']);
  });
});
