import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { satisfies } from 'semver';

/** The oldest Node whose npm installs Tillway without a warning; the service itself runs on the packaged one. */
const OLDEST_NODE = '20.19.0';

interface Lockfile {
  packages: Record<string, { engines?: { node?: string }; optional?: boolean }>;
}

/** The packages that npm warns of on that Node, each with the range it asks for. */
function unsuitedTo(node: string, { packages }: Lockfile): string[] {
  return Object.entries(packages).flatMap(([path, { engines, optional }]) => {
    const range = engines?.node ?? '*';
    // npm skips optional packages for other versions in silence, as those for other platforms.
    return optional === true || satisfies(node, range) ? [] : [`${path}: ${range}`];
  });
}

describe('npm ci on Node 20', () => {
  test('finds no package that asks for a newer Node', () => {
    const lockfile = JSON.parse(readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8')) as Lockfile;
    assert.ok(Object.keys(lockfile.packages).length > 50);
    assert.deepEqual(unsuitedTo(OLDEST_NODE, lockfile), []);
  });

  test('a package that asks for a newer one is found', () => {
    const packages = { 'node_modules/new': { engines: { node: '^22 || >=24' } }, 'node_modules/any': {} };
    assert.deepEqual(unsuitedTo(OLDEST_NODE, { packages }), ['node_modules/new: ^22 || >=24']);
  });
});
