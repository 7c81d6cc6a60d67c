import assert from 'node:assert/strict';
import { ConfigError, readConfig } from '../../src/config.ts';

/** Asserts that the settings are refused with one line that matches `line` and does not contain the secret. */
export function assertRefused(variables: Record<string, string>, line: RegExp, secret: string): void {
  assert.throws(
    () => readConfig(variables),
    (error: Error) => {
      assert.ok(error instanceof ConfigError, String(error));
      assert.match(error.message, line);
      assert.doesNotMatch(error.message, new RegExp(`\n|undefined|${secret}`));
      return true;
    },
  );
}
