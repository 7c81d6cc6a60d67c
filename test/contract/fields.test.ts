import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import type { z } from 'zod';
import { amount, email, metadata, movedAmount, sampleMetadata, text } from '../../src/contract/fields.ts';
import {
  feesEstimateRequest,
  sessionRequest,
  verifySampleRequest,
  webhookExampleRequest,
} from '../../src/contract/requests.ts';
import { isPlainHttp, redirectUrlField } from '../../src/contract/redirect-url.ts';

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

  test('moved by a provider, also nothing, and as much as can be counted in cents', () => {
    assertTakes(movedAmount, 0, 0.01, 10_000.01, 90_071_992_547_409.91);
    assertRefuses(movedAmount, 'too_small', -0.01);
    assertRefuses(movedAmount, 'too_big', 90_071_992_547_410);
    assertRefuses(movedAmount, 'not_multiple_of', 0.001);
  });

  test('0.1 + 0.2 is 30 cents, a third decimal is none', () => {
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
  const limits: [string, number, number][] = [
    ['product', 1, 120],
    ['idempotencyKey', 8, 120],
    ['clientReferenceId', 3, 120],
  ];
  for (const [field, min, max] of limits) {
    test(`${field}: ${min} to ${max}`, () => {
      const withValue = withField(field);
      for (const letter of ['a', 'é', EMOJI]) {
        assertTakes(sessionRequest, withValue(letter.repeat(min)), withValue(letter.repeat(max)));
        assertRefuses(sessionRequest, `${field}.too_small`, withValue(letter.repeat(min - 1)));
        assertRefuses(sessionRequest, `${field}.too_big`, withValue(letter.repeat(max + 1)));
      }
      assertRefuses(sessionRequest, `${field}.invalid_type`, withValue(5), withValue(null), withValue(['a']));
    });
  }

  test('routeId of fees.estimate: 3 to 120', () => {
    const withValue = (routeId: string) => ({ amount: 1, routeId });
    assertTakes(feesEstimateRequest, withValue('abc'), withValue(EMOJI.repeat(120)));
    assertRefuses(feesEstimateRequest, 'routeId.too_small', withValue('ab'), withValue(EMOJI.repeat(2)));
    assertRefuses(feesEstimateRequest, 'routeId.too_big', withValue('a'.repeat(121)), withValue(EMOJI.repeat(121)));
  });

  test('a text agrees with the number of its code points, whatever it is made of', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 30 }), (value) => {
        const length = Array.from(value).length;
        const taken = !value.includes('\0') && value.isWellFormed() && length >= 3 && length <= 12;
        assert.equal(faults(text(3, 12), value).length === 0, taken);
      }),
      { numRuns: 1000 },
    );
  });

  test('what no database keeps is not taken: NUL and lone surrogates', () => {
    for (const field of ['product', 'idempotencyKey', 'clientReferenceId']) {
      const withValue = withField(field);
      const values = [`order\0-1001`, `order-1001${LONE_SURROGATE}`, `${EMOJI.slice(1)}order-1001`];
      assertRefuses(sessionRequest, `${field}.invalid_format`, ...values.map(withValue));
    }
  });

  test('control characters and right-to-left text are the merchant’s own affair', () => {
    assertTakes(sessionRequest, ...['tab\tand\nline', 'דו״ח', ' ', '<script>'].map(withField('product')));
  });
});

