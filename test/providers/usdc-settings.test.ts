import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import * as fc from 'fast-check';
import { HDKey, hdKeyToAccount } from 'viem/accounts';
import { ConfigError, readConfig } from '../../src/config.ts';
import { createWallet } from '../../src/providers/evm-wallet.ts';
import { forAll } from '../support/for-all.ts';

const master = HDKey.fromMasterSeed(new Uint8Array(32).fill(7));
const account = master.derive("m/44'/60'/0'");
const XPUB = account.publicExtendedKey;
// No error message may contain `HIDDEN` or a part of a key.
const HIDDEN = 'hunter2';
const NODE = `https://node.example/${HIDDEN}`;
const LOCAL_NODE = `http://127.0.0.1:8545/${HIDDEN}`;
const TOKEN = `0x${'11'.repeat(20)}`;
const LOCAL = { USDC_XPUB: XPUB, USDC_CHAIN: 'local', USDC_RPC_URLS: LOCAL_NODE, USDC_TOKEN: TOKEN };
const BASE = { USDC_XPUB: XPUB, USDC_CHAIN: 'base', USDC_RPC_URLS: NODE, BASE_URL: 'https://pay.example' };

const folder = mkdtempSync(join(tmpdir(), 'tillway-usdc-'));
after(() => rmSync(folder, { recursive: true }));
let files = 0;

/** Settings whose providers file contains one instance on Base Sepolia with these fields changed. */
function file(fields: Record<string, unknown> = {}) {
  const entry = { id: 'shop', adapter: 'evm-usdc', environment: 'sandbox', chain: 'base_sepolia' };
  const PROVIDERS_FILE = join(folder, `${++files}.json`);
  const provider = { ...entry, xpub: { env: 'XPUB' }, rpc: [{ env: 'NODE' }], ...fields };
  writeFileSync(PROVIDERS_FILE, JSON.stringify({ providers: [provider] }));
  return { XPUB, NODE, PROVIDERS_FILE };
}

/** The variables of {@link LOCAL} with one changed, or left out. */
function local(name: keyof typeof LOCAL, value?: string): Record<string, string> {
  const { [name]: _, ...others } = LOCAL;
  return value === undefined ? others : { ...others, [name]: value };
}

function summary(variables: Record<string, string>) {
  return readConfig(variables).providers.map(({ id, environment, routes }) => {
    const [{ id: route }] = routes as [{ id: string }];
    return `${id} ${environment} ${route}`;
  });
}

