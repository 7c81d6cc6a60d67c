import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { providerText } from '../../src/domain/failure.ts';
import { anyProviderText } from '../fixtures/failures.ts';
import { runs } from '../support/for-all.ts';

test('a provider text is normalised to one well-formed line of at most 200 characters', () => {
  fc.assert(
    fc.property(fc.option(anyProviderText, { nil: null }), (text) => {
      const stored = providerText(text);
      if (stored === null) return assert.equal((text ?? '').replace(/[\p{C}\p{Z}\uFEFF]/gu, ''), '');
      assert.ok(stored.length >= 1 && stored.length <= 200);
      assert.ok(stored.isWellFormed());
      assert.doesNotMatch(stored, /[\p{C}\p{Zl}\p{Zp}]/u);
      assert.equal(providerText(stored), stored);
    }),
    { numRuns: runs(1000) },
  );
  assert.equal(providerText('insufficient_funds'), 'insufficient_funds');
  assert.equal(providerText(`${'x'.repeat(199)}😀`), `${'x'.repeat(199)}\uFFFD`);
});
