import assert from 'node:assert/strict';
import type { Address } from 'viem';
import type { Payment } from '../../src/domain/records.ts';
import { chooseAnotherMethod } from '../../src/operations/leave-payment.ts';
import { createSession, start } from '../simulator/buyer.ts';
import type { Chain } from '../support/chain.ts';
import { paymentsOf } from '../support/gateway.ts';
import type { TestService } from '../support/service.ts';

/** Units of a cent. */
export const CENT = 10_000n;
const POLL_MS = 4000;

/** Runs the due work of a service after the next poll of the chain. */
export function poll(on: TestService): Promise<void> {
  return on.pass(POLL_MS);
}

/** Starts a payment by transfer; returns it with its address. */
export async function startTransfer(on: TestService, sessionId: string): Promise<{ payment: Payment; to: Address }> {
  assert.equal((await start(on, sessionId, 'wallet')).outcome, 'continue');
  const payment = (await paymentsOf(on, sessionId)).at(-1)!;
  return { payment, to: payment.providerReference as Address };
}

/** A payment for which the given cents have arrived and are final; by default exactly the due amount. */
export async function transferred(
  on: TestService,
  chain: Chain,
  cents?: (due: number) => number,
): Promise<Payment & { to: Address }> {
  const sessionId = await createSession(on);
  const { payment, to } = await startTransfer(on, sessionId);
  const due = payment.fees.total;
  await chain.transfer(to, BigInt(cents?.(due) ?? due) * CENT);
  await chain.finalize();
  await poll(on);
  return { ...(await paymentsOf(on, sessionId))[0]!, to };
}

/** A session that the second of two transfers paid before the first one arrived. Returns both payments. */
export async function paidTwice(on: TestService, chain: Chain): Promise<readonly Payment[]> {
  const sessionId = await createSession(on);
  const first = await startTransfer(on, sessionId);
  await chooseAnotherMethod(on.service.deps, sessionId, 1);
  const second = await startTransfer(on, sessionId);
  for (const { to, payment } of [second, first]) {
    await chain.transfer(to, BigInt(payment.fees.total) * CENT);
    await chain.finalize();
    await poll(on);
  }
  return paymentsOf(on, sessionId);
}
