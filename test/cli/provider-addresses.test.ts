// @run on=sqlite,postgres needs=process
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { HDKey } from 'viem/accounts';
import { DEMO_XPUB as XPUB } from '../../examples/chain/local-chain.ts';
import { readConfig } from '../../src/config.ts';
import type { WalletAddresses } from '../../src/operations/providers/wallet-addresses.ts';
import type { CheckResult } from '../../src/providers/provider.ts';
import { createWallet } from '../../src/providers/evm-wallet.ts';
import { localProviders } from '../../src/service/connect-providers.ts';
import { examineDatabase, migrateDatabase, openStore } from '../../src/store/open.ts';
import { type Chain, startChain } from '../support/chain.ts';
import { runSql, settingsOf } from '../support/database.ts';
import { type RpcProxy, down, otherChain, startRpcProxy } from '../support/rpc-proxy.ts';
import { type TestService, startTestService } from '../support/service.ts';
import { assertSound } from '../support/sound.ts';
import { createSession } from '../simulator/buyer.ts';
import { usdcVariables } from '../support/usdc-service.ts';
import { poll, startTransfer } from '../providers/usdc-stage.ts';
import { runOn, runWith } from './terminal.ts';

const wallet = createWallet(XPUB);
let chain: Chain;
let proxies: RpcProxy[];
let on: TestService;
before(async () => {
  chain = await startChain();
  proxies = [await startRpcProxy(chain.url), await startRpcProxy(chain.url)];
  on = await startTestService({ variables: variables() });
  await poll(on);
});
after(async () => {
  await assertSound(on.databaseUrl);
  for (const each of [on, ...proxies, chain]) await each[Symbol.asyncDispose]();
});

const variables = (): Record<string, string> =>
  usdcVariables(
    chain.token,
    proxies.map(({ url }) => url),
  );

const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
const opening = { clock: { now: Date.now }, random: Math.random, log, onFatal: assert.ifError };

/** Runs a command with the settings of the service, in its database. */
async function run(line: string, changed: Record<string, string> = {}) {
  const config = readConfig({ ...variables(), ...changed });
  const settings = settingsOf(on.databaseUrl);
  const local = {
    providers: async () => localProviders(config, { now: Date.now, log }),
    database: async () => ({
      name: 'the database',
      dashboardUrl: 'http://localhost:3000',
      examine: () => examineDatabase(settings),
      migrate: () => migrateDatabase(settings, log),
      open: () => openStore(settings, opening),
      secrets: () => Promise.reject(new Error('no secrets')),
    }),
  };
  return runOn(local, { now: Date.now }, line);
}

const listed = async (options = '') =>
  JSON.parse((await run(`providers addresses local --json${options}`)).stdout) as WalletAddresses;

/** Starts a payment, for which `units` arrive; returns its id and its address. */
async function startedPayment(units = 0n) {
  const { payment, to } = await startTransfer(on, await createSession(on));
  if (units > 0n) await chain.transfer(to, units);
  return { id: payment.id, to };
}

describe('tillway providers addresses', () => {
  test('the addresses of payments are listed with their balances and the longest unused run', async () => {
    const payments = [];
    for (const units of [0n, 0n, 1_234_500n, 0n]) payments.push(await startedPayment(units));
    const { addresses, ...rest } = await listed();
    assert.deepEqual(rest, { nextIndex: 4, skipped: 0, longestUnused: 2 });
    assert.deepEqual(
      addresses,
      payments.map(({ id: paymentId, to }, index) => {
        assert.equal(to, wallet.address(index));
        return { path: `0/${index}`, address: to, units: index === 2 ? 1_234_500 : 0, paymentId };
      }),
    );
    const { code, stdout } = await run('providers addresses local');
    assert.equal(code, 0);
    assert.match(stdout, new RegExp(`0/2 +${payments[2]!.to} +1\\.2345 USDC +${payments[2]!.id}`));
    assert.match(stdout, /gap limit of the wallet to 3 or more/);
  });

  test('--skip-to raises the counter; the next payment uses the index, and skipped addresses with money are listed', async () => {
    // As after a restored backup: the chain knows payments that the database does not.
    await chain.transfer((await chain.client.getAddresses())[0]!, 1n);
    const lost = wallet.address(7);
    await chain.transfer(lost as `0x${string}`, 50_000_000n);
    assert.deepEqual((await listed()).addresses.at(-1), {
      path: '0/7',
      address: lost,
      units: 50_000_000,
      paymentId: null,
    });

    const { nextIndex, skipped, addresses } = await listed(' --skip-to 8');
    assert.deepEqual([nextIndex, skipped, addresses.at(-1)?.path], [8, 4, '0/7']);
    assert.deepEqual((await listed(' --skip-to 8')).skipped, 4);
    assert.equal((await startedPayment()).to, wallet.address(8));
    for (const index of ['8', '10010']) {
      const { code, stdout } = await run(`providers addresses local --skip-to ${index} --json`);
      assert.notEqual(code, 0);
      assert.match(stdout, /The next index is 9/);
    }
    assert.deepEqual((await listed()).nextIndex, 9);
  });

  test('without an answer of a node there is no list, and one node is enough', async () => {
    await proxies[0]!.setFault(otherChain(8453));
    assert.equal((await listed()).nextIndex, 9);
    await proxies[1]!.setFault(down('refusing'));
    const { code, stderr } = await run('providers addresses local');
    assert.equal(code, 1);
    assert.match(stderr, /balances cannot be read: \S+ serves chain 8453 instead of 31337; .*ECONNREFUSED/);
    for (const proxy of proxies) await proxy.setFault();
  });
});

