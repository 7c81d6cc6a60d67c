import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import type { z } from 'zod';
import { jsonSchemaOf } from '../../src/contract/json-schema.ts';
import { inputReader } from '../../src/contract/input-problems.ts';
import { EVENT_ENDPOINTS } from '../../src/contract/delivery-contract.ts';
import { LEDGER_ENDPOINTS } from '../../src/contract/ledger-contract.ts';
import { REFUND_ENDPOINTS, refundRequest } from '../../src/contract/refund-contract.ts';
import { experimentRequest } from '../../src/contract/experiment-contract.ts';
import { sessionRequest } from '../../src/contract/session-contract.ts';
import { verifySampleRequest, webhookExampleRequest } from '../../src/contract/action-contract.ts';
import { createEndpointRequest } from '../../src/contract/webhook-endpoint-contract.ts';
import { GatewayError } from '../../src/domain/gateway-error.ts';
import { ACTIONS } from '../../src/operations/registry.ts';
import { type Body, type Repairable, bodyOf, edited, repaired, violationsOf } from '../support/agent-client.ts';
import { anyCodePoint } from '../support/code-point.ts';

const minimal = { product: 'Field guide', amount: 49.99, customer: 'buyer@example.com' };
const payload = { eventId: 'evt_1', sessionId: 'chk_1', status: 'paid', amount: 49.99 };

/** Details of the error for `body`; undefined if `body` is accepted. */
function errorDetails(schema: z.ZodType, body: unknown): Repairable | undefined {
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
  const details = errorDetails(sessionRequest, body)!;
  const repairedBody = repaired(body, details);
  assert.equal(errorDetails(sessionRequest, repairedBody), undefined, details.suggestion!);
  return { issues: details.issues!, suggestion: details.suggestion!, repairedBody: repairedBody['metadata'] };
}

describe('repairs of ids that the caller chooses', () => {
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
    test(`two invalid values of ${path} are repaired to different values, in a body of ${Object.keys(jsonSchemaOf(schema, 'input').properties!).join(', ')}`, () => {
      fc.assert(
        fc.property(badId, badId, (oneId, otherId) => {
          fc.pre(JSON.stringify(oneId) !== JSON.stringify(otherId));
          const repairs = [oneId, otherId].flatMap((value) => {
            const body = edited(whole, path.split('.'), value);
            const details = errorDetails(schema, body);
            if (!details) return [];
            const repairedBody = repaired(body, details);
            assert.equal(errorDetails(schema, repairedBody), undefined, details.suggestion!);
            return [valueAt(repairedBody, path)].filter((repair) => repair !== undefined);
          });
          assert.equal(new Set(repairs).size, repairs.length);
        }),
      );
    });
  }

  test('an invalid idempotencyKey is repaired to one key per order: another order gets another key, and a resend gets the same key', () => {
    const repairOf = (body: Body) => repaired(body, errorDetails(sessionRequest, body)!)['idempotencyKey'];
    const first = { ...minimal, idempotencyKey: 'A-1' };
    assert.notEqual(repairOf(first), repairOf({ ...first, product: 'Map' }));
    assert.equal(repairOf(first), repairOf({ ...first }));
    assert.match(String(repairOf(first)), /^A-1-/);
  });

  test('the suggestion removes an idempotencyKey without a readable character', () => {
    for (const idempotencyKey of ['', '   ', '\0\0', '\u202e', '-'.repeat(121), []]) {
      const body = { ...minimal, idempotencyKey };
      assert.deepEqual(repaired(body, errorDetails(sessionRequest, body)!), minimal);
    }
  });

  test('a missing event id is repaired to a unique event id', () => {
    const eventIdOf = (body: Body) =>
      valueAt(repaired(body, errorDetails(verifySampleRequest, body)!), 'payload.eventId');
    assert.notEqual(eventIdOf({ provider: 'one' }), eventIdOf({ provider: 'other' }));
    for (const body of [{}, { payload: {} }, { payload: { ...payload, eventId: '' } }]) {
      assert.doesNotMatch(
        errorDetails(verifySampleRequest, body)!.suggestion!,
        /"eventId"|eventId to [^;]*for example/,
      );
      assert.notEqual(eventIdOf(body), eventIdOf(body));
    }
  });
});

test('suggestions describe ids that must exist, and do not invent the hash of a transaction', () => {
  const suggestionFor = (schema: z.ZodType, body: Body) => errorDetails(schema, body)!.suggestion!;
  const paid = REFUND_ENDPOINTS.markRefundPaid.body;
  const hash = 'Set txHash to the hash of a transaction: 0x and 64 hexadecimal digits; then resend.';
  for (const txHash of ['', 'abc', '0x1']) assert.equal(suggestionFor(paid, { txHash }), hash);
  assert.match(suggestionFor(paid, {}), /^Set txHash to a string that matches \S+; then resend\.$/);
  const { listEvents } = EVENT_ENDPOINTS;
  const { listLedgerEntries } = LEDGER_ENDPOINTS;
  assert.match(suggestionFor(listEvents.query, { after: 'x' }), /set it to the id of an event/);
  assert.match(suggestionFor(listLedgerEntries.query, { startingAfter: 'x' }), /set it to the id of a ledger entry/);
});