describe('customer: an email address of at most 254 characters', () => {
  test('what is an address and what is not', () => {
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

describe('redirectUrl: an absolute URI to which a browser may be sent', () => {
  const LENGTH = 2048;

  test('http, https and app schemes with a dot pass', () => {
    assertTakes(redirectUrl, 'https://shop.example/thanks?order=1#top', 'http://shop.example', 'HTTPS://SHOP.EXAMPLE/');
    assertTakes(redirectUrl, 'http://localhost:3000/done', 'http://127.0.0.1/', 'https://[::1]:8443/');
    assertTakes(redirectUrl, 'com.example.shop:/thanks', 'COM.Example.Shop://thanks', 'https://xn--mnchen-3ya.de/');
    assertTakes(
      redirectUrl,
      'https://shop.example/%C3%BC',
      'https://shop.example/%00',
      "https://shop.example/?a[]=(1)&b=*'!",
    );
  });

  test('schemes that run code or read files do not, however they are spelt', () => {
    const schemes = [
      'javascript:alert(1)',
      'JavaScript:alert(1)',
      'data:text/html,x',
      'vbscript:x',
      'file:///etc/passwd',
    ];
    assertRefuses(redirectUrl, 'invalid_format', ...schemes, 'blob:https://shop.example/1', 'about:blank');
    const nested = ['feed:javascript:x', 'view-source:https://a.example', 'filesystem:https://a.example/x', 'jar:x!/y'];
    const programs = ['chrome://settings', 'resource://x', 'ms-word:ofe|u|x', 'MS-Settings:x', 'search-ms:query=x'];
    assertRefuses(redirectUrl, 'invalid_format', ...nested, ...programs);
    assertTakes(redirectUrl, 'shop.ms-x://thanks', 'ws.shop://x');
    const detour = 'intent://x#Intent;scheme=https;S.browser_fallback_url=https%3A%2F%2Fevil.example;end';
    assertRefuses(redirectUrl, 'invalid_format', detour, 'Intent:x', 'android-app://com.example/https/evil.example');
    assertRefuses(redirectUrl, 'invalid_format', 'ftp://shop.example/', 'ws://shop.example/', 'WSS://shop.example/');
    const open = [
      'ssh://x',
      'smb://x/y',
      'vscode://x',
      'itms-services://?action=x',
      'shell:startup',
      'mailto:a@b.example',
    ];
    const others = ['tel:1', 'x-apple.systempreferences:x', 'ms-x.y:z', 'shop:/x', 'shop.:/x'];
    assertRefuses(redirectUrl, 'invalid_format', ...open, ...others);
    assertRefuses(
      redirectUrl,
      'invalid_format',
      'java\nscript:alert(1)',
      '\tjavascript:alert(1)',
      ' javascript:alert(1)',
    );
  });

  test('app schemes without a dot pass if the operator names them, except forbidden ones', () => {
    const named = redirectUrlField(['myapp', 'shop']);
    assertTakes(named, 'myapp:done', 'MyApp:done', 'shop://thanks', 'com.example.shop:/thanks', 'https://shop.example');
    assertRefuses(named, 'invalid_format', 'myapps:done', 'ssh://x', 'shop://user@thanks', 'shop:a b');
    assertRefuses(
      redirectUrlField(['javascript', 'data']),
      'invalid_format',
      'javascript:alert(1)',
      'data:text/html,x',
    );
  });

  test('userinfo, spaces, backslashes and control characters do not', () => {
    assertRefuses(redirectUrl, 'invalid_format', 'https://user@shop.example', 'https://user:pass@shop.example');
    assertRefuses(redirectUrl, 'invalid_format', 'https://:pass@shop.example', 'com.shop://user@thanks');
    assertRefuses(redirectUrl, 'invalid_format', 'https://shop.example/a b', 'https:\\\\shop.example');
    for (const code of [0x00, 0x09, 0x0a, 0x0d, 0x1f, 0x7f, 0x80, 0x85, 0x9f]) {
      assertRefuses(redirectUrl, 'invalid_format', `https://shop.example/${String.fromCharCode(code)}`);
    }
    assertRefuses(redirectUrl, 'invalid_format', `https://shop.example/${LONE_SURROGATE}`);
  });

  test('what is not absolute does not', () => {
    const relative = [
      '',
      '/thanks',
      'thanks',
      '//shop.example/thanks',
      '?a=1',
      'shop.example/thanks',
      'www.shop.example',
    ];
    assertRefuses(redirectUrl, 'invalid_format', ...relative);
    assertRefuses(
      redirectUrl,
      'invalid_format',
      'https:',
      'https://',
      'https:///thanks',
      'https:shop.example',
      'http:/x',
    );
    assertRefuses(redirectUrl, 'invalid_type', 5, null, {}, []);
  });

  test('2,048 characters pass, 2,049 do not', () => {
    const uri = (length: number) => `https://shop.example/${'a'.repeat(length - 21)}`;
    assert.equal(uri(LENGTH).length, LENGTH);
    assertTakes(redirectUrl, uri(LENGTH));
    assertRefuses(redirectUrl, 'too_big', uri(LENGTH + 1));
  });

  test('what is not written in the characters of a URI does not pass, nor does a user name', () => {
    const paths = ['ü', EMOJI, '%zz', '%4', '"', '<b>', '{a}', '|', '^', '`'];
    assertRefuses(redirectUrl, 'invalid_format', ...paths.map((path) => `https://shop.example/${path}`));
    assertRefuses(redirectUrl, 'invalid_format', 'https://@shop.example/', 'https://a:b@shop.example/');
  });

  test('in production plain http does not pass, loopback aside', () => {
    const at = (environment: string) => (uri: string) => ({ ...minimal, environment, redirectUrl: uri });
    assertTakes(sessionRequest, ...['https://shop.example', 'com.shop://thanks'].map(at('production')));
    assertTakes(
      sessionRequest,
      ...['http://localhost/', 'http://127.0.0.1:8080', 'http://[::1]/'].map(at('production')),
    );
    assertTakes(sessionRequest, at('sandbox')('http://shop.example'));
    const plain = ['http://shop.example', 'HTTP://shop.example', 'http://localhost.evil.example'].map(at('production'));
    assertRefuses(sessionRequest, 'redirectUrl.custom', ...plain);
    assert.equal(isPlainHttp('no uri'), false);
  });
});

describe('requests as a whole', () => {
  test('the required fields are enough, and the defaults are filled in', () => {
    assert.deepEqual(sessionRequest.parse(minimal), { ...minimal, metadata: {}, environment: 'sandbox' });
    assert.deepEqual(feesEstimateRequest.parse({ amount: 1 }), { amount: 1, environment: 'sandbox' });
  });

  test('every required field is missed', () => {
    assert.deepEqual(faults(sessionRequest, {}), [
      'product.invalid_type',
      'amount.invalid_type',
      'customer.invalid_type',
    ]);
    assert.deepEqual(faults(feesEstimateRequest, {}), ['amount.invalid_type']);
    assert.deepEqual(faults(verifySampleRequest, {}), ['payload.invalid_type']);
    assert.deepEqual(faults(verifySampleRequest, { payload: {} }), [
      'payload.eventId.invalid_type',
      'payload.sessionId.invalid_type',
      'payload.status.invalid_value',
      'payload.amount.invalid_type',
    ]);
  });

  test('all problems come at once, that of production with them', () => {
    const faulty = {
      product: '',
      amount: 0,
      customer: 'x',
      environment: 'production',
      redirectUrl: 'http://shop.example',
    };
    assert.deepEqual(faults(sessionRequest, faulty), [
      'product.too_small',
      'amount.too_small',
      'customer.invalid_format',
      'redirectUrl.custom',
    ]);
  });

  test('enums take their values only', () => {
    assertTakes(sessionRequest, ...['card', 'wallet', 'local'].map(withField('preferredRoute')));
    assertRefuses(
      sessionRequest,
      'preferredRoute.invalid_value',
      ...['CARD', '', 'bank', null, 1].map(withField('preferredRoute')),
    );
    assertTakes(sessionRequest, ...['sandbox', 'production'].map(withField('environment')));
    assertRefuses(sessionRequest, 'environment.invalid_value', ...['test', '', null].map(withField('environment')));
  });

  test('unknown properties are rejected', () => {
    assert.deepEqual(faults(sessionRequest, { ...minimal, currency: 'EUR', extra: 1 }), ['unrecognized_keys']);
    assert.deepEqual(faults(webhookExampleRequest, { type: 'payment.paid' }), ['unrecognized_keys']);
  });

  test('an example needs nothing, and is of a paid test payment', () => {
    const example = webhookExampleRequest.parse({});
    assert.deepEqual([example.event, example.livemode, example.metadata], ['payment.paid', false, {}]);
    for (const value of [example.provider, example.sessionId, example.customerId, example.routeId]) assert.ok(value);
    assert.ok(example.amount > 0);
    assert.equal(webhookExampleRequest.parse({ txHash: null }).txHash, null);
  });
});
