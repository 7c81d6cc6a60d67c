import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { parseJsonBody } from '../../src/http/json-body.ts';
import { call, sessionBody, startTestService } from '../support/service.ts';
import { anyCodePoint } from '../support/code-point.ts';
import { runs } from '../support/for-all.ts';

/** Writes a JSON string in which some characters are escaped without need. */
function writeEscaped(escapes: readonly boolean[], value: string): string {
  const written = Array.from(value, (character, index) => {
    const plain = JSON.stringify(character).slice(1, -1);
    if (!escapes[index % escapes.length]) return plain;
    return Array.from(
      { length: character.length },
      (_, unit) => String.raw`\u${character.charCodeAt(unit).toString(16).padStart(4, '0')}`,
    ).join('');
  });
  return `"${written.join('')}"`;
}

/** Keys that the contract accepts; most are short, because the parser is most likely to confuse short keys. */
const key = fc.oneof(
  fc.constantFrom('a', 'b', 'é', '/', '🦉', 'ab'),
  fc
    .string({ unit: 'grapheme', maxLength: 6 })
    .filter((text) => text.isWellFormed() && !/["\\\u0000-\u001f]/.test(text)),
);

test('a JSON body parses to the same keys with and without escapes', () => {
  // Earlier parses in the process must not affect the result.
  for (const earlier of [String.raw`{"\\":"x"}`, String.raw`{"a":1,"\\":"x"}`, String.raw`{"\n":"x"}`])
    parseJsonBody(Buffer.from(earlier));
  fc.assert(
    fc.property(
      fc.uniqueArray(key, { minLength: 1, maxLength: 4 }),
      fc.array(fc.boolean(), { minLength: 1, maxLength: 4 }),
      (keys, escapes) => {
        const json = `{${keys.map((name) => `${writeEscaped(escapes, name)}:1`).join(',')}}`;
        const expected = Object.fromEntries(keys.map((name) => [name, 1]));
        assert.deepEqual(parseJsonBody(Buffer.from(json)), expected, json);
      },
    ),
    { numRuns: runs(1000) },
  );
});

test('string values in a JSON body may contain any character', () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCodePoint }), (value) => {
      assert.deepEqual(parseJsonBody(Buffer.from(JSON.stringify([value]))), [value]);
    }),
  );
});

test('an escape outside a string makes a JSON body invalid', () => {
  assert.throws(() => parseJsonBody(Buffer.from(String.raw`[\u0031]`)));
});

test('a metadata key that JSON must escape is rejected, and does not affect later requests', async () => {
  await using tillway = await startTestService();
  const url = `${tillway.url}/api/gateway/sessions`;
  for (const name of ['"', '\\', '\n', 'a\\', '\u0001']) {
    const { status, body } = await call<{ error: { field: string } }>(
      'POST',
      url,
      sessionBody({ metadata: { [name]: 'x' } }),
    );
    assert.deepEqual([status, body.error.field], [400, `metadata.${JSON.stringify(name)}`]);
  }
  const escaped = String.raw`{"product":"x","amount":1,"customer":"a@b.co","metadata":{"a":"1","\u00e9":"2"}}`;
  const { body } = await call<{ metadata: Record<string, string> }>('POST', url, escaped);
  assert.deepEqual(body.metadata, { a: '1', é: '2' });
});