describe('suggestions about URLs', () => {
  test('suggestions contain no URL, for any problem of any field', () => {
    const schemas = [...ACTIONS.map(({ input }) => input), createEndpointRequest, refundRequest];
    let checkedSuggestions = 0;
    for (const schema of schemas) {
      const json = jsonSchemaOf(schema, 'input');
      for (const { what, path, body } of violationsOf(json, bodyOf(json, 'all'))) {
        const details = errorDetails(schema, body);
        if (!details) continue;
        assert.doesNotMatch(details.suggestion!, /https?:/, `${path} ${what}`);
        checkedSuggestions++;
      }
    }
    assert(checkedSuggestions > 100);
  });

  test('suggestions ask for a URL of the caller if the URL is required, and may remove an optional URL', () => {
    assert.match(errorDetails(createEndpointRequest, { url: 'ftp://a' })!.suggestion!, /^Set url to .* of your own;/);
    assert.match(
      errorDetails(sessionRequest, { ...minimal, redirectUrl: 'x' })!.suggestion!,
      /^Remove redirectUrl, or set/,
    );
  });
});

describe('suggestions about amounts', () => {
  const suggestionFor = (schema: z.ZodType, body: Body) => errorDetails(schema, body)!.suggestion!;
  test('suggestions derive the amount from the received value if possible', () => {
    assert.match(suggestionFor(sessionRequest, { ...minimal, amount: '12.50' }), /for example 12\.5;/);
    assert.match(suggestionFor(sessionRequest, { ...minimal, amount: 10.999 }), /for example 11;/);
    assert.match(suggestionFor(sessionRequest, { ...minimal, amount: 10_000.001 }), /for example 49\.99;/);
  });

  test('suggestions neither invent nor remove the amount of a refund, because a refund without amount refunds everything', () => {
    assert.doesNotMatch(suggestionFor(refundRequest, { amount: -5 }), /for example|remove/i);
  });
});

describe('repairs of metadata', () => {
  test('repairs of metadata remove pairs beyond the limit, and keep the text of invalid values up to the limit', () => {
    const pairs = Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`key${index}`, 'v']));
    const many = repairedMetadata(pairs);
    for (const { message } of many.issues) assert.match(message!, /12 .*10/);
    const { key10: _10, key11: _11, ...others } = pairs;
    assert.deepEqual(many.repairedBody, others);

    const invalid = { count: 7, gift: true, note: 'x'.repeat(501), list: [], none: null };
    const { issues, repairedBody } = repairedMetadata({ kept: 'v', ...invalid });
    assert.deepEqual(
      issues.map(({ path }) => path),
      Object.keys(invalid).map((name) => `metadata.${name}`),
    );
    for (const { message } of issues) assert.match(message!, /500/);
    assert.deepEqual(repairedBody, { kept: 'v', count: '7', gift: 'true', note: 'x'.repeat(500) });
  });

  test('errors show invalid metadata keys escaped and shortened, and repairs remove only their pairs', () => {
    const long = 'k'.repeat(100_000);
    const invalid = { 'a.b': 7, '\u202eevil\u0085': 7, '': 'v', 'a"b': 'v', 'c\nd': 'v', [long]: 'v' };
    const { issues, suggestion, repairedBody } = repairedMetadata({ kept: 'v', ...invalid });
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
    assert.deepEqual(repairedBody, { kept: 'v', 'a.b': '7', '\u202eevil\u0085': '7' });
  });

  test('repairs of random metadata lead to valid metadata that contains every valid pair', () => {
    const key = fc.oneof(
      fc.string({ unit: anyCodePoint, maxLength: 6 }),
      fc.constantFrom('a.b', '__proto__', 'constructor', 'x'.repeat(501)),
    );
    const value = fc.oneof(fc.string({ maxLength: 5 }), fc.string({ minLength: 501, maxLength: 510 }), fc.jsonValue());
    fc.assert(
      fc.property(fc.uniqueArray(fc.tuple(key, value), { selector: ([name]) => name, maxLength: 14 }), (pairs) => {
        const metadata: Body = Object.fromEntries(pairs);
        const body = { ...minimal, metadata };
        const details = errorDetails(sessionRequest, body);
        if (!details) return;
        for (const { path } of details.issues!) assert.match(path, /^metadata\./);
        const repairedBody = repaired(body, details);
        assert.equal(errorDetails(sessionRequest, repairedBody), undefined, details.suggestion!);
        const keptNames = new Set(Object.keys(repairedBody['metadata'] as Body));
        for (const name of Object.keys(metadata).slice(0, 10)) {
          if (!errorDetails(sessionRequest, { ...minimal, metadata: Object.fromEntries([[name, metadata[name]]]) })) {
            assert(keptNames.has(name), JSON.stringify(name));
          }
        }
      }),
    );
  });

  test('repairs of metadata do not replace a value that is not an object by an empty object', () => {
    for (const metadata of ['{"a":"b"}', 7, ['a']]) {
      const { suggestion } = errorDetails(sessionRequest, { ...minimal, metadata })!;
      assert.match(suggestion!, /^Remove metadata, or set it to an object/);
      assert(!suggestion!.includes('{}'));
    }
  });

  test('repairs of a variant of an experiment name the values that it takes', () => {
    for (const [variant, what] of [
      [{ smart: false }, 'smart, or set it to true'],
      [{ prefer: [] }, 'prefer, or set it to an array of 1 to 100 values'],
      [{ prefer: { kind: 'cash' } }, 'prefer.kind, or set it to one of card, wallet, local'],
    ] as const) {
      const { suggestion } = errorDetails(experimentRequest, { variant })!;
      assert.equal(suggestion, `Remove variant.${what}; then resend.`);
    }
  });
});
