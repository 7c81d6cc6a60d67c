import type { Address } from 'viem';
import { DEMO_XPUB as XPUB } from '../../examples/chain/local-chain.ts';
import type { Payment } from '../../src/domain/records.ts';
import type { Environment } from '../../src/domain/route.ts';
import { CHAINS } from '../../src/providers/evm-chains.ts';
import { evmSettings } from '../../src/providers/evm-settings.ts';
import { createEvmUsdc } from '../../src/providers/evm-usdc.ts';
import { startChain } from '../support/chain.ts';
import type { Party } from '../providers/conformance.ts';
import { laterService } from '../providers/conformance-parties.ts';

/** Starts the conformance party of the adapter for USDC: the adapter, and a local chain. */
export async function startUsdc(): Promise<Party> {
  const { connect, service, context } = laterService();
  const chain = await startChain();
  const nodeKey = 'key_of_the_rpc_vendor';
  const rpc = `${chain.url}/?key=${nodeKey}`;
  const made = (id: string, environment: Environment, url = rpc) => {
    // Outside sandbox, the adapter needs a chain with real money. The suite does not use its nodes.
    const name = environment === 'sandbox' ? 'local' : 'base';
    const token = CHAINS.get(name)!.token === undefined ? { token: chain.token } : {};
    const settings = evmSettings.parse({ chain: name, xpub: XPUB, rpc: [url], ...token });
    return createEvmUsdc({ id, environment, settings }, context());
  };
  const instructions = (payment: Payment) => service().service.deps.providers.get('local')!.instructions!(payment);
  return {
    id: 'local',
    options: { variables: { USDC_XPUB: XPUB, USDC_CHAIN: 'local', USDC_RPC_URLS: rpc, USDC_TOKEN: chain.token } },
    kind: 'wallet',
    secrets: [XPUB, nodeKey],
    isWatched: true,
    connect,
    instance: made,
    misconfigured: {
      wrongKey: (secret) => made('local', 'sandbox', `http://127.0.0.1:1/${secret}`),
      at: (origin) => made('local', 'sandbox', origin),
    },
    paymentsAt: async (payment) => Number((await instructions(payment)) !== undefined),
    refundedAt: async () => 0,
    async pay(payment) {
      const { address, units } = (await instructions(payment))!;
      await chain.transfer(address as Address, BigInt(units));
      await chain.finalize();
      return [];
    },
    async confuse(payment) {
      const { address, units } = (await instructions(payment))!;
      await chain.transfer(address as Address, BigInt(units), chain.otherToken);
      await chain.finalize();
      return [];
    },
    foreign: () => [],
    forged: () => [{ body: '{"status":"paid"}', headers: {} }],
    [Symbol.asyncDispose]: () => chain[Symbol.asyncDispose](),
  };
}
