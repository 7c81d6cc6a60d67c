import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import {
  dayOf,
  environmentOfKey,
  hashOfKey,
  lastCharactersOfKey,
  newKeyText,
  nextDay,
} from '../../src/domain/api-key.ts';

const bytes = fc.uint8Array({ minLength: 32, maxLength: 32 });
const textOf = (value: Uint8Array) => newKeyText('sandbox', () => value);

describe('the text of an API key', () => {
  it('the text of an API key consists of the environment and 43 letters and digits for 256 bits', () => {
    fc.assert(
      fc.property(bytes, (value) => {
        assert.match(textOf(value), /^sk_sandbox_[0-9A-Za-z]{43}$/);
        assert.match(
          newKeyText('production', () => value),
          /^sk_live_[0-9A-Za-z]{43}$/,
        );
      }),
    );
    for (const byte of [0, 255]) assert.equal(environmentOfKey(textOf(new Uint8Array(32).fill(byte))), 'sandbox');
  });

  it('the text of an API key contains its environment; a text of another form contains no environment', () => {
    const key = textOf(new Uint8Array(32));
    for (const text of [
      `${key}0`,
      key.slice(0, -1),
      ` ${key}`,
      `${key}\n`,
      key.replace('sk_', 'pk_'),
      'sk_test_',
      '',
    ]) {
      assert.equal(environmentOfKey(text), undefined, JSON.stringify(text));
    }
    assert.equal(environmentOfKey(`sk_live_${'z'.repeat(43)}`), 'production');
  });

  it('an API key is stored as its SHA-256 hash and its last four characters', () => {
    assert.equal(hashOfKey('abc'), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
    assert.equal(lastCharactersOfKey(`sk_live_${'a'.repeat(39)}wXyZ`), 'wXyZ');
  });
});

describe('the day of a spend limit', () => {
  it('the day of a spend limit is a UTC day and ends when the next UTC day begins', () => {
    const last = Date.parse('2026-03-01T23:59:59.999Z');
    assert.deepEqual([dayOf(last), dayOf(last + 1)], ['2026-03-01', '2026-03-02']);
    assert.equal(nextDay(last), last + 1);
    assert.equal(nextDay(last + 1), last + 1 + 86_400_000);
  });
});
