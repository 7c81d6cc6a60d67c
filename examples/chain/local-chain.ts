import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import * as viem from 'viem';

/** A local Ethereum chain (anvil, chain id 31337) with a test dollar. `await using` stops it. */
export interface LocalChain extends AsyncDisposable {
  /** JSON-RPC over HTTP. */
  url: string;
  client: ReturnType<typeof clientOf>;
  /** Accounts that hold ether and 1,000,000.00 of both tokens. The chain signs for them. */
  accounts: readonly viem.Address[];
  /** The test dollar, at the same address on every local chain. */
  token: viem.Address;
  /** Another token with the same code. */
  otherToken: viem.Address;
  /**
   * Sends a transaction with one transfer, from another account each time. Returns the hash when the transaction is in a
   * block, or at once unless mining is automatic.
   */
  transfer(to: viem.Address, units: bigint, of?: viem.Address): Promise<viem.Hash>;
  /** The same, with several transfers of the test dollar in one transaction. */
  transferMany(transfers: [to: viem.Address, units: bigint][]): Promise<viem.Hash>;
}

export interface LocalChainOptions {
  /** Default: a free port. */
  port?: number;
  /**
   * `automatic` (the default) mines a block for each transaction, `manual` only at `client.mine`, and a number at an
   * interval of so many seconds.
   */
  mining?: 'automatic' | 'manual' | number;
  /** Number of blocks by which `finalized` is behind `latest`: an even number. Default: 4. */
  finalityBlocks?: number;
}

export const tokenAbi = [
  ...viem.erc20Abi,
  ...viem.parseAbi(['function mint(address[] to, uint256 units)']),
  ...viem.parseAbi(['function transferMany(address[] to, uint256[] units)']),
] as const;

/** URL of the chain of the demo. */
export const DEMO_CHAIN_URL = process.env['CHAIN_URL'] ?? 'http://127.0.0.1:8545';

/**
 * Extended public key of the account m/44'/60'/0' of the test wallet "abandon ... about":
 * https://github.com/trezor/python-mnemonic/blob/master/vectors.json
 */
export const DEMO_XPUB =
  'xpub6BosfCnifzxcFwrSzQiqu2DBVTshkCXacvNsWGYJVVhhawA7d4R5WSWGFNbi8Aw6ZRc1brxMyWMzG3DSSSSoekkudhUd9yLb6qx39T9nMdj';

/** A reorganization can drop a transaction only without the later ones of its account, so there are many accounts. */
const ACCOUNTS = 50;
const MINTED_UNITS = 1_000_000_000_000n;
const POLL_MS = 5;

export async function startLocalChain(options: LocalChainOptions = {}): Promise<LocalChain> {
  const { port = 0, mining = 'automatic', finalityBlocks = 4 } = options;
  await using starting = new AsyncDisposableStack();
  // anvil's `finalized` is two epochs behind.
  const epochs = ['--slots-in-an-epoch', String(finalityBlocks / 2)];
  const anvil = starting.use(
    startAnvil(['--port', String(port), '--order', 'fifo', '--accounts', String(ACCOUNTS), ...epochs]),
  );
  const url = `http://${await addressIn(anvil.output)}`;
  const client = clientOf(url);
  const accounts = await client.getAddresses();
  let sent = 0;
  let waits = true;
  const send = async (to: viem.Address | null, data: viem.Hex, account = accounts[sent++ % ACCOUNTS]!) => {
    const hash = await client.sendTransaction({ chain: null, account, to, data });
    if (waits) await client.waitForTransactionReceipt({ hash });
    return hash;
  };
  const deploy = async (nonce: bigint): Promise<viem.Address> => {
    await send(null, bytecode(), accounts[0]);
    return viem.getContractAddress({ from: accounts[0]!, nonce });
  };
  const token = await deploy(0n);
  const otherToken = await deploy(1n);
  const minting = viem.encodeFunctionData({ abi: tokenAbi, functionName: 'mint', args: [accounts, MINTED_UNITS] });
  for (const each of [token, otherToken]) await send(each, minting);
  if (mining === 'manual') await client.setAutomine(false);
  if (typeof mining === 'number') await client.setIntervalMining({ interval: mining });
  waits = mining === 'automatic';
  const running = starting.move();
  return {
    url,
    client,
    accounts,
    token,
    otherToken,
    transfer: (to, units, of = token) =>
      send(of, viem.encodeFunctionData({ abi: tokenAbi, functionName: 'transfer', args: [to, units] })),
    transferMany(transfers) {
      const args = [transfers.map(([to]) => to), transfers.map(([, units]) => units)] as const;
      return send(token, viem.encodeFunctionData({ abi: tokenAbi, functionName: 'transferMany', args }));
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** Client of a running chain. */
export function clientOf(url: string) {
  // Without a cache time of 0, the client repeats the block number of the last seconds.
  return viem
    .createTestClient({ mode: 'anvil', transport: viem.http(url), cacheTime: 0, pollingInterval: POLL_MS })
    .extend(viem.publicActions)
    .extend(viem.walletActions);
}

function bytecode(): viem.Hex {
  return JSON.parse(readFileSync(new URL('test-dollar.json', import.meta.url), 'utf8')).bytecode;
}

/** Starts anvil, and a watchdog that stops it when this process is killed, which ends the watchdog's input. */
function startAnvil(args: string[]): AsyncDisposable & { output: Readable } {
  const anvil = spawn(anvilPath(), args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(anvil, 'exit');
  const script = `process.stdin.resume().on('end', () => process.kill(${anvil.pid}))`;
  const watchdog = spawn(process.execPath, ['-e', script], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  return {
    output: anvil.stdout,
    async [Symbol.asyncDispose]() {
      watchdog.kill('SIGKILL');
      anvil.kill('SIGKILL');
      await exited;
    },
  };
}

/** Reads the address from the first lines. The later lines must be read too, or anvil waits for a reader. */
async function addressIn(output: Readable): Promise<string> {
  let printed = '';
  try {
    for await (const line of createInterface({ input: output })) {
      const address = /^Listening on (\S+)/.exec(line)?.[1];
      if (address !== undefined) return address;
      printed += `${line}\n`;
    }
  } finally {
    output.resume();
  }
  throw new Error(`anvil did not start:\n${printed}`);
}

/** The program in the package for this platform, which anvil's own package selects in the same way. */
function anvilPath(): string {
  const require = createRequire(import.meta.url);
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch;
  const program = process.platform === 'win32' ? 'anvil.exe' : 'anvil';
  const platformPackage = `@foundry-rs/anvil-${process.platform}-${architecture}`;
  return createRequire(require.resolve('@foundry-rs/anvil/package.json')).resolve(`${platformPackage}/bin/${program}`);
}
