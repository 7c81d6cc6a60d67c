import { z } from 'zod';

// Data of RPC nodes: https://ethereum.org/developers/docs/apis/json-rpc

/** keccak256 of `Transfer(address,address,uint256)`: https://eips.ethereum.org/EIPS/eip-20 */
export const TRANSFER_TOPIC = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';

export const quantity = z
  .string()
  .regex(/^0x(?:0|[1-9a-f][0-9a-f]{0,13})$/)
  .transform((text, context) => {
    const value = Number(text);
    if (!Number.isSafeInteger(value)) context.addIssue('is too large');
    return value;
  });
export const bytes32 = z.string().regex(/^0x[0-9a-f]{64}$/);
/** A number of 256 bits, below 2^53: USDC has fewer units on any chain. */
export const amount = bytes32.transform((text, context) => {
  const value = BigInt(text);
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) context.addIssue('is too large');
  return Number(value);
});
export const block = z.object({ number: quantity, hash: bytes32 });
export const log = z.object({
  address: z.string(),
  topics: z.tuple([z.literal(TRANSFER_TOPIC), bytes32, bytes32]),
  data: amount,
  blockNumber: quantity,
  blockHash: bytes32,
  transactionHash: bytes32,
  logIndex: quantity,
  removed: z.literal(false).optional(),
});
export const receipt = z.object({
  status: z.enum(['0x0', '0x1']),
  blockHash: bytes32,
  blockNumber: quantity,
  transactionHash: bytes32,
  logs: z.array(z.object({ address: z.string(), topics: z.array(bytes32), data: z.string(), logIndex: quantity })),
});
export const reply = z.object({
  id: z.int(),
  result: z.unknown(),
  error: z.object({ code: z.number(), message: z.string() }).optional(),
});
export type Reply = z.output<typeof reply>;
