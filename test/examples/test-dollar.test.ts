// @run needs=process
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { type AbiEvent, type AbiFunction, type AbiItem, toEventSignature, toFunctionSignature } from 'viem';
import { tokenAbi } from '../../examples/chain/local-chain.ts';
import { toolPath } from '../support/tools.ts';

const pathOf = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const SOURCE = pathOf('../../examples/chain/test-dollar.sol');
const COMPILED = pathOf('../../examples/chain/test-dollar.json');

interface Output {
  errors?: unknown;
  contracts: { 'test-dollar.sol': { TestDollar: { abi: AbiItem[]; evm: { bytecode: { object: string } } } } };
}

const signature = (item: AbiFunction | AbiEvent) =>
  item.type === 'event' ? toEventSignature(item) : toFunctionSignature(item);

function signaturesIn(abi: readonly AbiItem[]): string[] {
  return abi.flatMap((item) => (item.type === 'event' || item.type === 'function' ? [signature(item)] : []));
}

// `node --test --test-update-snapshots` with this file writes the bytecode.
test('the committed bytecode of the test dollar is compiled from its source', async (context) => {
  const settings = {
    optimizer: { enabled: true },
    // Without the hash of the metadata, the bytecode depends on the code only.
    metadata: { appendCBOR: false },
    outputSelection: { '*': { TestDollar: ['abi', 'evm.bytecode.object'] } },
  };
  const sources = { 'test-dollar.sol': { content: readFileSync(SOURCE, 'utf8') } };
  const packages = ['--base-path', '.', '--include-path', pathOf('../tools/node_modules')];
  const { stdout } = spawnSync(process.execPath, [toolPath('solcjs'), '--standard-json', ...packages], {
    cwd: pathOf('.'),
    input: JSON.stringify({ language: 'Solidity', sources, settings }),
    encoding: 'utf8',
  });
  const { errors, contracts }: Output = JSON.parse(stdout.slice(stdout.indexOf('{')));
  assert.equal(errors, undefined);
  const { abi, evm } = contracts['test-dollar.sol'].TestDollar;
  const text = JSON.stringify({ bytecode: `0x${evm.bytecode.object}` });
  const formatted = await format(text, { ...(await resolveConfig(COMPILED)), filepath: COMPILED });
  context.assert.fileSnapshot(formatted, COMPILED, { serializers: [String] });
  const missing = signaturesIn(tokenAbi).filter((each) => !signaturesIn(abi).includes(each));
  assert.deepEqual(missing, [], 'the client calls only functions of the token');
});
