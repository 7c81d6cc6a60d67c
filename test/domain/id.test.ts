import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { type IdPrefix, createIdSource, isId } from '../../src/domain/id.ts';

const PREFIXES: IdPrefix[] = ['cus', 'pay', 'inv', 'chk', 'whe', 'dlv', 'ref', 'key'];
const anyPrefix = fc.constantFrom(...PREFIXES);
const anyTime = fc.integer({ min: 0, max: 2 ** 48 - 1 });
const anyBytes = fc.uint8Array({ minLength: 16, maxLength: 16 });

function idOf(prefix: IdPrefix, ms: number, bytes: Uint8Array): string {
  return createIdSource(
    () => ms,
    () => bytes,
  )(prefix);
}

const ZERO = new Uint8Array(16);

test('an id consists of its prefix, 10 characters of time and 26 random characters', () => {
  assert.equal(idOf('chk', 0, ZERO), `chk_${'0'.repeat(36)}`);
  assert.match(createIdSource(() => 1_800_000_000_000, randomBytes)('pay'), /^pay_[0-9a-hjkmnp-tv-z]{36}$/);
});

test('the random part of an id contains all 128 bits of the random source', () => {
  fc.assert(
    fc.property(anyBytes, (bytes) => {
      const letters = Array.from(idOf('key', 7, bytes).slice(14));
      const values = letters.map((letter) => '0123456789abcdefghjkmnpqrstvwxyz'.indexOf(letter));
      const read = values.map((value) => value.toString(2).padStart(5, '0')).join('');
      const expected = Array.from(bytes, (byte) => byte.toString(2).padStart(8, '0')).join('');
      assert.equal(read, expected.padEnd(130, '0'));
    }),
  );
});

test('ids sort by their creation time', () => {
  fc.assert(
    fc.property(anyTime, anyTime, anyBytes, anyBytes, (first, second, left, right) => {
      fc.pre(first < second);
      assert.ok(idOf('inv', first, left) < idOf('inv', second, right));
    }),
  );
});

test('an id is valid only for the resource type of its prefix', () => {
  fc.assert(
    fc.property(anyPrefix, anyPrefix, anyTime, anyBytes, (prefix, expectedPrefix, ms, bytes) => {
      const id = idOf(prefix, ms, bytes);
      assert.equal(isId(id, expectedPrefix), prefix === expectedPrefix);
      assert.ok(isId(id, expectedPrefix, prefix));
    }),
  );
});

test('a text of another form is not a valid id', () => {
  const id = createIdSource(() => 5, randomBytes)('chk');
  const wrong = [
    '',
    'chk_',
    id.slice(0, -1),
    `${id}0`,
    `${id}\n`,
    ` ${id}`,
    id.toUpperCase(),
    id.replace('chk_', 'chk-'),
    id.replace('chk_', 'evt_'),
    `${id.slice(0, -1)}i`,
    `${id.slice(0, -1)}l`,
    `${id.slice(0, -1)}o`,
    `${id.slice(0, -1)}u`,
  ];
  for (const value of wrong) assert.equal(isId(value, ...PREFIXES), false, JSON.stringify(value));
  assert.equal(isId(id), false);
});
