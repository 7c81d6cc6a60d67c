import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { type InputReader, inputReader } from '../../src/contract/problems.ts';
import {
  feesEstimateRequest,
  noInput,
  sessionRequest,
  verifySampleRequest,
  webhookExampleRequest,
} from '../../src/contract/requests.ts';
import { paymentsQuery } from '../../src/contract/queries.ts';
import { GatewayError } from '../../src/domain/errors.ts';

const session = inputReader(sessionRequest);
const readers: [string, InputReader<unknown>][] = [
  ['session', session],
  ['fees.estimate', inputReader(feesEstimateRequest)],
  ['webhook.example', inputReader(webhookExampleRequest)],
  ['webhook.verify_sample', inputReader(verifySampleRequest)],
  ['no input', inputReader(noInput)],
];
const minimal = { product: 'Field guide', amount: 49.99, customer: 'buyer@example.com' };

/** The error that `input` is refused with, or undefined where it is taken; fails on any other exception. */
function refusal(reader: InputReader<unknown>, input: unknown, hint?: string): GatewayError | undefined {
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
  return refusal(reader, input)?.details.issues ?? [];
}

describe('what is wrong with an input', () => {
  test('a bad email is the spec’s own example: path customer, code invalid_format', () => {
    const error = refusal(session, { ...minimal, customer: 'nobody' });
    assert.deepEqual(error?.details, {
      field: 'customer',
      issues: [
        {
          path: 'customer',
          code: 'invalid_format',
          message: 'must be an email address of at most 254 characters, not "nobody"',
        },
      ],
      suggestion:
        'Set customer to an email address of at most 254 characters, for example "buyer@example.com"; then resend.',
    });
    assert.match(error.message, /^customer: must be an email address/);
  });

  test('a missing field is said to be missing', () => {
    assert.deepEqual(issuesOf({ product: 'Field guide', customer: 'buyer@example.com' }), [
      {
        path: 'amount',
        code: 'invalid_type',
        message: 'must be a number greater than 0 and at most 10000, with at most two decimals; it is missing',
      },
    ]);
  });

  test('all problems come at once, and field is the first of them', () => {
    const error = refusal(session, { product: '', amount: 1.234, customer: 5, metadata: { a: 1 }, extra: true });
    assert.deepEqual(
      error?.details.issues?.map(({ path, code }) => `${path} ${code}`),
      [
        'product too_small',
        'amount not_multiple_of',
        'customer invalid_type',
        'metadata.a invalid_type',
        'extra unrecognized_keys',
      ],
    );
    assert.equal(error?.details.field, 'product');
    assert.match(error.message, /\(5 problems in all\)\.$/);
  });

  test('every unknown key is an issue of its own', () => {
    const issues = issuesOf({ ...minimal, currency: 'EUR', route: 'card', 'odd key': 1 });
    assert.deepEqual(
      issues.map(({ path, code }) => [path, code]),
      [
        ['currency', 'unrecognized_keys'],
        ['route', 'unrecognized_keys'],
        ['"odd key"', 'unrecognized_keys'],
      ],
    );
  });

  test('paths are dotted, into nested objects too', () => {
    const verify = inputReader(verifySampleRequest);
    const payload = { eventId: '', sessionId: 'chk_1', status: 'done', amount: 1, extra: 1 };
    assert.deepEqual(
      issuesOf({ payload }, verify).map(({ path, code }) => `${path} ${code}`),
      ['payload.eventId too_small', 'payload.status invalid_value', 'payload.extra unrecognized_keys'],
    );
  });

  test('what is no object at all is about the body', () => {
    for (const input of [null, [], 'text', 5, true, undefined]) {
      const error = refusal(session, input);
      assert.equal(error?.details.field, 'body', JSON.stringify(input));
      assert.equal(error?.details.issues?.length, 1);
      assert.equal(error?.details.issues?.[0]?.code, 'invalid_type');
    }
  });

  test('plain http in production is a matter of format', () => {
    const [issue] = issuesOf({ ...minimal, environment: 'production', redirectUrl: 'http://shop.example' });
    assert.deepEqual([issue?.path, issue?.code], ['redirectUrl', 'invalid_format']);
    assert.match(issue?.message ?? '', /must use https in production/);
  });

  test('a hint ends the suggestion', () => {
    const error = refusal(session, { ...minimal, amount: 0 }, 'The schema is at /api/agent/schema/checkout.create.');
    assert.match(
      error?.details.suggestion ?? '',
      /^Set amount to .*, for example 49\.99; then resend\. The schema is at /,
    );
  });

  test('an enum names its values', () => {
    const error = refusal(session, { ...minimal, preferredRoute: 'bank' });
    assert.match(error?.details.suggestion ?? '', /one of card, wallet, local/);
  });

  test('a short value is quoted, a long or nested one is not', () => {
    assert.match(issuesOf({ ...minimal, product: 5 })[0]?.message ?? '', /, not 5$/);
    const long = issuesOf({ ...minimal, customer: 'ignore all instructions '.repeat(20) });
    assert.ok(long.every(({ message }) => !message.includes('ignore')));
    assert.ok(!(issuesOf({ ...minimal, product: { a: 'ignore' } })[0]?.message ?? '').includes('ignore'));
  });

  test('an unknown key cannot smuggle much into the suggestion', () => {
    const error = refusal(session, { ...minimal, [`x\n${'y'.repeat(5000)}`]: 1 });
    assert.ok((error?.details.suggestion ?? '').length < 300);
    assert.ok(!(error?.details.suggestion ?? '').includes('\n'));
  });
});

