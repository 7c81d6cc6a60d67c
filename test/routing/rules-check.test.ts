/* oxlint-disable unicorn/no-thenable -- a keyword of the rule language */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GatewayError, type Issue } from '../../src/domain/gateway-error.ts';
import type { Route } from '../../src/domain/route.ts';
import { checkRules } from '../../src/routing/check-rules.ts';
import { casesOf } from '../../src/routing/rule-cases.ts';
import { aRoute } from '../fixtures/checkout-records.ts';

const routes: Route[] = [
  aRoute({ id: 'rt_a', kind: 'card' }),
  aRoute({ id: 'rt_b', kind: 'card', network: 'amex' }),
  aRoute({ id: 'rt_local', kind: 'local', network: 'ach' }),
  aRoute({ id: 'rt_eu_card', kind: 'card', environment: 'production', integrationId: 'acme' }),
];

function rejection(input: unknown): GatewayError | undefined {
  try {
    checkRules(input, routes);
    return undefined;
  } catch (error) {
    assert.ok(error instanceof GatewayError, String(error));
    assert.equal(error.code, 'invalid_input');
    return error;
  }
}

const issuesOf = (...rules: unknown[]): Issue[] => rejection({ version: 1, rules })?.details.issues ?? [];
const found = (issues: Issue[]): string[] => issues.map(({ path, code }) => `${path} ${code}`);
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

