import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { satisfies } from 'semver';

/** The oldest Node whose npm installs Tillway without a warning. The service itself runs on the packaged Node. */
const OLDEST_NODE = '20.19.0';

interface Lockfile {
  packages: Record<string, { engines?: { node?: string }; optional?: boolean }>;
}

/** Packages for which npm prints a warning on a Node version, each with its supported range. */
function packagesUnsupportedBy(node: string, { packages }: Lockfile): string[] {
  return Object.entries(packages).flatMap(([path, { engines, optional }]) => {
    const range = engines?.node ?? '*';
    // npm silently skips optional packages that do not support this Node version.
    return optional === true || satisfies(node, range) ? [] : [`${path}: ${range}`];
  });
}

describe('npm ci on Node 20', () => {
  test('npm ci on Node 20 prints no warning, because every package supports Node 20', () => {
    const lockfile = JSON.parse(readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8')) as Lockfile;
    assert.ok(Object.keys(lockfile.packages).length > 50);
    assert.deepEqual(packagesUnsupportedBy(OLDEST_NODE, lockfile), []);
  });

  test('npm ci on Node 20 would print a warning for a package that requires a newer Node', () => {
    const packages = { 'node_modules/new': { engines: { node: '^22 || >=24' } }, 'node_modules/any': {} };
    assert.deepEqual(packagesUnsupportedBy(OLDEST_NODE, { packages }), ['node_modules/new: ^22 || >=24']);
  });
});
