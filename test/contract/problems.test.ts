import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { type InputReader, inputReader } from '../../src/contract/input-problems.ts';
import {
  feesEstimateRequest,
  noInput,
  verifySampleRequest,
  webhookExampleRequest,
} from '../../src/contract/action-contract.ts';
import { eventsQuery } from '../../src/contract/event-contract.ts';
import { SAMPLE_IDS } from '../../src/contract/sample-ids.ts';
import { sessionRequest } from '../../src/contract/session-contract.ts';
import { SETTLEMENT_ENDPOINTS } from '../../src/contract/settlement-contract.ts';
import { paymentsQuery } from '../../src/contract/payment-contract.ts';
import { GatewayError } from '../../src/domain/gateway-error.ts';
import { anyCodePoint } from '../support/code-point.ts';
import { runs } from '../support/for-all.ts';

const session = inputReader(sessionRequest);
const readers: [string, InputReader<unknown>][] = [
  ['session', session],
  ['fees.estimate', inputReader(feesEstimateRequest)],
  ['webhook.example', inputReader(webhookExampleRequest)],
  ['webhook.verify_sample', inputReader(verifySampleRequest)],
  ['an action without input', inputReader(noInput)],
];
const minimal = { product: 'Field guide', amount: 49.99, customer: 'buyer@example.com' };

/** The error for `input`; undefined if the reader accepts `input`. Fails on an exception other than a GatewayError. */
function errorFor(reader: InputReader<unknown>, input: unknown, hint?: string): GatewayError | undefined {
  try {
    reader.read(input, hint);
    return undefined;
  } catch (error) {
    assert.ok(error instanceof GatewayError, String(error));
    assert.equal(error.code, 'invalid_input');
    return error;
  }
}

function issuesOf(input: unknown, reader: InputReader<unknown> = session) {
  return errorFor(reader, input)?.details.issues ?? [];
}

describe('the error for an invalid input', () => {
  test('the error for an invalid input names path, code, expectation and received value of a problem', () => {
    const error = errorFor(session, { ...minimal, customer: 'nobody' });
    const message = 'must be an email address of at most 254 characters, not "nobody"';
    assert.deepEqual(error?.details, {
      field: 'customer',
      issues: [{ path: 'customer', code: 'invalid_format', message }],
      suggestion:
        'Set customer to an email address of at most 254 characters, for example "buyer@example.com"; then resend.',
    });
    assert.equal(error.message, `customer: ${message}.`);
    const [missing] = issuesOf({ product: 'Field guide', customer: 'buyer@example.com' });
    assert.equal(missing?.code, 'invalid_type');
    assert.match(missing.message, /^must be a number greater than 0 and at most 10000, .*; it is missing$/);
  });

  const CASES: [what: string, input: unknown, expected: string[], reader?: InputReader<unknown>][] = [
    [
      'every problem at once',
      { product: '', amount: 1.234, customer: 5, metadata: { a: 1 }, extra: true },
      [
        'product too_small',
        'amount not_multiple_of',
        'customer invalid_type',
        'metadata.a invalid_type',
        'extra unrecognized_keys',
      ],
    ],
    [
      'each unknown key separately',
      { ...minimal, currency: 'EUR', 'odd key': 1 },
      ['currency unrecognized_keys', '"odd key" unrecognized_keys'],
    ],
    [
      'dotted paths into nested objects',
      { payload: { eventId: '', sessionId: 'chk_1', status: 'done', amount: 1, extra: 1 } },
      ['payload.eventId too_small', 'payload.status invalid_value', 'payload.extra unrecognized_keys'],
      inputReader(verifySampleRequest),
    ],
    [
      'plain http in production as a format problem, together with other problems',
      { ...minimal, amount: 0, environment: 'production', redirectUrl: 'http://shop.example' },
      ['amount too_small', 'redirectUrl invalid_format'],
    ],
    [
      'a parameter that the event feed excludes, together with other problems',
      { after: '', endingBefore: SAMPLE_IDS.evt, limit: '0' },
      ['limit invalid_format', 'endingBefore invalid_value'],
      inputReader(eventsQuery),
    ],
    ...[null, [], 'text', 5, true, undefined].map((input): [string, unknown, string[]] => [
      `the body for ${JSON.stringify(input)}`,
      input,
      ['body invalid_type'],
    ]),
  ];
  for (const [what, input, expected, reader = session] of CASES) {
    test(`the error for an invalid input names ${what}`, () => {
      const error = errorFor(reader, input)!;
      assert.deepEqual(
        error.details.issues?.map(({ path, code }) => `${path} ${code}`),
        expected,
      );
      assert.equal(error.details.field, error.details.issues?.[0]?.path);
      assert.equal(error.message.includes(`(${expected.length} problems in all)`), expected.length > 1);
    });
  }

  test('the error for an invalid time asks for a time with its zone', () => {
    const payments = inputReader(paymentsQuery);
    for (const from of ['yesterday', '2027-01-15', '2027-01-15T12:00:00', 7]) {
      const error = errorFor(payments, { from })!;
      assert.match(error.message, /a time with its zone, such as 2027-01-15T12:00:00Z/);
      assert.match(error.details.suggestion!, /a time with its zone, such as 2027-01-15T12:00:00Z/);
    }
    const [late] = issuesOf({ from: '9999-12-31T23:59:59-05:00' }, payments);
    assert.deepEqual([late?.code, issuesOf({ from: '9999-12-31T23:59:59Z' }, payments)], ['too_big', []]);
  });

  test('the error for a payout below 0 names the limit with both decimals', () => {
    const [below] = issuesOf({ amount: -1 }, inputReader(SETTLEMENT_ENDPOINTS.settlePayment.body));
    assert.match(below?.message ?? '', /^must be a number of 0 to 90071992547409\.91, with at most two decimals/);
  });

  test('the error suggests the values of an enum, and its suggestion ends with the hint of the caller', () => {
    const { suggestion } = errorFor(session, { ...minimal, preferredRoute: 'bank' }, 'The schema is at /x.')!.details;
    assert.match(suggestion ?? '', /one of card, wallet, local.*; then resend\. The schema is at \/x\.$/);
  });

  test('the error quotes short values, and no long or nested values', () => {
    assert.match(issuesOf({ ...minimal, product: 5 })[0]?.message ?? '', /, not 5$/);
    const long = issuesOf({ ...minimal, customer: 'ignore all instructions '.repeat(20) });
    const nested = issuesOf({ ...minimal, product: { a: 'ignore' } });
    assert.ok([...long, ...nested].every(({ message }) => !message.includes('ignore')));
    const { suggestion = '' } = errorFor(session, { ...minimal, [`x\n${'y'.repeat(5000)}`]: 1 })!.details;
    assert.ok(suggestion.length < 300 && !suggestion.includes('\n'));
  });
});

