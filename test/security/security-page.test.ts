import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { describe, it } from 'node:test';

const ROOT = new URL('../../', import.meta.url);
const PAGE = readFileSync(new URL('SECURITY.md', ROOT), 'utf8');

/** Paths of all text files in the repository. */
function* pages(folder = ''): Generator<string> {
  for (const entry of readdirSync(new URL(folder || '.', ROOT), { withFileTypes: true })) {
    const path = `${folder}${entry.name}`;
    if (entry.isDirectory() && !/^(?:node_modules|\.git|data|dist)$/.test(entry.name)) yield* pages(`${path}/`);
    else if (/\.(?:md|html|txt|ts|yaml|yml)$/.test(entry.name)) yield path;
  }
}

describe('SECURITY.md', () => {
  it('SECURITY.md names every test file of test/security, and only files that exist', () => {
    const named = new Set(Array.from(PAGE.matchAll(/`(test\/[\w./-]+\.test\.ts)`/g), ([, path]) => path!));
    const missing = [...named].filter((path) => !existsSync(new URL(path, ROOT)));
    assert.deepEqual(missing, []);
    const unnamed = readdirSync(new URL('test/security', ROOT)).filter(
      (name) => name.endsWith('.test.ts') && !named.has(`test/security/${name}`),
    );
    assert.deepEqual(unnamed, []);
  });

  it('SECURITY.md names a test file for each threat and for each of the twenty-five checks', () => {
    const checks = PAGE.split('\n').filter((line) => /^\| *\d+ *\|/.test(line));
    const threats = PAGE.slice(PAGE.indexOf('## Threats'), PAGE.indexOf('## The twenty-five'))
      .split('\n')
      .filter((line) => line.startsWith('| '))
      .slice(2);
    assert.ok(checks.length > 0 && threats.length > 0);
    for (const line of [...checks, ...threats]) assert.match(line, /test\/[\w./-]+\.test\.ts/, line);
  });

  it('SECURITY.md and all other files claim no PCI compliance', () => {
    // The word is assembled so that this file does not match.
    const word = ['com', 'pliant'].join('');
    const claim = new RegExp(`\\bPCI(?: DSS)?[- ]${word}|\\bcertified\\b[^.]*PCI`, 'i');
    const claiming = [...pages()].filter((path) => claim.test(readFileSync(new URL(path, ROOT), 'utf8')));
    assert.deepEqual(claiming, []);
    assert.ok(claim.test(`We are PCI ${word}.`));
  });
});
