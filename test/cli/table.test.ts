import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Paint, withoutStyle } from '../../src/cli/command-context.ts';
import { growingTable, table } from '../../src/cli/table.ts';

const ID = 'chk_01m7x0e4kq3v8n5c2t9y6w1r4b7d0f3h5j8m';

function wide(columns: number): Paint {
  return Object.assign((_style: unknown, text: string) => text, { columns });
}

describe('a table on a narrow terminal', () => {
  const headings = ['SESSION', 'STATUS', 'CUSTOMER', 'CREATED'];
  const row = [ID, 'routed', 'buyer@example.com', '2026-03-01T12:00:00Z'];

  it('a table on a narrow terminal omits whole columns from the right, and names them', () => {
    assert.equal(
      table(headings, [row], wide(70)),
      `SESSION${' '.repeat(35)}STATUS  CUSTOMER\n${ID}  routed  buyer@example.com\nomitted columns: CREATED\n`,
    );
    assert.equal(
      table(headings, [row], wide(50)),
      `SESSION${' '.repeat(35)}STATUS\n${ID}  routed\nomitted columns: CUSTOMER CREATED\n`,
    );
  });

  it('a table on a narrow terminal never omits an id', () => {
    assert.equal(
      table(['TIME', 'WHAT', 'OF', 'HOW'], [['12:00:00', 'expired', ID, 'answered 200']], wide(20)),
      `TIME      OF\n12:00:00  ${ID}\nomitted columns: WHAT HOW\n`,
    );
  });

  it('a table on a narrow terminal shows all columns if it fits exactly, or if the output is no terminal', () => {
    const whole = table(headings, [row], withoutStyle);
    const width = whole.indexOf('\n2') === -1 ? Math.max(...whole.split('\n').map((line) => line.length)) : 0;
    assert.equal(table(headings, [row], wide(width)), whole);
    assert.notEqual(table(headings, [row], wide(width - 1)), whole);
  });

  it('a table of several pages has the same columns on every page', () => {
    const growing = growingTable(headings, wide(70));
    growing.add([row]);
    assert.equal(growing.add([row]), `${ID}  routed  buyer@example.com\n`);
    assert.equal(growing.end(), 'omitted columns: CREATED\n');
  });
});
