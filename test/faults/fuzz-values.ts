import type { Random } from './random.ts';

/*
 * Text here stands for bytes: one character of a string is one byte (latin1), so that what is not UTF-8 can be
 * written too. Text that is meant as text goes through `bytesOf`.
 */

export function bytesOf(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}

/** A JSON object as a list of members, so that names can repeat and values be no JSON at all. */
export type Members = [name: string, value: string][];

export function membersOf(object: Record<string, unknown>): Members {
  return Object.entries(object).map(([name, value]) => [name, bytesOf(JSON.stringify(value))]);
}

export function writeMembers(members: Members): string {
  return `{${members.map(([name, value]) => `${bytesOf(JSON.stringify(name))}:${value}`).join(',')}}`;
}

const NUMBERS = [
  '1e400',
  '-1e400',
  '-0',
  '0',
  '0.0',
  '1e308',
  '-1e308',
  '5e-324',
  '9007199254740993',
  '18446744073709551616',
  '0.1',
  '0.30000000000000004',
  '49.995',
  '0.001',
  '10000',
  '10000.01',
  '-1',
  '1E+2',
  '1'.repeat(400),
];

const NOT_JSON = ['NaN', 'Infinity', '01', '1.', '+1', '0x10', 'undefined', "'x'", '"', '"\x00"', '"\n"', '', '[', '}'];

const STRINGS = [
  '"\\u0000"',
  '"\\ud800"',
  '"\\udfff\\ud800"',
  '"\\ud83d\\ude00"',
  '"\xed\xa0\x80"',
  '"\xff\xfe"',
  '"\xc0\x80"',
  '"\xf4\x90\x80\x80"',
  '"\xf0\x9f\x98\x80"',
  '"\xe2\x80\xae"',
  '""',
  '" "',
  '"\\r\\nset-cookie: a=b"',
  '"__proto__"',
  '"constructor"',
  '"toString"',
  '"null"',
  '"<img src=x onerror=alert(1)>"',
  '"\'; DROP TABLE sessions; --"',
  '"%s%n%00"',
  '"${7*7}{{7*7}}"',
  '"a@b"',
  '"a@b.co"',
  '"A.B+handoff_down@EXAMPLE.com"',
  '"buyer+handoff_error@example.com"',
  '"\\"x\\"@example.com"',
  '"x@[127.0.0.1]"',
  '"javascript:alert(1)"',
  '"http://[::1]:99999/"',
  '"http://user:pass@host/"',
  '"//host/path"',
  '"https://example.com/\\ud800"',
  '"https://%ff/"',
  '"shop://cart"',
  '"https://xn--/"',
  '"production"',
  '"sandbox"',
  '"card"',
  '"paid"',
  '"payment.failed"',
];

const OTHERS = [
  'null',
  'true',
  'false',
  '[]',
  '{}',
  '[[]]',
  '[null]',
  '[{}]',
  '{"":""}',
  '{"__proto__":{"polluted":1}}',
  '{"constructor":{"prototype":{"polluted":1}}}',
  '{"toString":null,"valueOf":1,"length":-1}',
  '{"a":{"b":{"c":"d"}}}',
  '{"a":1,"a":2}',
  '{"toJSON":"x"}',
];

const NAMES = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  '',
  '\0',
  '\ud800',
  'id',
  'status',
  'fees',
  'created',
  'amount',
  'metadata',
  'environment',
  'a.b[0]',
  'x'.repeat(700),
];

/** A JSON value, or nearly one. */
export function nastyValue(random: Random): string {
  switch (random.int(10)) {
    case 0:
      return longString(random);
    case 1:
      return nested(random);
    case 2:
      return random.pick(NOT_JSON);
    case 3:
      return `[${nastyScalar(random)},${nastyScalar(random)}]`;
    case 4:
      return manyMembers(random);
    default:
      return nastyScalar(random);
  }
}