describe('tillway doctor with addresses', () => {
  const derivation = async (changed?: Record<string, string>) => {
    const { code, stdout } = await run('doctor --json', changed);
    const { invariants } = JSON.parse(stdout) as {
      invariants: { name: string; outcome: string; violations: string[] }[];
    };
    const found = invariants.filter(({ name }) => name === 'chain_derivation');
    return [code, found.map(({ outcome, violations }) => [outcome, violations])] as const;
  };

  test('the stored addresses are derived again from the configured key', async () => {
    assert.deepEqual(await derivation(), [0, [['ok', []]]]);
    const stored = wallet.address(1);
    const rename = (from: string, to: string) =>
      runSql(on.databaseUrl, `UPDATE chain_addresses SET address = '${to}' WHERE address = '${from}'`);
    await rename(stored, wallet.address(9));
    const [code, found] = await derivation();
    await rename(wallet.address(9), stored);
    assert.deepEqual([code, found], [1, [['broken', [`${wallet.fingerprint} 1 ${wallet.address(9)}`]]]]);
  });

  test('a wallet whose key is not configured is named as not checked', async () => {
    const other = HDKey.fromMasterSeed(new Uint8Array(32)).derive("m/44'/60'/0'").publicExtendedKey;
    assert.deepEqual(await derivation({ USDC_XPUB: other }), [0, [['not_asked', []]]]);
    const { stdout } = await run('doctor', { USDC_XPUB: other });
    assert.match(stdout, new RegExp(`chain_derivation: not checked; .*${wallet.fingerprint}`));
  });
});

describe('tillway providers scan', () => {
  const scan = (line: string) => runWith({ now: Date.now }, `providers scan --chain local --xpub ${XPUB} ${line}`);

  test('a scan finds the money of a public key without settings and a database', async () => {
    const { code, stdout } = await scan(`--rpc ${chain.url} --token ${chain.token} --to 8 --json`);
    const { data } = JSON.parse(stdout) as { data: { path: string; units: number }[] };
    assert.deepEqual(
      [code, data.map(({ path, units }) => [path, units])],
      [
        0,
        [
          ['0/2', 1_234_500],
          ['0/7', 50_000_000],
        ],
      ],
    );
    const none = await scan(`--rpc ${chain.url} --token ${chain.token} --to 2`);
    assert.deepEqual([none.code, none.stderr], [1, '']);
  });

  test('a scan names a faulty option, without the key', async () => {
    for (const [line, fault] of [
      [`--rpc ${chain.url}`, /needs the setting token/],
      [`--rpc http://node.example --token ${chain.token}`, /--rpc must be https/],
      [`--rpc ${chain.url} --token ${chain.token} --xpub ${XPUB}x`, /--xpub must be an extended public key/],
      [`--rpc ${chain.url} --chain mars`, /--chain must be one of/],
    ] as const) {
      const { code, stderr } = await scan(line);
      assert.equal(code, 2);
      assert.match(stderr, fault);
      assert.ok(!stderr.includes(XPUB));
    }
  });
});

describe('tillway providers check of USDC', () => {
  const checked = async (changed?: Record<string, string>) => {
    const { code, stdout } = await run('providers check --json', changed);
    const [{ ready, findings }] = (JSON.parse(stdout) as { data: [CheckResult] }).data;
    assert.equal(code, ready ? 0 : 1);
    return { ready, found: findings.map(({ level, message }) => `${level} ${message}`) };
  };
  const countOf = (found: string[], pattern: RegExp) => found.filter((line) => pattern.test(line)).length;

  test('sound nodes are ready; the first address is shown', async () => {
    const { ready, found } = await checked();
    assert.deepEqual([ready, countOf(found, /^(?:warning|error)/)], [true, 0]);
    assert.equal(countOf(found, new RegExp(`^ok .*${wallet.address(0)}`)), 1);
    assert.equal(countOf(found, /^ok .*USDC, 6 decimals, block \d+$/), 2);
  });

  test('a dead node and a node of another chain are named', async () => {
    const { host } = new URL(proxies[1]!.url);
    for (const [fault, problem] of [
      [down('refusing'), 'does not answer: .*ECONNREFUSED'],
      [otherChain(8453), 'serves chain 8453 instead of 31337'],
    ] as const) {
      await proxies[1]!.setFault(fault);
      const { ready, found } = await checked();
      assert.deepEqual([ready, countOf(found, /^error 1 of 2 nodes/)], [false, 1]);
      assert.equal(countOf(found, new RegExp(`^warning ${host} ${problem}`)), 1);
    }
    await proxies[1]!.setFault();
  });

  test('a token that is no contract is named, and a single node gives a warning', async () => {
    const wrong = await checked({ USDC_TOKEN: `0x${'11'.repeat(20)}` });
    assert.deepEqual([wrong.ready, countOf(wrong.found, /^warning .*no contract at 0x11/)], [false, 2]);
    const single = await checked({ USDC_RPC_URLS: chain.url });
    assert.deepEqual([single.ready, countOf(single.found, /^warning one node decides/)], [true, 1]);
  });
});
