import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import type { z } from 'zod';
import { jsonSchemaOf } from '../../src/contract/json-schema.ts';
import { inputReader } from '../../src/contract/input-problems.ts';
import { refundRequest } from '../../src/contract/refund-contract.ts';
import { sessionRequest } from '../../src/contract/session-contract.ts';
import { verifySampleRequest, webhookExampleRequest } from '../../src/contract/action-contract.ts';
import { createEndpointRequest } from '../../src/contract/webhook-endpoint-contract.ts';
import { GatewayError } from '../../src/domain/gateway-error.ts';
import { ACTIONS } from '../../src/operations/registry.ts';
import { type Body, type Repairable, bodyOf, edited, repaired, violationsOf } from '../support/agent-client.ts';
import { anyCodePoint } from '../support/code-point.ts';

const minimal = { product: 'Field guide', amount: 49.99, customer: 'buyer@example.com' };
const payload = { eventId: 'evt_1', sessionId: 'chk_1', status: 'paid', amount: 49.99 };

/** Details of the error for `body`; undefined if it is accepted. */
function refusal(schema: z.ZodType, body: unknown): Repairable | undefined {
  try {
    inputReader(schema).read(body);
    return undefined;
  } catch (error) {
    assert(error instanceof GatewayError);
    return error.details;
  }
}

function valueAt(body: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((value, key) => (value as Body | undefined)?.[key], body);
}

/** The issues of a session with this metadata, and its metadata after the repair. */
function repairedMetadata(metadata: unknown) {
  const body = { ...minimal, metadata };
  const details = refusal(sessionRequest, body)!;
  const mended = repaired(body, details);
  assert.equal(refusal(sessionRequest, mended), undefined, details.suggestion!);
  return { issues: details.issues!, suggestion: details.suggestion!, mended: mended['metadata'] };
}

describe('ids that the caller chooses', () => {
  const FIELDS: [schema: z.ZodType, path: string, whole: Body][] = [
    [sessionRequest, 'idempotencyKey', minimal],
    [sessionRequest, 'clientReferenceId', minimal],
    [refundRequest, 'idempotencyKey', { amount: 10 }],
    [verifySampleRequest, 'payload.eventId', { payload }],
    [verifySampleRequest, 'payload.txHash', { payload }],
    [webhookExampleRequest, 'txHash', {}],
  ];
  const badId = fc.oneof(
    fc.constantFrom<unknown>('', null, true, [], {}, 'ab\0cdefgh', `${'same'.repeat(60)}A`, `${'same'.repeat(60)}B`),
    fc.string({ unit: anyCodePoint, maxLength: 7 }),
    fc.string({ unit: 'grapheme', minLength: 201, maxLength: 260 }),
    fc.integer(),
  );
  for (const [schema, path, whole] of FIELDS) {
    test(`${path} of ${Object.keys(jsonSchemaOf(schema, 'input').properties!).join(', ')}: the repair is unique`, () => {
      fc.assert(
        fc.property(badId, badId, (one, other) => {
          fc.pre(JSON.stringify(one) !== JSON.stringify(other));
          const repairs = [one, other].flatMap((value) => {
            const body = edited(whole, path.split('.'), value);
            const details = refusal(schema, body);
            if (!details) return [];
            const mended = repaired(body, details);
            assert.equal(refusal(schema, mended), undefined, details.suggestion!);
            return [valueAt(mended, path)].filter((repair) => repair !== undefined);
          });
          assert.equal(new Set(repairs).size, repairs.length);
        }),
      );
    });
  }

  test('the same bad key in two orders is repaired to two keys, and a resend of one order to the same key', () => {
    const repairOf = (body: Body) => repaired(body, refusal(sessionRequest, body)!)['idempotencyKey'];
    const first = { ...minimal, idempotencyKey: 'A-1' };
    assert.notEqual(repairOf(first), repairOf({ ...first, product: 'Map' }));
    assert.equal(repairOf(first), repairOf({ ...first }));
    assert.match(String(repairOf(first)), /^A-1-/);
  });

  test('the suggestion removes an idempotencyKey without a readable character', () => {
    for (const idempotencyKey of ['', '   ', '\0\0', '\u202e', '-'.repeat(121), []]) {
      const body = { ...minimal, idempotencyKey };
      assert.deepEqual(repaired(body, refusal(sessionRequest, body)!), minimal);
    }
  });

  test('a missing callback gets an event id of its own', () => {
    const eventIdOf = (body: Body) => valueAt(repaired(body, refusal(verifySampleRequest, body)!), 'payload.eventId');
    assert.notEqual(eventIdOf({ provider: 'one' }), eventIdOf({ provider: 'other' }));
    for (const body of [{}, { payload: {} }, { payload: { ...payload, eventId: '' } }]) {
      assert.doesNotMatch(refusal(verifySampleRequest, body)!.suggestion!, /"eventId"|eventId to [^;]*for example/);
      assert.notEqual(eventIdOf(body), eventIdOf(body));
    }
  });
});

