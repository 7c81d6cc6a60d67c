/* oxlint-disable unicorn/no-thenable -- a keyword of the rule language */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GatewayError, type Issue } from '../../src/domain/gateway-error.ts';
import type { Route } from '../../src/domain/route.ts';
import { checkRules } from '../../src/routing/check-rules.ts';
import { aRoute } from '../fixtures/checkout-records.ts';

const routes: Route[] = [
  aRoute({ id: 'rt_a', kind: 'card' }),
  aRoute({ id: 'rt_b', kind: 'card', network: 'amex' }),
  aRoute({ id: 'rt_local', kind: 'local', network: 'ach' }),
  aRoute({ id: 'rt_eu_card', kind: 'card', environment: 'production', integrationId: 'acme' }),
];

function refusal(input: unknown): GatewayError | undefined {
  try {
    checkRules(input, routes);
    return undefined;
  } catch (error) {
    assert.ok(error instanceof GatewayError, String(error));
    assert.equal(error.code, 'invalid_input');
    return error;
  }
}

const issuesOf = (...rules: unknown[]): Issue[] => refusal({ version: 1, rules })?.details.issues ?? [];
const found = (issues: Issue[]): string[] => issues.map(({ path, code }) => `${path} ${code}`);
const warningsOf = (...rules: unknown[]) => checkRules({ version: 1, rules }, routes).warnings;
const when = (condition: unknown) => ({ id: 'r', when: condition, then: { explore: false } });
const then = (effects: unknown) => ({ id: 'r', when: { amount: { gt: 1 } }, then: effects });

/** A condition of `levels` connectives, one in the other. */
function nested(levels: number): object {
  const connectives = [
    (inner: object) => ({ not: inner }),
    (inner: object) => ({ all: [inner] }),
    (inner: object) => ({ any: [inner] }),
  ];
  let condition: object = { amount: 1 };
  for (let level = 0; level < levels; level += 1) condition = connectives[level % 3]!(condition);
  return condition;
}

const metadata = (keys: string[]) => Object.fromEntries(keys.map((key) => [`metadata.${key}`, 'x']));
const many = <Value>(count: number, value: (index: number) => Value): Value[] =>
  Array.from({ length: count }, (_, index) => value(index));

/** A split between routes, by their percentages. */
function split(...shares: [route: string, pct: number][]) {
  return then({ split: shares.map(([route, pct]) => ({ route, pct })) });
}