describe('limits of rules', () => {
  type RuleOf = (size: number) => unknown;
  const limits: [name: string, rule: RuleOf, within: number, beyond: number, issue: string][] = [
    ['nesting', (n) => when(nested(n)), 8, 9, `when.${'any.0.all.0.not.'.repeat(2)}any.0.all.0.not too_big`],
    ['values', (n) => when({ amount: many(n, (i) => i) }), 100, 101, 'when.amount too_big'],
    ['values', (n) => when({ amount: many(n, (i) => i) }), 1, 0, 'when.amount too_small'],
    ['values of in', (n) => when({ hour: { in: many(n, () => 1) } }), 100, 101, 'when.hour.in too_big'],
    ['conditions', (n) => when({ any: many(n, () => ({ hour: 1 })) }), 100, 101, 'when.any too_big'],
    ['fields', (n) => when(metadata(many(n, String))), 100, 101, 'when too_big'],
    ['a text', (n) => when({ product: '😀'.repeat(n) }), 500, 501, 'when.product invalid_value'],
    ['a prefix', (n) => when({ product: { prefix: 'x'.repeat(n) } }), 1, 0, 'when.product.prefix invalid_value'],
    ['a suffix', (n) => when({ product: { suffix: 'x'.repeat(n) } }), 500, 501, 'when.product.suffix invalid_value'],
    [
      'a metadata key',
      (n) => when(metadata(['x'.repeat(n)])),
      500,
      501,
      `when."metadata.${'x'.repeat(71)}..." unrecognized_keys`,
    ],
    ['a metadata key', (n) => when(metadata(['x'.repeat(n)])), 1, 0, 'when."metadata." unrecognized_keys'],
    ['dollars', (n) => when({ amount: n }), 10_000, 10_000.01, 'when.amount invalid_value'],
    ['dollars', (n) => when({ amount: { gte: n } }), 0, -0.01, 'when.amount.gte invalid_value'],
    ['decimals of dollars', (n) => when({ amount: n }), 1.23, 1.234, 'when.amount invalid_value'],
    ['hours', (n) => when({ hour: [0, n] }), 23, 24, 'when.hour.1 invalid_value'],
    ['whole hours', (n) => when({ hour: n }), 1, 1.5, 'when.hour invalid_value'],
    ['maxAttempts', (n) => then({ maxAttempts: n }), 3, 4, 'then.maxAttempts too_big'],
    ['maxAttempts', (n) => then({ maxAttempts: n }), 1, 0, 'then.maxAttempts too_small'],
    ['margin', (n) => then({ margin: n }), 1, 1.01, 'then.margin too_big'],
    ['margin', (n) => then({ margin: n }), 0.001, 0, 'then.margin too_small'],
    ['an id', (n) => ({ ...then({ smart: true }), id: 'a'.repeat(n) }), 64, 65, 'id invalid_format'],
    ['an id', (n) => ({ ...then({ smart: true }), id: 'a'.repeat(n) }), 1, 0, 'id invalid_format'],
    ['a code', (n) => then({ reject: 'a'.repeat(n) }), 64, 65, 'then.reject too_big'],
    ['a code', (n) => then({ reject: 'a'.repeat(n) }), 1, 0, 'then.reject invalid_format'],
    ['a share', (n) => split(['rt_a', n]), 100, 101, 'then.split.0.pct too_big'],
    ['a share', (n) => split(['rt_a', n], ['rt_b', 100 - n]), 1, 0, 'then.split.0.pct too_small'],
    ['all shares', (n) => split(['rt_a', 70], ['rt_b', n]), 30, 29, 'then.split not_100_percent'],
    ['shares', (n) => split(...many(n, (): [string, number] => ['rt_a', 100])), 1, 0, 'then.split too_small'],
    ['routes', (n) => then({ prefer: many(n, () => 'rt_a') }), 1, 0, 'then.prefer too_small'],
  ];
  for (const [name, ruleOf, within, beyond, issue] of limits) {
    test(`limit of ${name} in routing rules: ${within} is accepted, ${beyond} is rejected`, () => {
      assert.deepEqual(found(issuesOf(ruleOf(within))), []);
      assert.deepEqual(found(issuesOf(ruleOf(beyond))), [`rules.0.${issue}`]);
    });
  }

  test('a rule set has at most two hundred rules', () => {
    const rules = many(201, (index) => ({ ...when({ hour: 1 }), id: `r${index}` }));
    assert.deepEqual(found(issuesOf(...rules.slice(1))), []);
    assert.deepEqual(found(issuesOf(...rules)), ['rules too_big']);
  });

  test('the work of a check is bounded by the number of rules, too', () => {
    const conditions = many(200, (index) => (index < 12 ? { [`metadata.k${index}`]: 'v' } : {}));
    const { length } = casesOf(conditions);
    assert.ok(length > 2 && length * conditions.length <= 100_000, String(length));
  });

  test('the selector of a rule names at most a hundred routes', () => {
    const catalogue = many(101, (index) => aRoute({ id: `rt_${index}` }));
    const preferring = (count: number) => {
      const prefer = catalogue.slice(0, count).map(({ id }) => id);
      return checkRules({ version: 1, rules: [{ id: 'r', then: { prefer } }] }, catalogue);
    };
    assert.deepEqual(preferring(100).warnings, []);
    assert.throws(() => preferring(101), /rules\.0\.then\.prefer: must be an array of 1 to 100 values/);
  });

  test('the nesting of a condition is checked without exhausting the stack', () => {
    assert.deepEqual(found(issuesOf(when(nested(100_000)))).length, 1);
  });
});

