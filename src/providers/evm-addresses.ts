import type { AdapterContext } from './adapter-context.ts';
import { createNode, pagesOf } from './evm-rpc.ts';
import { type EvmSettings, chainOf } from './evm-settings.ts';
import { createWallet } from './evm-wallet.ts';
import type { AddressBook } from './provider.ts';

/** Addresses in one request to each node. */
const PAGE = 500;

export function createAddressBook(settings: EvmSettings, { now }: Pick<AdapterContext, 'now'>): AddressBook {
  const { token, chainId } = chainOf(settings);
  const wallet = createWallet(settings.xpub);
  const nodes = settings.rpc.map((url) => createNode({ url, chainId, token, now }));

  /** Balances as the first node reports them that answers and serves the chain. */
  async function balancesOf(addresses: readonly string[]): Promise<number[]> {
    const problems: string[] = [];
    for (const node of nodes) {
      try {
        await node.heads();
        return await node.balances(addresses);
      } catch (error) {
        problems.push((error as Error).message);
      }
    }
    throw new Error(problems.join('; '));
  }

  return {
    wallet: wallet.fingerprint,
    address: wallet.address,
    async balances(addresses) {
      const found: number[] = [];
      for (const page of pagesOf(addresses, PAGE)) found.push(...(await balancesOf(page)));
      return found;
    },
  };
}