describe('limits', () => {
  type Rules = (size: number) => unknown;
  const limits: [name: string, rules: Rules, within: number, beyond: number, issue: string][] = [
    ['rules', (n) => many(n, (i) => ({ ...when({ hour: 1 }), id: `r${i}` })), 200, 201, 'rules too_big'],
    ['nesting', (n) => when(nested(n)), 8, 9, `rules.0.when.${'any.0.all.0.not.'.repeat(2)}any.0.all.0.not too_big`],
    ['values', (n) => when({ amount: many(n, (i) => i) }), 100, 101, 'rules.0.when.amount too_big'],
    ['values', (n) => when({ amount: many(n, (i) => i) }), 1, 0, 'rules.0.when.amount too_small'],
    ['values of in', (n) => when({ hour: { in: many(n, () => 1) } }), 100, 101, 'rules.0.when.hour.in too_big'],
    ['conditions', (n) => when({ any: many(n, () => ({ hour: 1 })) }), 100, 101, 'rules.0.when.any too_big'],
    ['fields', (n) => when(metadata(many(n, String))), 100, 101, 'rules.0.when too_big'],
    ['a text', (n) => when({ product: '😀'.repeat(n) }), 500, 501, 'rules.0.when.product invalid_value'],
    [
      'a prefix',
      (n) => when({ product: { prefix: 'x'.repeat(n) } }),
      1,
      0,
      'rules.0.when.product.prefix invalid_value',
    ],
    [
      'a suffix',
      (n) => when({ product: { suffix: 'x'.repeat(n) } }),
      500,
      501,
      'rules.0.when.product.suffix invalid_value',
    ],
    [
      'a metadata key',
      (n) => when(metadata(['x'.repeat(n)])),
      500,
      501,
      `rules.0.when."metadata.${'x'.repeat(71)}..." unrecognized_keys`,
    ],
    ['a metadata key', (n) => when(metadata(['x'.repeat(n)])), 1, 0, 'rules.0.when."metadata." unrecognized_keys'],
    ['dollars', (n) => when({ amount: n }), 10_000, 10_000.01, 'rules.0.when.amount invalid_value'],
    ['dollars', (n) => when({ amount: { gte: n } }), 0, -0.01, 'rules.0.when.amount.gte invalid_value'],
    ['decimals of dollars', (n) => when({ amount: n }), 1.23, 1.234, 'rules.0.when.amount invalid_value'],
    ['hours', (n) => when({ hour: [0, n] }), 23, 24, 'rules.0.when.hour.1 invalid_value'],
    ['whole hours', (n) => when({ hour: n }), 1, 1.5, 'rules.0.when.hour invalid_value'],
    ['maxAttempts', (n) => then({ maxAttempts: n }), 3, 4, 'rules.0.then.maxAttempts too_big'],
    ['maxAttempts', (n) => then({ maxAttempts: n }), 1, 0, 'rules.0.then.maxAttempts too_small'],
    ['margin', (n) => then({ margin: n }), 1, 1.01, 'rules.0.then.margin too_big'],
    ['margin', (n) => then({ margin: n }), 0.001, 0, 'rules.0.then.margin too_small'],
    ['an id', (n) => ({ ...then({ smart: true }), id: 'a'.repeat(n) }), 64, 65, 'rules.0.id invalid_format'],
    ['an id', (n) => ({ ...then({ smart: true }), id: 'a'.repeat(n) }), 1, 0, 'rules.0.id invalid_format'],
    ['a code', (n) => then({ reject: 'a'.repeat(n) }), 64, 65, 'rules.0.then.reject too_big'],
    ['a code', (n) => then({ reject: 'a'.repeat(n) }), 1, 0, 'rules.0.then.reject invalid_format'],
    ['a share', (n) => split(['rt_a', n]), 100, 101, 'rules.0.then.split.0.pct too_big'],
    ['a share', (n) => split(['rt_a', n], ['rt_b', 100 - n]), 1, 0, 'rules.0.then.split.0.pct too_small'],
    ['all shares', (n) => split(['rt_a', 70], ['rt_b', n]), 30, 29, 'rules.0.then.split not_100_percent'],
    ['shares', (n) => split(...many(n, (): [string, number] => ['rt_a', 100])), 1, 0, 'rules.0.then.split too_small'],
    ['routes', (n) => then({ prefer: many(n, () => 'rt_a') }), 1, 0, 'rules.0.then.prefer too_small'],
  ];
  for (const [name, rules, within, beyond, issue] of limits) {
    test(`${name}: ${within} is accepted, ${beyond} is rejected`, () => {
      assert.deepEqual(found(issuesOf(...[rules(within)].flat())), []);
      assert.deepEqual(found(issuesOf(...[rules(beyond)].flat())), [issue]);
    });
  }

  test('a selector names at most a hundred routes', () => {
    const catalogue = many(101, (index) => aRoute({ id: `rt_${index}` }));
    const set = (count: number) => ({
      version: 1,
      rules: [{ id: 'r', then: { prefer: catalogue.slice(0, count).map(({ id }) => id) } }],
    });
    assert.deepEqual(checkRules(set(100), catalogue).warnings, []);
    assert.throws(() => checkRules(set(101), catalogue), /rules\.0\.then\.prefer: must be an array of 1 to 100 values/);
  });

  test('a deeply nested condition is rejected without recursion', () => {
    assert.deepEqual(found(issuesOf(when(nested(100_000)))).length, 1);
  });
});

