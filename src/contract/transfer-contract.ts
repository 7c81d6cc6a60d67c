import { z } from 'zod';
import * as field from './resource-fields.ts';
import { named, rendererFrom } from './resource.ts';
import type { Cents } from '../domain/money.ts';
import type { Instant } from '../domain/records.ts';

const integer = (what: string, example: string) => field.label(`${what} An integer as text, in units.`, example);

const transfer = named(
  'Transfer',
  z
    .strictObject({
      network: field.label('The network, by the name of its route.', 'base'),
      chainId: field.count('Chain id of the network (EIP-155).', 8453),
      asset: field.label('The asset.', 'USDC'),
      token: field.label("Address of the token's contract.", '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'),
      decimals: field.count('A unit is 10^-decimals of the asset.', 6),
      address: field.label('Address to pay to, for this payment only.', '0x9858EfFD232B4033E47d90003D41EC34EcaEda94'),
      units: integer('The whole amount.', '49990000'),
      amount: field.dollars('The whole amount.'),
      received: integer('Sum of the transfers that were seen, final or not.', '0'),
      missing: integer('Rest to transfer; 0 if nothing is missing.', '49990000'),
      expiresAt: field.time('Time until which the payment waits.', '2026-01-15T10:30:00.000Z'),
    })
    .describe("A transfer from the buyer's own wallet that a pending payment waits for."),
);

/** Field with the transfer of one record; null if no payment waits for a transfer. */
export const transferField = (what: string) => field.orNull(transfer).describe(what);

/** A transfer as an operation finds it. `units`, `received` and `missing` are in units of 10^-`decimals` of the asset. */
export interface PendingTransfer {
  network: { name: string; chainId: number };
  asset: string;
  token: string;
  decimals: number;
  address: string;
  units: number;
  amount: Cents;
  received: number;
  missing: number;
  expiresAt: Instant;
}

/** The fields of the resource, in stored form. */
export function transferFields({ network, units, received, missing, ...others }: PendingTransfer) {
  const texts = { units: String(units), received: String(received), missing: String(missing) };
  return { ...others, network: network.name, chainId: network.chainId, ...texts };
}

export const renderTransfer = rendererFrom(transfer, transferFields);
