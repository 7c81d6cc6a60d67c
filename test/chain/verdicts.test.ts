import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CHAINS } from '../../src/providers/evm-chains.ts';
import type { ChainAddress, ChainTransfer } from '../../src/providers/evm-store.ts';
import { nextVerdict } from '../../src/providers/evm-verdicts.ts';

const DUE = 10_000_000;
const NOW = Date.parse('2026-03-01T12:00:00Z');

const row: ChainAddress = {
  wallet: 'w',
  addressIndex: 0,
  paymentId: 'pay_1',
  provider: 'local',
  address: '0xA',
  dueUnits: DUE,
  created: NOW,
  createdBlock: 1,
  hotUntil: NOW + 1000,
  checkAt: null,
  closed: false,
  announcedUnits: DUE,
  expectedBy: NOW + 3_600_000,
  reportedUnits: 0,
  fastBlock: null,
  reversedUnits: 0,
  reversalRevision: 0,
  unsent: null,
  settled: false,
};
const fast: ChainTransfer = {
  provider: 'local',
  txHash: '0x1',
  logIndex: 0,
  blockHash: '0x2',
  blockNumber: 10,
  address: '0xA',
  units: DUE,
  state: 'fast',
};
const paid: ChainAddress = { ...row, reportedUnits: DUE, fastBlock: 10 };

function verdict(of: ChainAddress, transfers: ChainTransfer[], isCurrent: boolean) {
  const confirm = { fastUpToUnits: DUE, blocks: 3, toleranceUnits: 0 };
  const position = { chain: CHAINS.get('local')!, confirm, finalBlock: 20, isCurrent };
  return nextVerdict({ row: of, transfers }, position, NOW)?.after;
}

describe('verdicts about transfers that are not final', () => {
  it('a complete poll confirms a fast transfer, and reverses one that is gone', () => {
    assert.equal(verdict(row, [fast], true)?.reportedUnits, DUE);
    assert.equal(verdict(paid, [], true)?.reversedUnits, DUE);
  });

  it('after a failed poll, whose transfers can be out of date, nothing is confirmed or reversed', () => {
    assert.equal(verdict(row, [fast], false), undefined);
    assert.equal(verdict(paid, [], false), undefined);
  });

  it('after a failed poll, final transfers are reported', () => {
    assert.equal(verdict(row, [{ ...fast, state: 'final' }], false)?.reportedUnits, DUE);
  });

  it('a decided report is made although its transfer is gone, and corrected after that', () => {
    const decided = verdict(row, [fast], true)!;
    assert.equal(decided.unsent, 'paid');
    const made = verdict(decided, [], true)!;
    assert.deepEqual([made.unsent, made.reportedUnits, made.reversedUnits], [null, DUE, 0]);
    const reversed = verdict(made, [], true)!;
    assert.deepEqual([reversed.unsent, reversed.reversedUnits], ['reversal', DUE]);
  });
});
