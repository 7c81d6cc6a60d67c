import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { guideBlocksOf } from './guide.ts';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

test('the adapter in docs/adding-a-provider.md equals the example adapter of the tests', () => {
  const blocks = guideBlocksOf(read('docs/adding-a-provider.md'));
  const adapter = read('test/providers/example-provider.ts').trimEnd();
  assert.ok(blocks.some(({ language, text }) => language === 'ts' && text === adapter));
});

test('docs/adding-a-provider.md describes every method of the provider port', () => {
  const guide = read('docs/adding-a-provider.md');
  const [, port = ''] = /export interface Provider \{([\s\S]*?)\n\}/.exec(read('src/providers/provider.ts')) ?? [];
  const methods = Array.from(port.matchAll(/^ {2}(\w+)\??\(/gm), ([, name]) => name!);
  assert.ok(methods.length >= 9);
  for (const method of methods) assert.ok(guide.includes(`| \`${method}\``), `${method} is not described`);
});