describe('URLs', () => {
  test('no suggestion contains one, for any problem of any field', () => {
    const schemas = [...ACTIONS.map(({ input }) => input), createEndpointRequest, refundRequest];
    let seen = 0;
    for (const schema of schemas) {
      const json = jsonSchemaOf(schema, 'input');
      for (const { what, path, body } of violationsOf(json, bodyOf(json, 'all'))) {
        const details = refusal(schema, body);
        if (!details) continue;
        assert.doesNotMatch(details.suggestion!, /https?:/, `${path} ${what}`);
        seen++;
      }
    }
    assert(seen > 100);
  });

  test('the suggestion asks for a URL of the caller’s own if it is required, and may remove an optional one', () => {
    assert.match(refusal(createEndpointRequest, { url: 'ftp://a' })!.suggestion!, /^Set url to .* of your own;/);
    assert.match(refusal(sessionRequest, { ...minimal, redirectUrl: 'x' })!.suggestion!, /^Remove redirectUrl, or set/);
  });
});

describe('amounts', () => {
  const suggestionFor = (schema: z.ZodType, body: Body) => refusal(schema, body)!.suggestion!;
  test('are derived from the received value if possible', () => {
    assert.match(suggestionFor(sessionRequest, { ...minimal, amount: '12.50' }), /for example 12\.5;/);
    assert.match(suggestionFor(sessionRequest, { ...minimal, amount: 10.999 }), /for example 11;/);
    assert.match(suggestionFor(sessionRequest, { ...minimal, amount: 10_000.001 }), /for example 49\.99;/);
  });

  test('of a refund are neither invented nor removed, since a refund without amount refunds everything', () => {
    assert.doesNotMatch(suggestionFor(refundRequest, { amount: -5 }), /for example|remove/i);
  });
});

describe('metadata', () => {
  test('pairs beyond the limit are removed, and faulty values keep the received text up to the limit', () => {
    const pairs = Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`key${index}`, 'v']));
    const many = repairedMetadata(pairs);
    for (const { message } of many.issues) assert.match(message!, /12 .*10/);
    const { key10: _10, key11: _11, ...others } = pairs;
    assert.deepEqual(many.mended, others);

    const faulty = { count: 7, gift: true, note: 'x'.repeat(501), list: [], none: null };
    const { issues, mended } = repairedMetadata({ kept: 'v', ...faulty });
    assert.deepEqual(
      issues.map(({ path }) => path),
      Object.keys(faulty).map((name) => `metadata.${name}`),
    );
    for (const { message } of issues) assert.match(message!, /500/);
    assert.deepEqual(mended, { kept: 'v', count: '7', gift: 'true', note: 'x'.repeat(500) });
  });

  test('faulty keys are shown escaped and bounded, and only their pairs are removed', () => {
    const long = 'k'.repeat(100_000);
    const faulty = { 'a.b': 7, '\u202eevil\u0085': 7, '': 'v', 'a"b': 'v', 'c\nd': 'v', [long]: 'v' };
    const { issues, suggestion, mended } = repairedMetadata({ kept: 'v', ...faulty });
    assert.deepEqual(
      issues.map(({ path }) => path),
      [
        'metadata."a.b"',
        String.raw`metadata."\u202eevil\u0085"`,
        'metadata.""',
        String.raw`metadata."a\"b"`,
        String.raw`metadata."c\nd"`,
        `metadata."${'k'.repeat(80)}..."`,
      ],
    );
    assert.match(issues[5]!.message!, /100000 characters.*1 to 500/);
    assert(suggestion.length < 1500);
    assert.doesNotMatch(suggestion, /[\p{C}\p{Zl}\p{Zp}]/u);
    assert.deepEqual(mended, { kept: 'v', 'a.b': '7', '\u202eevil\u0085': '7' });
  });

  test('any metadata is repaired to valid metadata that keeps every faultless pair', () => {
    const key = fc.oneof(
      fc.string({ unit: anyCodePoint, maxLength: 6 }),
      fc.constantFrom('a.b', '__proto__', 'constructor', 'x'.repeat(501)),
    );
    const value = fc.oneof(fc.string({ maxLength: 5 }), fc.string({ minLength: 501, maxLength: 510 }), fc.jsonValue());
    fc.assert(
      fc.property(fc.uniqueArray(fc.tuple(key, value), { selector: ([name]) => name, maxLength: 14 }), (pairs) => {
        const metadata: Body = Object.fromEntries(pairs);
        const body = { ...minimal, metadata };
        const details = refusal(sessionRequest, body);
        if (!details) return;
        for (const { path } of details.issues!) assert.match(path, /^metadata\./);
        const mended = repaired(body, details);
        assert.equal(refusal(sessionRequest, mended), undefined, details.suggestion!);
        const kept = new Set(Object.keys(mended['metadata'] as Body));
        for (const name of Object.keys(metadata).slice(0, 10)) {
          if (!refusal(sessionRequest, { ...minimal, metadata: Object.fromEntries([[name, metadata[name]]]) })) {
            assert(kept.has(name), JSON.stringify(name));
          }
        }
      }),
    );
  });

  test('a value that is not an object is refused, and the repair is not an empty object', () => {
    for (const metadata of ['{"a":"b"}', 7, ['a']]) {
      const { suggestion } = refusal(sessionRequest, { ...minimal, metadata })!;
      assert.match(suggestion!, /^Remove metadata, or set it to an object/);
      assert(!suggestion!.includes('{}'));
    }
  });
});
