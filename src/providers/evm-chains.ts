import type { Environment } from '../domain/route.ts';

/** A chain on which USDC is accepted. */
export interface Chain {
  /** Name in settings, and the network of its routes. */
  name: string;
  /** Name for people. */
  label: string;
  chainId: number;
  environment: Environment;
  /** Address of the USDC contract, with its checksum; undefined for a local chain, whose token is a setting. */
  token: string | undefined;
  /** Usual time from a block to its finality, in words and in minutes. */
  finality: { words: string; minutes: number };
  /** Time within which a seen transfer is final, with a margin, in minutes. */
  boundMinutes: number;
  /** Largest number of blocks in one query for logs. RPC vendors accept at least this number. */
  logRange: number;
  /** Time between two polls while a payment is pending, in milliseconds. */
  pollMs: number;
}

// Finality times: https://developers.circle.com/gateway/references/supported-blockchains
const L2_FINALITY = { words: 'about 15 minutes', minutes: 15 };
const ETHEREUM_LIKE = { boundMinutes: 30, logRange: 500, pollMs: 4000, finality: L2_FINALITY } as const;
const POLYGON_LIKE = {
  boundMinutes: 5,
  logRange: 500,
  pollMs: 4000,
  finality: { words: 'about 10 seconds', minutes: 0.2 },
} as const;

/** The known chains by name. Token addresses: https://developers.circle.com/stablecoins/usdc-contract-addresses */
export const CHAINS: ReadonlyMap<string, Chain> = new Map(
  (
    [
      {
        ...ETHEREUM_LIKE,
        name: 'base',
        label: 'Base',
        chainId: 8453,
        environment: 'production',
        token: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
      },
      {
        ...POLYGON_LIKE,
        name: 'polygon',
        label: 'Polygon',
        chainId: 137,
        environment: 'production',
        token: '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359',
      },
      {
        ...ETHEREUM_LIKE,
        name: 'ethereum',
        label: 'Ethereum',
        chainId: 1,
        environment: 'production',
        token: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48',
      },
      {
        ...ETHEREUM_LIKE,
        name: 'arbitrum',
        label: 'Arbitrum One',
        chainId: 42_161,
        environment: 'production',
        token: '0xaf88d065e77c8cC2239327C5EDb3A432268e5831',
      },
      {
        ...ETHEREUM_LIKE,
        name: 'optimism',
        label: 'OP Mainnet',
        chainId: 10,
        environment: 'production',
        token: '0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85',
      },
      {
        ...ETHEREUM_LIKE,
        name: 'base_sepolia',
        label: 'Base Sepolia (test network)',
        chainId: 84_532,
        environment: 'sandbox',
        token: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
      },
      {
        ...POLYGON_LIKE,
        name: 'amoy',
        label: 'Polygon Amoy (test network)',
        chainId: 80_002,
        environment: 'sandbox',
        token: '0x41E94Eb019C0762f9Bfcf9Fb1E58725BfB0e7582',
      },
      {
        ...ETHEREUM_LIKE,
        name: 'local',
        label: 'local chain',
        chainId: 31_337,
        environment: 'sandbox',
        token: undefined,
        boundMinutes: 5,
        pollMs: 1000,
        finality: { words: 'a few seconds', minutes: 0.1 },
      },
    ] satisfies Chain[]
  ).map((chain) => [chain.name, chain]),
);

/** Ranges of blocks from `first` to `last`, each small enough for one query for logs. */
export function queryRanges({ logRange }: Chain, first: number, last: number): [first: number, last: number][] {
  const count = Math.max(0, Math.ceil((last - first + 1) / logRange));
  return Array.from({ length: count }, (_, index) => {
    const start = first + index * logRange;
    return [start, Math.min(last, start + logRange - 1)];
  });
}