describe('rejected rules', () => {
  const refused: [rule: unknown, ...issues: string[]][] = [
    [null, 'rules.0 invalid_type'],
    ['smart', 'rules.0 invalid_type'],
    [{ id: 'r' }, 'rules.0.then invalid_type'],
    [{ then: { smart: true } }, 'rules.0.id invalid_type'],
    [{ id: 'Upper', then: { smart: true } }, 'rules.0.id invalid_format'],
    [{ id: '-r', then: { smart: true } }, 'rules.0.id invalid_format'],
    [{ id: 'r\n', then: { smart: true } }, 'rules.0.id invalid_format'],
    [{ id: 'r', if: {}, then: { smart: true } }, 'rules.0.if unrecognized_keys'],
    [when(null), 'rules.0.when invalid_type'],
    [when([]), 'rules.0.when invalid_type'],
    [when({}), 'rules.0.when too_small'],
    [when({ tag: 'x' }), 'rules.0.when.tag unrecognized_keys'],
    [when({ metadata: { tier: 'vip' } }), 'rules.0.when.metadata unrecognized_keys'],
    [when(JSON.parse('{"__proto__":1}')), 'rules.0.when.__proto__ unrecognized_keys'],
    [when({ constructor: 1 }), 'rules.0.when.constructor unrecognized_keys'],
    [when({ amount: {} }), 'rules.0.when.amount too_small'],
    [when({ amount: { near: 5 } }), 'rules.0.when.amount.near unrecognized_keys'],
    [when({ amount: { prefix: '5' } }), 'rules.0.when.amount.prefix unrecognized_keys'],
    [when({ amount: { exists: true } }), 'rules.0.when.amount.exists unrecognized_keys'],
    [when({ amount: '5' }), 'rules.0.when.amount invalid_type'],
    [when({ amount: { gt: [5] } }), 'rules.0.when.amount.gt invalid_type'],
    [when({ amount: { in: 5 } }), 'rules.0.when.amount.in invalid_type'],
    [when({ amount: Number.NaN }), 'rules.0.when.amount invalid_value'],
    [when({ amount: Number.POSITIVE_INFINITY }), 'rules.0.when.amount invalid_value'],
    [when({ product: { gt: 5 } }), 'rules.0.when.product.gt unrecognized_keys'],
    [when({ product: { regex: '.*' } }), 'rules.0.when.product.regex unrecognized_keys'],
    [when({ product: null }), 'rules.0.when.product invalid_type'],
    [when({ product: 'a\0b' }), 'rules.0.when.product invalid_value'],
    [when({ product: '\ud800' }), 'rules.0.when.product invalid_value'],
    [when({ product: [['a']] }), 'rules.0.when.product.0 invalid_type'],
    [when({ currency: 'usd' }), 'rules.0.when.currency invalid_value'],
    [when({ environment: 'test' }), 'rules.0.when.environment invalid_value'],
    [when({ environment: { prefix: 'sand' } }), 'rules.0.when.environment.prefix unrecognized_keys'],
    [when({ preferredKind: null }), 'rules.0.when.preferredKind invalid_type'],
    [when({ preferredKind: { exists: 1 } }), 'rules.0.when.preferredKind.exists invalid_type'],
    [when({ weekday: 2 }), 'rules.0.when.weekday invalid_type'],
    [when({ weekday: ['mon', 'monday'] }), 'rules.0.when.weekday.1 invalid_value'],
    [when({ weekday: { gt: 'mon' } }), 'rules.0.when.weekday.gt unrecognized_keys'],
    [when({ 'metadata.vip': true }), 'rules.0.when."metadata.vip" invalid_type'],
    [when({ all: { hour: 1 } }), 'rules.0.when.all invalid_type'],
    [when({ all: [] }), 'rules.0.when.all too_small'],
    [when({ any: [{ hour: 1 }, {}] }), 'rules.0.when.any.1 too_small'],
    [when({ not: [{ hour: 1 }] }), 'rules.0.when.not invalid_type'],
    [then({}), 'rules.0.then too_small'],
    [then([]), 'rules.0.then invalid_type'],
    [then({ route: 'rt_a' }), 'rules.0.then.route unrecognized_keys', 'rules.0.then too_small'],
    [then({ smart: false }), 'rules.0.then.smart invalid_value'],
    [then({ explore: 'no' }), 'rules.0.then.explore invalid_type'],
    [then({ failover: 'kind' }), 'rules.0.then.failover invalid_value'],
    [then({ objective: 'buyer' }), 'rules.0.then.objective invalid_value'],
    [then({ margin: Number.NaN }), 'rules.0.then.margin invalid_type'],
    [then({ margin: -1 }), 'rules.0.then.margin too_small'],
    [then({ maxAttempts: 1.5 }), 'rules.0.then.maxAttempts invalid_type'],
    [then({ smart: true, prefer: 'rt_a' }), 'rules.0.then too_big'],
    [then({ reject: 'no', explore: false }), 'rules.0.then too_big'],
    [then({ reject: 'Not_lower' }), 'rules.0.then.reject invalid_format'],
    [then({ reject: 'a__b' }), 'rules.0.then.reject invalid_format'],
    [then({ by: 'session' }), 'rules.0.then too_small', 'rules.0.then.by unrecognized_keys'],
    [then({ smart: true, by: 'session' }), 'rules.0.then.by unrecognized_keys'],
    [then({ split: [{ route: 'rt_a', pct: 100 }], by: 'day' }), 'rules.0.then.by invalid_value'],
    [split(['rt_a', 33.3]), 'rules.0.then.split.0.pct invalid_type'],
    [split(['rt_no', 100]), 'rules.0.then.split.0.route unknown_route'],
    [split(['rt_a', 50], ['rt_a', 50]), 'rules.0.then.split.1.route duplicate_route'],
    [split(['rt_a', 50], ['rt_eu_card', 50]), 'rules.0.then.split mixed_environments'],
    [then({ exclude: 5 }), 'rules.0.then.exclude invalid_type'],
    [then({ exclude: null }), 'rules.0.then.exclude invalid_type'],
    [then({ exclude: {} }), 'rules.0.then.exclude too_small'],
    [then({ exclude: { tag: 'x' } }), 'rules.0.then.exclude.tag unrecognized_keys'],
    [then({ exclude: { kind: 'bank' } }), 'rules.0.then.exclude.kind invalid_value'],
    [then({ exclude: { kind: [] } }), 'rules.0.then.exclude.kind too_small'],
    [then({ exclude: { kind: 'wallet' } }), 'rules.0.then.exclude.kind unknown_attribute'],
    [then({ exclude: { network: ['ach', 'sepa'] } }), 'rules.0.then.exclude.network.1 unknown_attribute'],
    [then({ exclude: { kind: 'card', network: 'ach' } }), 'rules.0.then.exclude no_such_route'],
    [then({ exclude: 'rt_no' }), 'rules.0.then.exclude unknown_route'],
    [then({ exclude: '' }), 'rules.0.then.exclude invalid_value'],
    [then({ priority: ['rt_a', 'rt_no'] }), 'rules.0.then.priority.1 unknown_route'],
    [then({ priority: ['rt_a', 5] }), 'rules.0.then.priority.1 invalid_type'],
    [then({ priority: ['rt_a', 'rt_a'] }), 'rules.0.then.priority.1 duplicate_route'],
    [{ id: 'r', then: { only: 'rt_a' } }, 'rules.0.then.only no_route_left'],
    [{ id: 'r', then: { exclude: 'rt_eu_card' } }, 'rules.0.then.exclude no_route_left'],
    [
      { id: 'r', when: { environment: 'production' }, then: { exclude: { kind: 'card' } } },
      'rules.0.then.exclude no_route_left',
    ],
    [
      { id: 'r', when: { any: [{ environment: 'production' }, { hour: 1 }] }, then: { only: 'rt_a' } },
      'rules.0.then.only no_route_left',
    ],
    [
      { id: 'r', when: { not: { environment: ['sandbox'] } }, then: { only: 'rt_a' } },
      'rules.0.then.only no_route_left',
    ],
  ];
  for (const [rule, ...issues] of refused) {
    test(`${JSON.stringify(rule)}: ${issues.join(', ')}`, () => assert.deepEqual(found(issuesOf(rule)), issues));
  }

  test('a set of another shape is rejected', () => {
    for (const input of [null, 5, 'rules', [], {}, { version: 1 }, { rules: [] }, { version: 2, rules: [] }]) {
      assert.ok(refusal(input), JSON.stringify(input));
    }
    assert.deepEqual(found(refusal({ version: 1, rules: [], name: 'x' })?.details.issues ?? []), [
      'name unrecognized_keys',
    ]);
    assert.deepEqual(found(refusal({ version: 1, rules: {} })?.details.issues ?? []), ['rules invalid_type']);
  });

  test('a duplicate id is reported at its second place', () => {
    assert.deepEqual(issuesOf(when({ hour: 1 }), when({ hour: 2 })), [
      { path: 'rules.1.id', code: 'duplicate_id', message: 'is the id of an earlier rule: "r"' },
    ]);
  });

  test('rules that together leave an environment without a route are rejected', () => {
    const cards = { id: 'cards', when: { environment: 'sandbox' }, then: { exclude: { kind: 'card' } } };
    const local = { id: 'local', then: { exclude: { network: 'ach' } } };
    assert.deepEqual(found(issuesOf(cards)), []);
    assert.deepEqual(found(issuesOf(cards, local)), ['rules.1.then.exclude no_route_left']);
    assert.deepEqual(found(issuesOf(cards, { ...local, when: { hour: 1 } })), []);
    const more = { id: 'more', then: { exclude: 'rt_a' } };
    assert.deepEqual(found(issuesOf(cards, local, more)), ['rules.1.then.exclude no_route_left']);
  });

  test('all problems are reported at once, rule by rule, each with its remedy', () => {
    const error = refusal({
      version: 1,
      rules: [
        { id: 'r', then: { prefer: 'rt_no' } },
        { id: 'r', when: { amount: { gt: '5' } }, then: { smart: true, extra: 1 } },
        { id: 's', then: { exclude: { network: 'sepa' } } },
      ],
    });
    assert.deepEqual(error?.details.issues, [
      { path: 'rules.0.then.prefer', code: 'unknown_route', message: 'is no route of the catalogue: "rt_no"' },
      {
        path: 'rules.1.when.amount.gt',
        code: 'invalid_type',
        message: 'must be US dollars, not cents: 0 to 10000, at most two decimals, not "5"',
      },
      { path: 'rules.1.then.extra', code: 'unrecognized_keys', message: 'is not a property of this object' },
      { path: 'rules.1.id', code: 'duplicate_id', message: 'is the id of an earlier rule: "r"' },
      {
        path: 'rules.2.then.exclude.network',
        code: 'unknown_attribute',
        message: 'is the network of no route: "sepa"',
      },
    ]);
    assert.equal(error.message, 'rules.0.then.prefer: is no route of the catalogue: "rt_no" (5 problems in all).');
    assert.equal(error.details.field, 'rules.0.then.prefer');
    assert.equal(
      error.details.suggestion,
      'At rules.0.then.prefer, set it to one of rt_a, rt_b, rt_local, rt_eu_card; ' +
        'set rules.1.when.amount.gt to US dollars, not cents: 0 to 10000, at most two decimals; ' +
        'at rules.1.then.extra, remove it; ' +
        'at rules.1.id, give each rule an id of its own; ' +
        'at rules.2.then.exclude.network, set it to one of card_network, amex, ach; then resend.',
    );
  });

  test('the message of a single problem has no count', () => {
    assert.equal(
      refusal({ version: 1, rules: [null] })?.message,
      'rules.0: must be an object with id, when and then, not null.',
    );
  });

  test('too many rules are reported as such, even if the rules are invalid', () => {
    for (const rule of [null, 5, {}, then({ prefer: 'rt_no' })]) {
      const issues = issuesOf(...many(201, () => rule));
      assert.ok(found(issues).includes('rules too_big'), JSON.stringify(rule));
    }
  });

  test('at most fifty problems are listed and all are counted; a long text is not repeated', () => {
    const error = refusal({ version: 1, rules: many(200, () => null) });
    assert.equal(error?.details.issues?.length, 50);
    assert.match(error.message, /\(200 problems in all\)/);
    const [issue] = issuesOf(then({ prefer: 'x'.repeat(400) }));
    assert.equal(issue?.message, 'is no route of the catalogue');
  });
});

