import type { Address } from 'viem';
import { DEMO_XPUB, type LocalChainOptions } from '../../examples/chain/local-chain.ts';
import type { Payment } from '../../src/domain/records.ts';
import type { TransferInstructions } from '../../src/providers/provider.ts';
import { createSession, start } from '../simulator/buyer.ts';
import { type Chain, startChain } from './chain.ts';
import { paymentsOf } from './gateway.ts';
import { type TestService, type TestServiceOptions, startTestService } from './service.ts';

/** A service that accepts USDC on a local chain. */
export interface UsdcService extends AsyncDisposable {
  on: TestService;
  chain: Chain;
  /** Starts a payment by USDC of an amount in dollars; returns the id of its session. */
  begin(amount?: number): Promise<string>;
  payment(sessionId: string): Promise<Payment>;
  instructions(sessionId: string): Promise<TransferInstructions>;
  /** Sends `cents` to the address of a session's payment, or all that is due; returns the hash of the transaction. */
  send(sessionId: string, cents?: number): Promise<`0x${string}`>;
  /** Lets the service poll the chain. */
  poll(): Promise<void>;
}

/** The variables of an instance `local` with these nodes. */
export function usdcVariables(token: string, nodes: readonly string[]): Record<string, string> {
  return { USDC_XPUB: DEMO_XPUB, USDC_CHAIN: 'local', USDC_RPC_URLS: nodes.join(','), USDC_TOKEN: token };
}

/** Starts the chain and the service. `configure` returns the variables for the chain; default: one node, the chain itself. */
export async function startUsdcService(
  options: TestServiceOptions = {},
  chainOptions: LocalChainOptions = {},
  configure: (chain: Chain) => Promise<Record<string, string>> = async ({ url, token }) => usdcVariables(token, [url]),
): Promise<UsdcService> {
  const chain = await startChain(chainOptions);
  const variables = { ...(await configure(chain)), ...options.variables };
  const on = await startTestService({ ...options, variables });
  await on.pass(0);
  let buyers = 0;
  const payment = async (sessionId: string) => (await paymentsOf(on, sessionId)).at(-1)!;
  const instructions = async (sessionId: string) =>
    (await on.service.deps.providers.get('local')!.instructions!(await payment(sessionId)))!;
  return {
    on,
    chain,
    async begin(amount = 19.99) {
      const session = await createSession(on, { amount, customer: `payer${++buyers}@example.com` });
      await start(on, session, 'wallet');
      return session;
    },
    payment,
    instructions,
    async send(sessionId, cents) {
      const { address, units } = await instructions(sessionId);
      return chain.transfer(address as Address, cents === undefined ? BigInt(units) : BigInt(cents) * 10_000n);
    },
    poll: () => on.pass(1000),
    async [Symbol.asyncDispose]() {
      await on[Symbol.asyncDispose]();
      await chain[Symbol.asyncDispose]();
    },
  };
}
