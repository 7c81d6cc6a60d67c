import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { HANDOFF_TAGS, INSTRUMENTS, spacedCard } from '../../src/simulator/instruments.ts';
import { REFUND_SCRIPTS } from '../../src/simulator/refunds.ts';

test('docs/testing.md lists exactly the test outcomes that there are', () => {
  const page = readFileSync(new URL('../../docs/testing.md', import.meta.url), 'utf8');
  const lines = page.split('\n').map((line) => line.replace(/ +\|/g, ' |'));
  const rows = lines.filter((line) => line.startsWith('| ') && line.includes('`'));
  assert.deepEqual(rows, [
    '| Outcome | Card number | `outcome` | Effect |',
    ...INSTRUMENTS.map(
      ({ id, label, outcome, cardNumber }) => `| ${label} | \`${spacedCard(cardNumber)}\` | \`${id}\` | ${outcome} |`,
    ),
    '| Failure | `customer` | Effect |',
    ...HANDOFF_TAGS.map(({ tag, label, outcome }) => `| ${label} | \`buyer+${tag}@example.com\` | ${outcome} |`),
    ...REFUND_SCRIPTS.map(({ cents, outcome }) => `| \`x.0${cents}\` | ${outcome} |`),
  ]);
});