describe('an instance for USDC from the settings', () => {
  test('the variables configure one instance with the name of its chain', () => {
    assert.deepEqual(summary(LOCAL), ['local sandbox wallet_usdc_local']);
    assert.deepEqual(summary(BASE), ['base production wallet_usdc_base']);
    const two = `${NODE}, https://other.example`;
    assert.deepEqual(summary({ ...BASE, USDC_RPC_URLS: two }), ['base production wallet_usdc_base']);
  });

  test('the providers file configures the other settings', () => {
    const first = createWallet(XPUB).address(0);
    const rpc = [{ env: 'NODE' }, { env: 'SECOND' }];
    const others = {
      quorum: 2,
      confirm: { final: true },
      toleranceCents: 1000,
      lateWatchDays: 3650,
      firstAddress: first,
    };
    const settings = { ...file({ rpc, ...others }), SECOND: 'https://other.example' };
    assert.deepEqual(summary(settings), ['shop sandbox wallet_usdc_shop']);
    assert.equal(summary(file({ firstAddress: first.toLowerCase() })).length, 1);
  });

  const another = XPUB.endsWith('a') ? 'b' : 'a';
  const urls = (count: number) => Array.from({ length: count }, (_, index) => `${LOCAL_NODE}/${index}`).join(',');
  const faults: [name: string, variables: Record<string, string>, line: RegExp][] = [
    ['no xpub', local('USDC_XPUB'), /^USDC_XPUB must be set/],
    ['no chain', local('USDC_CHAIN'), /^USDC_CHAIN must be set/],
    ['no node', local('USDC_RPC_URLS'), /^USDC_RPC_URLS must be set/],
    ['a token alone', { USDC_TOKEN: TOKEN }, /^USDC_XPUB, USDC_CHAIN, USDC_RPC_URLS must be set/],
    ['an empty xpub', local('USDC_XPUB', ' '), /^USDC_XPUB is set but empty/],
    ['an unknown chain', local('USDC_CHAIN', HIDDEN), /^USDC_CHAIN must be one of base, /],
    ['no token of a local chain', local('USDC_TOKEN'), /^USDC_CHAIN .*token \(USDC_TOKEN\)/],
    ['a malformed token', local('USDC_TOKEN', HIDDEN), /^USDC_TOKEN \(token of local\) must be an address/],
    [
      'a token of a known chain',
      { ...BASE, USDC_TOKEN: TOKEN },
      /^USDC_TOKEN \(token of base\) is for the chain local/,
    ],
    ['a private key', local('USDC_XPUB', account.privateExtendedKey), /^USDC_XPUB .* this is a private key/],
    ['a wrong checksum', local('USDC_XPUB', XPUB.slice(0, -1) + another), /^USDC_XPUB .* copied completely$/],
    ['an incomplete xpub', local('USDC_XPUB', XPUB.slice(0, -1)), /^USDC_XPUB .* copied completely$/],
    [
      'the key of a coin',
      local('USDC_XPUB', master.derive("m/44'/60'").publicExtendedKey),
      /^USDC_XPUB .* has depth 2$/,
    ],
    ['the key of a chain', local('USDC_XPUB', account.deriveChild(0).publicExtendedKey), /^USDC_XPUB .* has depth 4$/],
    [
      'http to another machine',
      local('USDC_RPC_URLS', NODE.replace('s:', ':')),
      /^USDC_RPC_URLS .* must be https URLs/,
    ],
    ['another protocol', local('USDC_RPC_URLS', NODE.replace('https', 'wss')), /^USDC_RPC_URLS .* http or https URLs$/],
    ['no URL', local('USDC_RPC_URLS', HIDDEN), /^USDC_RPC_URLS \(rpc of local\) must be http or https URLs$/],
    ['an empty URL in the list', local('USDC_RPC_URLS', `${LOCAL_NODE},`), /^USDC_RPC_URLS .* must be http or https/],
    ['the same URL twice', local('USDC_RPC_URLS', `${LOCAL_NODE},${LOCAL_NODE}`), /^USDC_RPC_URLS .* same URL twice$/],
    ['six nodes', local('USDC_RPC_URLS', urls(6)), /^USDC_RPC_URLS .* list of 1 to 5 URLs$/],
    ['production without https', { ...BASE, BASE_URL: 'http://pay.example' }, /^BASE_URL must be the public https URL/],
    ['real money in sandbox', file({ chain: 'base' }), /: chain of shop must be a test network or local in sandbox$/],
    [
      'test money in production',
      file({ environment: 'production' }),
      /: chain of shop must be a network with real money/,
    ],
    ['an unknown chain in the file', file({ chain: 'mars' }), /: chain of shop must be one of base, /],
    [
      'a quorum above the nodes',
      file({ quorum: 2 }),
      /: quorum of shop must be at most the number of nodes in rpc, 1$/,
    ],
    ['a quorum of 0', file({ quorum: 0 }), /: quorum of shop must be a whole number from 1 to 5$/],
    ['another first address', file({ firstAddress: TOKEN }), /: firstAddress of shop is not the first address of xpub/],
    ['a literal xpub', file({ xpub: XPUB }), /: xpub of shop must be \{"env"/],
    ['a literal URL', file({ rpc: [NODE] }), /: rpc of shop must be \{"env"/],
    [
      'one URL instead of a list',
      file({ rpc: { env: 'NODE' } }),
      /: rpc of shop \(NODE\) must be a list of 1 to 5 URLs$/,
    ],
    ['an empty list of nodes', file({ rpc: [] }), /: rpc of shop must be a list of 1 to 5 URLs$/],
    ['no nodes in the file', file({ rpc: undefined }), /: rpc of shop is missing$/],
    ['no xpub in the file', file({ xpub: undefined }), /: xpub of shop is missing$/],
    ['a variable that is not set', file({ xpub: { env: 'NONE' } }), /: xpub of shop: the variable NONE is not set$/],
    [
      'half a rule of confirmation',
      file({ confirm: { fastUpTo: 10 } }),
      /: confirm of shop must be \{"final": true\} or/,
    ],
    ['a large tolerance', file({ toleranceCents: 1001 }), /: toleranceCents of shop must be a whole number from 0/],
    ['no days of late money', file({ lateWatchDays: 0 }), /: lateWatchDays of shop must be a whole number from 1/],
    ['an unknown setting', file({ gapLimit: 20 }), /: gapLimit of shop is not a setting$/],
  ];
  for (const [name, variables, line] of faults) {
    test(`the service refuses to start with ${name}: one line names the setting without its value`, () => {
      assert.throws(
        () => readConfig(variables),
        (error: Error) => {
          assert.ok(error instanceof ConfigError, String(error));
          assert.match(error.message, line);
          assert.doesNotMatch(error.message, new RegExp(`\n|undefined|${HIDDEN}|xp(?:ub|rv)[1-9A-Z]|${TOKEN}`));
          return true;
        },
      );
    });
  }
});

test('the addresses of a public key equal those that viem derives from the private key', () => {
  const seeds = fc.uint8Array({ minLength: 16, maxLength: 64 });
  const indexes = fc.nat(2 ** 31 - 1);
  forAll(100, seeds, indexes, indexes, (seed, accountIndex, addressIndex) => {
    const root = HDKey.fromMasterSeed(seed);
    const xpub = root.derive(`m/44'/60'/${accountIndex}'`).publicExtendedKey;
    const { address } = hdKeyToAccount(root, { accountIndex, addressIndex });
    assert.equal(createWallet(xpub).address(addressIndex), address);
  });
});