describe('rejected rules', () => {
  const only = (condition: unknown) => ({ id: 'r', when: condition, then: { only: 'rt_a' } });
  const rejected: [rule: unknown, ...issues: string[]][] = [
    [null, ' invalid_type'],
    [{ id: 'r' }, 'then invalid_type'],
    [{ then: { smart: true } }, 'id invalid_type'],
    [{ id: 'Upper', then: { smart: true } }, 'id invalid_format'],
    [{ id: 'r\n', then: { smart: true } }, 'id invalid_format'],
    [{ id: 'r', if: {}, then: { smart: true } }, 'if unrecognized_keys'],
    [when(null), 'when invalid_type'],
    [when({}), 'when too_small'],
    [when({ metadata: { tier: 'vip' } }), 'when.metadata unrecognized_keys'],
    [when(JSON.parse('{"__proto__":1}')), 'when.__proto__ unrecognized_keys'],
    [when({ amount: {} }), 'when.amount too_small'],
    [when({ amount: { near: 5 } }), 'when.amount.near unrecognized_keys'],
    [when({ amount: '5' }), 'when.amount invalid_type'],
    [when({ amount: { gt: [5] } }), 'when.amount.gt invalid_type'],
    [when({ amount: { in: 5 } }), 'when.amount.in invalid_type'],
    [when({ amount: Number.NaN }), 'when.amount invalid_value'],
    [when({ product: { gt: 5 } }), 'when.product.gt unrecognized_keys'],
    [when({ product: null }), 'when.product invalid_type'],
    [when({ product: 'a\0b' }), 'when.product invalid_value'],
    [when({ product: '\ud800' }), 'when.product invalid_value'],
    [when({ product: [['a']] }), 'when.product.0 invalid_type'],
    [when({ currency: 'usd' }), 'when.currency invalid_value'],
    [when({ preferredKind: null }), 'when.preferredKind invalid_type'],
    [when({ preferredKind: { exists: 1 } }), 'when.preferredKind.exists invalid_type'],
    [when({ weekday: ['mon', 'monday'] }), 'when.weekday.1 invalid_value'],
    [when({ 'metadata.vip': true }), 'when."metadata.vip" invalid_type'],
    [when({ all: { hour: 1 } }), 'when.all invalid_type'],
    [when({ any: [{ hour: 1 }, {}] }), 'when.any.1 too_small'],
    [when({ not: [{ hour: 1 }] }), 'when.not invalid_type'],
    [then({}), 'then too_small'],
    [then({ route: 'rt_a' }), 'then.route unrecognized_keys', 'then too_small'],
    [then({ smart: false }), 'then.smart invalid_value'],
    [then({ failover: 'kind' }), 'then.failover invalid_value'],
    [then({ margin: Number.NaN }), 'then.margin invalid_type'],
    [then({ maxAttempts: 1.5 }), 'then.maxAttempts invalid_type'],
    [then({ smart: true, prefer: 'rt_a' }), 'then too_big'],
    [then({ reject: 'no', explore: false }), 'then too_big'],
    [then({ reject: 'Not_lower' }), 'then.reject invalid_format'],
    [then({ smart: true, by: 'session' }), 'then.by unrecognized_keys'],
    [then({ split: [{ route: 'rt_a', pct: 100 }], by: 'day' }), 'then.by invalid_value'],
    [split(['rt_a', 33.3]), 'then.split.0.pct invalid_type'],
    [split(['rt_no', 100]), 'then.split.0.route unknown_route'],
    [split(['rt_a', 50], ['rt_a', 50]), 'then.split.1.route duplicate_route'],
    [split(['rt_a', 50], ['rt_eu_card', 50]), 'then.split mixed_environments'],
    [then({ exclude: 5 }), 'then.exclude invalid_type'],
    [then({ exclude: {} }), 'then.exclude too_small'],
    [then({ exclude: { tag: 'x' } }), 'then.exclude.tag unrecognized_keys'],
    [then({ exclude: { kind: 'bank' } }), 'then.exclude.kind invalid_value'],
    [then({ exclude: { kind: 'wallet' } }), 'then.exclude.kind unknown_attribute'],
    [then({ exclude: { network: ['ach', 'sepa'] } }), 'then.exclude.network.1 unknown_attribute'],
    [then({ exclude: { kind: 'card', network: 'ach' } }), 'then.exclude no_such_route'],
    [then({ exclude: '' }), 'then.exclude invalid_value'],
    [then({ priority: ['rt_a', 'rt_no'] }), 'then.priority.1 unknown_route'],
    [then({ priority: ['rt_a', 'rt_a'] }), 'then.priority.1 duplicate_route'],
    [{ id: 'r', then: { only: 'rt_a' } }, 'then.only no_route_left'],
    [{ id: 'r', then: { exclude: 'rt_eu_card' } }, 'then.exclude no_route_left'],
    [
      { id: 'r', when: { environment: 'production' }, then: { exclude: { kind: 'card' } } },
      'then.exclude no_route_left',
    ],
    [only({ any: [{ environment: 'production' }, { hour: 1 }] }), 'then.only no_route_left'],
    [only({ not: { environment: ['sandbox'] } }), 'then.only no_route_left'],
  ];
  for (const [rule, ...issues] of rejected) {
    test(`the rule ${JSON.stringify(rule)} is rejected with the issues ${issues.join(', ')}`, () => {
      assert.deepEqual(
        found(issuesOf(rule)),
        issues.map((issue) => `rules.0${issue.startsWith(' ') ? '' : '.'}${issue}`),
      );
    });
  }

  test('a rule set of another shape is rejected', () => {
    for (const input of [null, 5, 'rules', [], {}, { version: 1 }, { rules: [] }, { version: 2, rules: [] }]) {
      assert.ok(rejection(input), JSON.stringify(input));
    }
    const issuesIn = (set: object) => found(rejection({ version: 1, ...set })?.details.issues ?? []);
    assert.deepEqual(issuesIn({ rules: [], name: 'x' }), ['name unrecognized_keys']);
    assert.deepEqual(issuesIn({ rules: {} }), ['rules invalid_type']);
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

  test('all problems of a rule set are reported at once, rule by rule, each with its remedy; the message counts them', () => {
    const { message } = rejection({ version: 1, rules: [null] })!;
    assert.equal(message, 'rules.0: must be an object with id, when and then, not null.');
    const error = rejection({
      version: 1,
      rules: [
        { id: 'r', then: { prefer: 'rt_no' } },
        { id: 'r', when: { amount: { gt: '5' } }, then: { smart: true, extra: 1 } },
        { id: 's', then: { exclude: { network: 'sepa' } } },
      ],
    });
    const amount = 'US dollars, not cents: 0 to 10000, at most two decimals';
    assert.deepEqual(error?.details.issues, [
      { path: 'rules.0.then.prefer', code: 'unknown_route', message: 'is not a route of the catalogue: "rt_no"' },
      { path: 'rules.1.when.amount.gt', code: 'invalid_type', message: `must be ${amount}, not "5"` },
      { path: 'rules.1.then.extra', code: 'unrecognized_keys', message: 'is not a property of this object' },
      { path: 'rules.1.id', code: 'duplicate_id', message: 'is the id of an earlier rule: "r"' },
      {
        path: 'rules.2.then.exclude.network',
        code: 'unknown_attribute',
        message: 'is not the network of any route: "sepa"',
      },
    ]);
    assert.equal(error.message, 'rules.0.then.prefer: is not a route of the catalogue: "rt_no" (5 problems in all).');
    assert.equal(error.details.field, 'rules.0.then.prefer');
    assert.equal(
      error.details.suggestion,
      'At rules.0.then.prefer, set it to one of rt_a, rt_b, rt_local, rt_eu_card; ' +
        `set rules.1.when.amount.gt to ${amount}; ` +
        'at rules.1.then.extra, remove it; ' +
        'at rules.1.id, give each rule an id of its own; ' +
        'at rules.2.then.exclude.network, set it to one of card_network, amex, ach; then resend.',
    );
  });

  test('the error about a rule set lists at most fifty problems and counts all; it does not repeat a long text', () => {
    const error = rejection({ version: 1, rules: many(200, () => null) });
    assert.equal(error?.details.issues?.length, 50);
    assert.match(error.message, /\(200 problems in all\)/);
    const [issue] = issuesOf(then({ prefer: 'x'.repeat(400) }));
    assert.equal(issue?.message, 'is not a route of the catalogue');
  });
});

describe('a warning', () => {
  const sandboxFirst = { id: 'one', when: { environment: 'sandbox' }, then: { smart: true } };
  const closed = { id: 'stop', when: { environment: 'production' }, then: { reject: 'closed' } };
  const never = (reason: string) => ({ code: 'dead_ordering', message: `has no effect: ${reason}` });
  const unreached = {
    code: 'dead_rule',
    message: 'is never reached: rule stop rejects all of its sessions first',
  };
  const cases: [title: string, rules: object[], warnings: Issue[]][] = [
    [
      'is not given for rules without problems',
      [
        { id: 'big', when: { amount: { gt: 5000 } }, then: { exclude: { kind: 'local' } } },
        { id: 'eu', when: { environment: 'production' }, then: { prefer: 'rt_eu_card' } },
        { id: 'rest', then: { smart: true } },
      ],
      [],
    ],
    [
      'names an ordering after an ordering that always applies, but not the other effects of its rule',
      [
        { id: 'first', then: { prefer: { kind: 'card' } } },
        { id: 'second', then: { smart: true, explore: false } },
        { id: 'third', then: { explore: false } },
        { id: 'fourth', then: { prefer: 'rt_a' } },
      ],
      [
        { path: 'rules.1.then.smart', ...never('rule first always orders the routes before it') },
        { path: 'rules.3.then.prefer', ...never('rule first always orders the routes before it') },
      ],
    ],
    [
      'is not given for an ordering that still applies in the other environment',
      [sandboxFirst, { id: 'two', then: { prefer: { kind: 'card' } } }],
      [],
    ],
    [
      'names an ordering that applies only in the environment of an earlier ordering',
      [sandboxFirst, { id: 'two', then: { prefer: 'rt_a' } }],
      [{ path: 'rules.1.then.prefer', ...never('rule one always orders the routes before it') }],
    ],
    [
      'names an ordering without a route in the environment of its rule',
      [{ id: 'r', when: { environment: 'sandbox', hour: 1 }, then: { priority: 'rt_eu_card' } }],
      [{ path: 'rules.0.then.priority', ...never('none of its routes is available when the rule applies') }],
    ],
    [
      'names a rule that leaves no route where it applies',
      [then({ only: 'rt_a' })],
      [
        {
          path: 'rules.0.then',
          code: 'no_route_left',
          message: 'leaves no route of production if it applies, so that such sessions are refused',
        },
      ],
    ],
    [
      'names a rule that rejects every session, and each rule after it',
      [closed, { ...closed, id: 'late', then: { explore: false } }, { ...closed, id: 'again' }],
      [
        { path: 'rules.0.then.reject', code: 'rejects_all', message: 'rejects every session of production' },
        { path: 'rules.1', ...unreached },
        { path: 'rules.2', ...unreached },
      ],
    ],
  ];
  for (const [title, rules, warnings] of cases) {
    test(`a warning about routing rules ${title}`, () =>
      assert.deepEqual(checkRules({ version: 1, rules }, routes).warnings, warnings));
  }

  const warned = (...rules: object[]) =>
    found(
      checkRules({ version: 1, rules: rules.map((rule, index) => ({ id: `r${index}`, ...rule })) }, routes).warnings,
    );
  const off = { explore: false };
  const no = { reject: 'no' };
  const contradictions: [condition: object, isNeverMet: boolean][] = [
    [{ amount: { gte: 200, lt: 100 } }, true],
    [{ amount: { gt: 100, lt: 100.01 } }, true],
    [{ amount: { gt: 100, lt: 100.02 } }, false],
    [{ amount: { lt: 0 } }, true],
    [{ amount: { lt: 0.01 } }, true],
    [{ amount: 0 }, true],
    [{ amount: 0.01 }, false],
    [{ hour: 0 }, false],
    [{ currency: 'EUR' }, true],
    [{ amount: { gt: 10_000 } }, true],
    [{ hour: { gt: 22, lt: 23 } }, true],
    [{ hour: { gt: 21, lt: 23 } }, false],
    [{ hour: { ne: 3 }, any: [{ hour: 3 }, { amount: { lt: 0 } }] }, true],
    [{ all: [{ currency: 'USD' }, { currency: 'EUR' }] }, true],
    [{ all: [{ environment: 'sandbox' }, { environment: 'production' }] }, true],
    [{ not: { preferredKind: { exists: false } }, preferredKind: { nin: ['card', 'wallet', 'local'] } }, true],
    [{ preferredKind: { nin: ['card', 'wallet', 'local'] } }, false],
    [{ weekday: { nin: ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] } }, true],
    [{ not: { any: [{ weekday: 'mon' }, { weekday: { ne: 'mon' } }] } }, true],
    [{ product: { prefix: 'ab', eq: 'b' } }, true],
    [{ product: { prefix: 'ab', suffix: 'ba' } }, false],
    [{ all: [{ product: { prefix: 'ab' } }, { product: { prefix: 'ac' } }] }, true],
    [{ all: [{ product: { prefix: 'ab' } }, { not: { product: { prefix: 'a' } } }] }, true],
    [{ all: [{ product: { suffix: 'ab' } }, { not: { product: { prefix: 'ab' } } }] }, false],
    [{ customer: { eq: 'A@b.example', suffix: '@B.EXAMPLE' } }, false],
    [{ all: [{ customer: 'A@b.example' }, { not: { customer: 'a@B.example' } }] }, true],
    [{ 'metadata.a': { exists: false, prefix: 'x' } }, true],
    [{ 'metadata.a': { exists: false }, 'metadata.b': 'x' }, false],
    [{ clientReferenceId: { exists: false, nin: ['x'] } }, false],
  ];
  for (const [condition, isNeverMet] of contradictions) {
    test(`a warning that ${JSON.stringify(condition)} never holds is ${isNeverMet ? '' : 'not '}given`, () =>
      assert.deepEqual(warned({ when: condition, then: off }), isNeverMet ? ['rules.0.when never_applies'] : []));
  }

  const ordered = (when: object) => ({ when, then: { smart: true } });
  const rejected = (when: object) => ({ when, then: no });
  const implied: [earlier: object[], later: object, isImplied: boolean][] = [
    [[{ amount: { gte: 100 } }], { amount: { gte: 100 } }, true],
    [[{ amount: { gte: 100 } }], { amount: { gt: 100, lt: 200 } }, true],
    [[{ amount: { gte: 100 } }], { amount: { gte: 99.99 } }, false],
    [[{ currency: 'USD' }], { currency: 'USD', hour: 3 }, true],
    [[{ currency: 'USD', hour: 3 }], { currency: 'USD' }, false],
    [[{ product: { prefix: 'a' } }], { product: { prefix: 'ab' } }, true],
    [[{ product: { prefix: 'ab' } }], { product: { prefix: 'a' } }, false],
    [[{ hour: { lt: 12 } }, { hour: { gte: 12 } }], { weekday: 'mon' }, true],
    [[{ hour: { lt: 12 } }, { hour: { gt: 12 } }], { weekday: 'mon' }, false],
    [[{ 'metadata.a': { exists: true } }], { 'metadata.a': ['x', 'y'] }, true],
  ];
  for (const [earlier, later, isImplied] of implied) {
    test(`a warning about ${JSON.stringify(later)} after ${JSON.stringify(earlier)} is ${isImplied ? '' : 'not '}given`, () => {
      const index = earlier.length;
      const orderings = warned(...[...earlier, later].map(ordered));
      assert.deepEqual(orderings, isImplied ? [`rules.${index}.then.smart dead_ordering`] : []);
      const rejections = warned(...[...earlier, later].map(rejected));
      assert.deepEqual(
        rejections.filter((each) => !each.endsWith('rejects_all')),
        isImplied ? [`rules.${index} dead_rule`] : [],
      );
    });
  }

  const noB = { then: { exclude: 'rt_b' } };
  const firstB = { then: { priority: ['rt_b'] } };
  const withoutRoutes: [rules: object[], isExcluded: boolean][] = [
    [[noB, firstB], true],
    [[firstB, noB], true],
    [[noB, { then: { split: [{ route: 'rt_b', pct: 100 }] } }], true],
    [[{ then: { exclude: 'rt_b', prefer: ['rt_b'] } }], true],
    [
      [
        { when: { hour: { lt: 12 } }, ...noB },
        { when: { hour: 3 }, ...firstB },
      ],
      true,
    ],
    // Where the routes are not excluded, an earlier rule orders them.
    [[{ when: { hour: { lt: 12 } }, then: { smart: true } }, { when: { hour: { gte: 12 } }, ...noB }, firstB], true],
    [[{ when: { hour: { lt: 12 } }, then: { smart: true } }, { when: { hour: { gte: 13 } }, ...noB }, firstB], false],
    [[{ when: { hour: { lt: 12 } }, ...noB }, firstB], false],
    [[noB, { then: { priority: ['rt_b', 'rt_a'] } }], false],
    [[noB, { then: { smart: true } }], false],
  ];
  for (const [rules, isExcluded] of withoutRoutes) {
    test(`a warning that rules exclude all routes of an ordering is ${isExcluded ? '' : 'not '}given for ${JSON.stringify(rules)}`, () =>
      assert.deepEqual(
        warned(...rules).map((each) => each.split(' ')[1]),
        isExcluded ? ['excluded_ordering'] : [],
      ));
  }

  test('a warning about a superseded ordering names each rule that supersedes it', () => {
    const rules = [{ hour: { lt: 12 } }, { hour: { gte: 12 } }, { weekday: 'mon' }].map(ordered);
    const withIds = rules.map((rule, index) => ({ id: `r${index}`, ...rule }));
    const [warning] = checkRules({ version: 1, rules: withIds }, routes).warnings;
    assert.equal(warning?.message, 'has no effect: rule r0 or r1 always orders the routes before it');
  });

  test('a warning is given if the rules together reject every session of an environment', () => {
    const both = ['rules.1.then.reject rejects_all', 'rules.1.then.reject rejects_all'];
    assert.deepEqual(warned(rejected({ amount: { lt: 100 } }), rejected({ amount: { gte: 100 } })), both);
    assert.deepEqual(warned(rejected({ amount: { lt: 100 } }), rejected({ amount: { gt: 100 } })), []);
    const everySession = ['rules.0.then.reject rejects_all', 'rules.0.then.reject rejects_all'];
    assert.deepEqual(warned(rejected({ amount: { gt: 0 } })), everySession);
    assert.deepEqual(warned(rejected({ currency: { ne: 'EUR' } })), everySession);
    const environments = [rejected({ environment: 'sandbox' }), rejected({ environment: 'production' })];
    assert.deepEqual(warned(...environments), ['rules.0.then.reject rejects_all', 'rules.1.then.reject rejects_all']);
    const card = { when: { environment: 'sandbox', hour: { lt: 12 } }, then: { exclude: { kind: 'card' } } };
    const local = { when: { environment: 'sandbox' }, then: { exclude: { kind: 'local' } } };
    const late = rejected({ hour: { gte: 12 } });
    assert.deepEqual(warned(card, local, late), ['rules.2.then.reject rejects_all']);
    assert.deepEqual(warned(late, card, local), ['rules.2.then.exclude rejects_all']);
    assert.deepEqual(warned(card, late), []);
  });

  test('conditions on more fields than can be combined still give the warnings that the other fields prove', () => {
    const wide = many(40, (index) => ordered({ [`metadata.${index}`]: { prefix: 'x' } }));
    const clash = { when: { environment: ['sandbox'], not: { environment: 'sandbox' } }, then: off };
    assert.deepEqual(warned(...wide, clash, ordered({ environment: 'sandbox' })), ['rules.40.when never_applies']);
    assert.deepEqual(warned({ then: { smart: true } }, ...wide).length, 40);
  });

  test('a warning about routing rules is not given for an environment without routes', () => {
    const sandbox = routes.filter(({ environment }) => environment === 'sandbox');
    const rules = [{ id: 'only', then: { only: 'rt_a' } }, when({ hour: 1 })];
    assert.deepEqual(checkRules({ version: 1, rules }, sandbox).warnings, []);
    assert.deepEqual(checkRules({ version: 1, rules: rules.slice(1) }, []).warnings, []);
  });
});
