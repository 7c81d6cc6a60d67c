/* oxlint-disable unicorn/no-thenable -- a keyword of the rule language */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { GatewayError, type Issue } from '../../src/domain/gateway-error.ts';
import { parseCatalogue } from '../../src/routing/catalogue.ts';
import { checkRules } from '../../src/routing/check-rules.ts';
import { fieldNamed, FIELD_NAMES } from '../../src/routing/rule-fields.ts';
import { ruleSetSchema } from '../../src/routing/rule-set.ts';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const page = read('docs/routing-rules.md');
const routes = parseCatalogue(JSON.parse(read('config/routes.json')));

const blocks = Array.from(page.matchAll(/^```json\n([\s\S]*?)^```$/gm), ([, text]) => JSON.parse(text!) as unknown);
const inlines = Array.from(page.matchAll(/`(\{"[^`]*\})`/g), ([, text]) => text!);
const EFFECTS = Object.keys(ruleSetSchema.shape.rules.element.shape.then.shape);

/** The issues of a rejected example, or the warnings of an accepted one. */
function answerTo(example: unknown): { accepted: boolean; issues: Issue[] } {
  const isSet = typeof example === 'object' && example !== null && 'version' in example;
  const input = isSet ? example : { version: 1, rules: [example] };
  try {
    return { accepted: true, issues: checkRules(input, routes).warnings };
  } catch (error) {
    assert.ok(error instanceof GatewayError, String(error));
    return { accepted: false, issues: error.details.issues ?? [] };
  }
}

describe('the page about routing rules', () => {
  test('the page about routing rules contains enough examples for the tests below', () => {
    assert.ok(blocks.length >= 5 && inlines.length >= 30, `${blocks.length} and ${inlines.length}`);
  });

  for (const [index, example] of blocks.entries()) {
    if (Array.isArray(example)) continue;
    const documented = blocks[index + 1];
    test(`the page about routing rules shows the actual result of example ${index + 1}`, () => {
      assert.deepEqual(answerTo(example).issues, Array.isArray(documented) ? documented : []);
    });
  }

  for (const text of inlines) {
    test(`the example ${text} of the page about routing rules is valid`, () => {
      const example = JSON.parse(text) as object;
      const keys = Object.keys(example);
      const isCondition = keys.every((key) => ['all', 'any', 'not'].includes(key) || fieldNamed(key));
      const isSelector = keys.every((key) => ['kind', 'integrationId', 'network', 'asset', 'kycPolicy'].includes(key));
      const when = { amount: { gt: 1 } };
      const selectorOrActions = isSelector ? { prefer: example } : example;
      const rule = isCondition ? { when: example, then: { explore: false } } : { when, then: selectorOrActions };
      assert.deepEqual(answerTo({ id: 'r', ...rule }), { accepted: true, issues: [] });
    });
  }

  test('the page about routing rules documents every field, operator and effect', () => {
    const operators = FIELD_NAMES.flatMap((name) => fieldNamed(name)!.operators);
    for (const name of [...FIELD_NAMES, 'metadata.<key>', 'all', 'any', 'not', ...operators, ...EFFECTS]) {
      assert.ok(page.includes(`\`${name}\``) || page.includes(`"${name}"`), name);
    }
  });

  test('the page about routing rules explains every issue code', () => {
    const sources = ['check-rules', 'rule-conditions', 'rule-faults', 'rule-selectors', 'rule-set'].map((name) =>
      read(`src/routing/${name}.ts`),
    );
    const codes = sources.flatMap((text) => Array.from(text.matchAll(/code: '(\w+)'/g), ([, code]) => code!));
    assert.ok(codes.length > 20);
    for (const code of new Set(codes.filter((each) => each !== 'custom')))
      assert.ok(page.includes(`| \`${code}\``), code);
  });
});