describe('warnings', () => {
  test('a set without problems has no warnings', () => {
    assert.deepEqual(
      warningsOf(
        { id: 'big', when: { amount: { gt: 5000 } }, then: { exclude: { kind: 'local' } } },
        { id: 'eu', when: { environment: 'production' }, then: { prefer: 'rt_eu_card' } },
        { id: 'rest', then: { smart: true } },
      ),
      [],
    );
  });

  test('an ordering after one that always applies is dead; the other effects of its rule are not', () => {
    const issues = warningsOf(
      { id: 'first', then: { prefer: { kind: 'card' } } },
      { id: 'second', then: { smart: true, explore: false } },
      { id: 'third', then: { explore: false } },
      { id: 'fourth', then: { prefer: 'rt_a' } },
    );
    assert.deepEqual(issues, [
      { path: 'rules.1.then.smart', code: 'dead_ordering', message: 'never orders: rule first always does before it' },
      { path: 'rules.3.then.prefer', code: 'dead_ordering', message: 'never orders: rule first always does before it' },
    ]);
  });

  test('an ordering that always applies in one environment does not affect the other', () => {
    const sandbox = { id: 'one', when: { environment: 'sandbox' }, then: { smart: true } };
    assert.deepEqual(warningsOf(sandbox, { id: 'two', then: { prefer: { kind: 'card' } } }), []);
    assert.deepEqual(found(warningsOf(sandbox, { id: 'two', then: { prefer: 'rt_a' } })), [
      'rules.1.then.prefer dead_ordering',
    ]);
  });

  test('an ordering without a route in the environment of its rule is dead', () => {
    const rule = { id: 'r', when: { environment: 'sandbox', hour: 1 }, then: { priority: 'rt_eu_card' } };
    assert.deepEqual(warningsOf(rule), [
      {
        path: 'rules.0.then.priority',
        code: 'dead_ordering',
        message: 'never orders: none of its routes is there where the rule applies',
      },
    ]);
  });

  test('a rule that leaves no route where it applies causes a warning', () => {
    assert.deepEqual(warningsOf(then({ only: 'rt_a' })), [
      {
        path: 'rules.0.then',
        code: 'no_route_left',
        message: 'leaves no route of production where it applies: such sessions are refused',
      },
    ]);
  });

  test('an environment without routes causes no warning', () => {
    const sandbox = routes.filter(({ environment }) => environment === 'sandbox');
    const rules = [{ id: 'only', then: { only: 'rt_a' } }, when({ hour: 1 })];
    assert.deepEqual(checkRules({ version: 1, rules }, sandbox).warnings, []);
    assert.deepEqual(checkRules({ version: 1, rules: [when({ hour: 1 })] }, []).warnings, []);
  });

  test('rejecting every session is allowed, with a warning', () => {
    const stop = { id: 'stop', when: { environment: 'production' }, then: { reject: 'closed' } };
    const late = { id: 'late', when: { environment: 'production' }, then: { explore: false } };
    assert.deepEqual(warningsOf(stop, late, { ...stop, id: 'again' }), [
      { path: 'rules.0.then.reject', code: 'rejects_all', message: 'rejects every session of production' },
      { path: 'rules.1', code: 'dead_rule', message: 'is never reached: rule stop rejects every session before it' },
      { path: 'rules.2', code: 'dead_rule', message: 'is never reached: rule stop rejects every session before it' },
    ]);
  });
});