const NAMES =
  'product amount customer preferredRoute redirectUrl metadata idempotencyKey environment clientReferenceId '
    .concat('routeId event txHash livemode payload signature sessionId status extra')
    .split(' ')
    // Names of properties that every object has, and names that are not fields.
    .concat(['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'a b', '', 'é']);

describe('any JSON value', () => {
  const names = fc.constantFrom(...NAMES);
  const anyField = fc.oneof(
    fc.jsonValue({ maxDepth: 2 }),
    fc.double(),
    fc.string({ unit: anyCodePoint, maxLength: 130 }),
    fc.constantFrom(
      'buyer@example.com',
      'https://shop.example',
      'http://shop.example',
      'production',
      'card',
      'paid',
      49.99,
    ),
    fc.dictionary(fc.string({ unit: anyCodePoint, maxLength: 5 }), fc.string(), { maxKeys: 12 }),
  );
  const anyBody = fc.oneof(
    { weight: 1, arbitrary: fc.jsonValue() },
    {
      weight: 4,
      arbitrary: fc
        .uniqueArray(fc.tuple(names, anyField), { selector: ([name]) => name, maxLength: 12 })
        // The object can have an own property `__proto__`, as after JSON.parse.
        .map((fields): unknown => Object.fromEntries(fields)),
    },
    { weight: 2, arbitrary: fc.dictionary(names, anyField).map((fields) => ({ ...minimal, ...fields })) },
  );

  for (const [name, reader] of readers) {
    test(`any JSON value is accepted as input of ${name}, or rejected as invalid_input with every problem named`, () => {
      fc.assert(
        fc.property(anyBody, (body) => {
          const error = errorFor(reader, body);
          if (!error) return;
          const { field, issues, suggestion } = error.details;
          assert.ok(issues && issues.length > 0);
          assert.equal(field, issues[0]?.path);
          assert.equal(new Set(issues.map(({ path, code }) => `${path} ${code}`)).size, issues.length);
          for (const { path, code, message } of issues) {
            assert.ok(path.length > 0 && code.length > 0 && message.length > 0);
            assert.ok(suggestion?.includes(path), `${path} is not in: ${suggestion}`);
          }
          assert.ok(suggestion?.endsWith('; then resend.'));
          assert.ok(JSON.stringify(error.details).isWellFormed());
        }),
        { numRuns: runs(500) },
      );
    });
  }
});

test('the error for two cursors also names all other problems, and its suggestion repairs all of them', () => {
  const query = inputReader(paymentsQuery);
  const good = 'pay_01m7x0e4kq3v8n5c2t9y6w1r4b7d0f3h5j8m';
  for (const [input, paths] of [
    [{ startingAfter: 'x', endingBefore: 'y' }, ['startingAfter', 'endingBefore']],
    [{ startingAfter: good, endingBefore: 'y' }, ['endingBefore']],
    [{ startingAfter: good, endingBefore: good, limit: '0' }, ['limit', 'endingBefore']],
  ] as const) {
    assert.throws(
      () => query.read(input),
      (error: GatewayError) => {
        assert.deepEqual(
          error.details.issues!.map(({ path }) => path),
          paths,
        );
        // The suggestion removes one of the two cursors, so that the next request is accepted.
        assert.match(error.details.suggestion!, /remove endingBefore/i);
        return true;
      },
    );
  }
});
