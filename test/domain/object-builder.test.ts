import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { objectBuilder } from '../../src/domain/object-builder.ts';

describe('objectBuilder', () => {
  it('reads, converts and groups the values of a source', () => {
    const double = (value: number) => value * 2;
    const build = objectBuilder([
      { name: 'id', from: 0 },
      { name: 'fees', properties: [{ name: 'buyer "fee"', from: 2, read: double }] },
      { name: 'note', from: 1, read: null },
    ]);
    assert.deepEqual(build(['pay_1', null, 21]), { id: 'pay_1', fees: { 'buyer "fee"': 42 }, note: null });
  });

  it('omits an optional property without a value, and keeps the order of the others', () => {
    const build = objectBuilder([
      { name: 'a', from: 'a' },
      { name: 'b', from: 'b', isOptional: true },
      { name: 'c', from: 'c' },
    ]);
    assert.equal(JSON.stringify(build({ a: 1, c: 3 })), '{"a":1,"c":3}');
    assert.deepEqual(Object.keys(build({ a: 1, c: 3 })), ['a', 'c']);
    assert.deepEqual(Object.keys(build({ c: 3, b: null, a: 1 })), ['a', 'b', 'c']);
  });
});
