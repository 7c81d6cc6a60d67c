import type { Hash, Hex } from 'viem';
import { type LocalChain, type LocalChainOptions, startLocalChain } from '../../examples/chain/local-chain.ts';

/** A real chain whose last blocks a test can replace. */
export interface Chain extends LocalChain {
  /** Number of the newest and of the newest final block. */
  heights(): Promise<{ latest: number; finalized: number }>;
  /** Mines until the blocks that exist now are final. */
  finalize(): Promise<void>;
  /**
   * Replaces the last `depth` blocks by as many others with the same transactions, without those in `drop`, and with
   * those in `move` in the block with the given number instead. The rest of an account's transactions must stay in order.
   */
  reorganize(depth: number, changes?: { drop?: Hash[]; move?: Record<Hash, number> }): Promise<void>;
  /** Sends a dropped transaction again. */
  resend(hash: Hash): Promise<void>;
}

export async function startChain(options: LocalChainOptions = {}): Promise<Chain> {
  const chain = await startLocalChain(options);
  const { client } = chain;
  // The chain forgets a dropped transaction.
  const signed = new Map<Hash, Hex>();
  const numberOf = async (blockTag: 'latest' | 'finalized') => Number((await client.getBlock({ blockTag })).number);
  const request = (method: string, ...params: unknown[]) => client.request({ method, params } as never);
  return {
    ...chain,
    async heights() {
      const [latest, finalized] = await Promise.all([numberOf('latest'), numberOf('finalized')]);
      return { latest, finalized };
    },
    finalize: () => client.mine({ blocks: options.finalityBlocks ?? 4 }),
    async reorganize(depth, { drop = [], move = {} } = {}) {
      const first = (await numberOf('latest')) - depth + 1;
      const numbers = Array.from({ length: depth }, (_, offset) => BigInt(first + offset));
      const blocks = await Promise.all(numbers.map((blockNumber) => client.getBlock({ blockNumber })));
      for (const hash of blocks.flatMap(({ transactions }) => transactions)) {
        if (!signed.has(hash)) signed.set(hash, await request('eth_getRawTransactionByHash', hash));
      }
      const kept = blocks.flatMap(({ transactions }, offset) =>
        transactions
          .filter((hash) => !drop.includes(hash))
          .map((hash) => [signed.get(hash)!, hash in move ? move[hash]! - first : offset] as const),
      );
      await request('anvil_reorg', depth, kept);
    },
    async resend(hash) {
      await client.sendRawTransaction({ serializedTransaction: signed.get(hash)! });
      // With automatic mining, the block follows a moment later.
      if ((options.mining ?? 'automatic') === 'automatic') await client.waitForTransactionReceipt({ hash });
    },
  };
}
