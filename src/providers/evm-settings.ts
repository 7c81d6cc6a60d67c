import { createRequire } from 'node:module';
import { z } from 'zod';
import type { Environment } from '../domain/route.ts';
import { isLoopbackUrl } from '../webhooks/address.ts';
import type * as EvmWallet from './evm-wallet.ts';
import { CHAINS, type Chain } from './evm-chains.ts';
import { type ConfirmRules, UNITS_PER_CENT } from './evm-verdicts.ts';

const MAX_NODES = 5;
const NODES = `must be a list of 1 to ${MAX_NODES} URLs`;

function wholeNumber(least: number, most: number) {
  const error = `must be a whole number from ${least} to ${most}`;
  return z.int(error).min(least, error).max(most, error);
}

/** Schema of the settings of an instance of `evm-usdc`, with the secrets in plain text. */
export const evmSettings = z.strictObject({
  chain: z.enum([...CHAINS.keys()], `must be one of ${[...CHAINS.keys()].join(', ')}`),
  /** Extended public key of a wallet's account that is used for nothing else. */
  xpub: z.string('must be a text'),
  /** Address of the path 0/0, to be compared with the wallet's first address. */
  firstAddress: z.string('must be a text').optional(),
  /** URLs of RPC nodes, best of several vendors. */
  rpc: z
    .array(z.url({ protocol: /^https?$/, error: 'must be http or https URLs' }), NODES)
    .min(1, NODES)
    .max(MAX_NODES, NODES),
  /** Number of nodes that must agree; default: 2, or 1 if only one node is configured. */
  quorum: wholeNumber(1, MAX_NODES).optional(),
  /** Address of the token; only for the chain `local`. */
  token: z
    .string()
    .regex(/^0x[0-9a-fA-F]{40}$/, 'must be an address: 0x and 40 hexadecimal digits')
    .optional(),
  /** `final`: all payments wait for finality. Otherwise payments of at most `fastUpTo` dollars are paid after `blocks` blocks. */
  confirm: z
    .union(
      [
        z.strictObject({ final: z.literal(true) }),
        z.strictObject({ fastUpTo: z.number().min(0).max(100_000), blocks: z.int().min(1).max(1000) }),
      ],
      'must be {"final": true} or, for example, {"fastUpTo": 100, "blocks": 12}',
    )
    .default({ fastUpTo: 100, blocks: 12 }),
  /** A payment that is short by at most this many cents is accepted. */
  toleranceCents: wholeNumber(0, 1000).default(0),
  /** Days for which an address is watched for late money. */
  lateWatchDays: wholeNumber(1, 3650).default(90),
});
export type EvmSettings = z.output<typeof evmSettings>;

/** Contradiction between valid settings and the environment, as a sentence that begins with a setting's name, without values. */
export function faultOfEvm(environment: Environment, settings: EvmSettings): string | undefined {
  const { xpub, firstAddress, rpc, quorum = 1, token } = settings;
  const chain = CHAINS.get(settings.chain)!;
  if (chain.environment !== environment) {
    const kind = environment === 'sandbox' ? 'a test network or local' : 'a network with real money';
    return `chain must be ${kind} in ${environment}`;
  }
  if (quorum > rpc.length) return `quorum must be at most the number of nodes in rpc, ${rpc.length}`;
  if (new Set(rpc).size < rpc.length) return 'rpc must not have the same URL twice';
  const isPlain = (url: string) => new URL(url).protocol === 'http:' && !isLoopbackUrl(url);
  if (rpc.some(isPlain)) return 'rpc must be https URLs; http only on this machine';
  if (chain.token === undefined && token === undefined)
    return 'chain needs the setting token (USDC_TOKEN), the address of the contract, if it is local';
  if (chain.token !== undefined && token !== undefined)
    return `token is for the chain local only: USDC on ${chain.label} is known`;
  // Loads the cryptography only if an instance is configured. The settings are read synchronously.
  const { faultOfXpub, createWallet } = createRequire(import.meta.url)('./evm-wallet.ts') as typeof EvmWallet;
  const fault = faultOfXpub(xpub);
  if (fault !== undefined) return `xpub ${fault}`;
  if (firstAddress === undefined || createWallet(xpub).address(0).toLowerCase() === firstAddress.toLowerCase())
    return undefined;
  return 'firstAddress is not the first address of xpub: export the key of the account that shows this address';
}

/** The chain of an instance, with its token. */
export function chainOf({ chain: name, token }: EvmSettings): Chain & { token: string } {
  const chain = CHAINS.get(name)!;
  return { ...chain, token: chain.token ?? token! };
}

/** Rules by which money counts as paid. */
export function confirmRulesOf({ confirm, toleranceCents }: EvmSettings): ConfirmRules {
  const { fastUpTo, blocks } = 'final' in confirm ? { fastUpTo: 0, blocks: 0 } : confirm;
  const fastUpToUnits = Math.round(fastUpTo * 100) * UNITS_PER_CENT;
  return { fastUpToUnits, blocks, toleranceUnits: toleranceCents * UNITS_PER_CENT };
}

/** Number of nodes that must agree. */
export function quorumOf({ quorum, rpc }: EvmSettings): number {
  return quorum ?? Math.min(2, rpc.length);
}

/** The default route of an instance, as an entry of the route catalogue. The payer pays the gas, so the provider costs nothing. */
export function evmRoutes(instanceId: string, environment: Environment, { chain: name }: EvmSettings) {
  const { label, finality } = CHAINS.get(name)!;
  return [
    {
      id: `wallet_usdc_${instanceId}`,
      label: `USDC on ${label}`,
      environment,
      integrationId: instanceId,
      integrationLabel: `USDC on ${label}`,
      kind: 'wallet',
      network: name,
      asset: 'USDC',
      health: 'live',
      payerLabel: 'Digital dollars (USDC)',
      eta: finality.words,
      etaMinutes: finality.minutes,
      buyerFeeRate: 0,
      gatewayFeeRate: 0,
      providerCostRate: 0,
      kycPolicy: 'none',
      successRate: 0.9,
      paymentTimeoutSeconds: 3600,
    },
  ] as const;
}