function nastyScalar(random: Random): string {
  return random.pick(random.pick([NUMBERS, STRINGS, STRINGS, OTHERS]));
}

function longString(random: Random): string {
  const unit = random.pick(['a', ' ', '\\u0000', '\xf0\x9f\x98\x80', '\\ud83d', '@', '%', '\\\\']);
  return `"${unit.repeat(1 + random.int(random.pick([130, 600, 3000]) / unit.length))}"`;
}

function nested(random: Random): string {
  const depth = random.pick([2, 31, 32, 33, 500, 20_000]);
  return random.chance(0.5)
    ? `${'['.repeat(depth)}1${']'.repeat(depth)}`
    : `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
}

function manyMembers(random: Random): string {
  const count = random.pick([9, 10, 11, 300]);
  return `{${Array.from({ length: count }, (_, index) => `"k${index}":${random.chance(0.9) ? '"v"' : nastyScalar(random)}`).join(',')}}`;
}

/** A body made of a valid one: mostly with one to three things wrong, sometimes with none. */
export function mutatedBody(random: Random, valid: Members): string {
  if (random.chance(0.1)) return nastyValue(random);
  const members = valid.map((member): Members[number] => [...member]);
  for (let faults = random.int(4); faults > 0; faults--) mutate(random, members);
  const text = writeMembers(members);
  return random.chance(0.15) ? garbled(random, text) : text;
}

function mutate(random: Random, members: Members): void {
  const at = random.int(members.length);
  const member = members[at];
  switch (member ? random.int(8) : 0) {
    case 0:
      members.push([random.pick(NAMES), nastyValue(random)]);
      break;
    case 1:
      members.splice(at, 1);
      break;
    case 2:
      members.push([member![0], nastyValue(random)]);
      break;
    case 3:
      member![1] = `[${member![1]}]`;
      break;
    case 4:
      member![0] = random.pick([member![0].toUpperCase(), `${member![0]} `, random.pick(NAMES)]);
      break;
    default:
      member![1] = nastyValue(random);
  }
}

/** The same bytes with something cut off, put in, left out or changed. */
export function garbled(random: Random, text: string): string {
  const at = random.int(text.length + 1);
  switch (random.int(6)) {
    case 0:
      return text.slice(0, at);
    case 1:
      return text.slice(0, at) + randomBytes(random, 1 + random.int(4)) + text.slice(at);
    case 2:
      return text.slice(0, at) + randomBytes(random, 1) + text.slice(at + 1);
    case 3:
      return `\xef\xbb\xbf${text}`;
    case 4:
      return text + text;
    default:
      return Buffer.from(text, 'latin1').toString('utf16le').slice(0, at) || text;
  }
}

export function randomBytes(random: Random, length: number): string {
  return String.fromCharCode(...Array.from({ length }, () => random.int(256)));
}

const ESCAPES = ['%00', '%ff', '%', '%zz', '%ED%A0%80', '%F0%9F%98%80', '%0d%0a', '%2e%2e%2f', '%2F', '%25', '%u0041'];
const TEXTS = [
  '',
  '1',
  '0',
  '-1',
  '1e3',
  '101',
  '1e400',
  'paid',
  'sandbox',
  'production',
  'a@b.co',
  '__proto__',
  'x y',
];

/** What can stand in a path or a query; not always what should. */
export function nastyText(random: Random): string {
  switch (random.int(6)) {
    case 0:
      return random.pick(ESCAPES);
    case 1:
      return `${random.pick(TEXTS)}${random.pick(ESCAPES)}`;
    case 2:
      return random.pick([
        '..',
        '.',
        '*',
        ':id',
        '{id}',
        'constructor',
        'toString',
        '~',
        '@',
        ';',
        "'",
        '|',
        'é',
        '\xff',
      ]);
    case 3:
      return 'x'.repeat(random.pick([1, 40, 512, 513, 3000]));
    default:
      return encodeURIComponent(random.pick(TEXTS));
  }
}