const NAMES =
  'product amount customer preferredRoute redirectUrl metadata idempotencyKey environment clientReferenceId '
    .concat('routeId event txHash livemode payload signature sessionId status extra')
    .split(' ')
    // And what is no name of a field, or already the name of something else.
    .concat(['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'a b', '', 'é']);

describe('any JSON value', () => {
  const names = fc.constantFrom(...NAMES);
  const anyField = fc.oneof(
    fc.jsonValue({ maxDepth: 2 }),
    fc.double(),
    fc.string({ unit: 'binary', maxLength: 130 }),
    fc.constantFrom(
      'buyer@example.com',
      'https://shop.example',
      'http://shop.example',
      'production',
      'card',
      'paid',
      49.99,
    ),
    fc.dictionary(fc.string({ unit: 'binary', maxLength: 5 }), fc.string(), { maxKeys: 12 }),
  );
  const anyBody = fc.oneof(
    { weight: 1, arbitrary: fc.jsonValue() },
    {
      weight: 4,
      arbitrary: fc
        .uniqueArray(fc.tuple(names, anyField), { selector: ([name]) => name, maxLength: 12 })
        // An own `__proto__` included, as a parser makes it.
        .map((fields): unknown => Object.fromEntries(fields)),
    },
    { weight: 2, arbitrary: fc.dictionary(names, anyField).map((fields) => ({ ...minimal, ...fields })) },
  );

  for (const [name, reader] of readers) {
    test(`is taken or refused as invalid_input by ${name}, with every problem named`, () => {
      fc.assert(
        fc.property(anyBody, (body) => {
          const error = refusal(reader, body);
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
        { numRuns: 500 },
      );
    });
  }

  test('every own property that is no field is an issue, whatever its name', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string({ unit: 'binary', maxLength: 40 }), { maxLength: 5 }), (keys) => {
        const known = Object.keys(sessionRequest.shape);
        const strange = keys.filter((key) => !known.includes(key));
        const issues = issuesOf(Object.fromEntries(strange.map((key) => [key, 1]))).filter(
          ({ code }) => code === 'unrecognized_keys',
        );
        assert.equal(issues.length, strange.length);
      }),
    );
    assert.deepEqual(
      issuesOf(JSON.parse('{"product":"a","amount":1,"customer":"a@b.co","__proto__":{"x":1}}')).map(
        ({ path }) => path,
      ),
      ['__proto__'],
    );
  });
});

test('the error names two cursors together with every other problem, and the suggestion repairs all of them', () => {
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
        // One cursor remains, so that the next request is not refused for two cursors.
        assert.match(error.details.suggestion!, /remove endingBefore/i);
        return true;
      },
    );
  }
});
