import { type ProviderMessage, strayDiscrepancy } from '../domain/provider-message.ts';
import type { Checkout } from '../domain/records.ts';
import type { Change } from '../store/store.ts';
import type { Deps } from './deps.ts';

/** Stores a verified message, and lists it for the operator if its sender must not change what it is about. */
export function storeMessage({ newId }: Pick<Deps, 'newId'>, message: ProviderMessage, before: Checkout): Change[] {
  const found = strayDiscrepancy(before, message);
  const sessionVersion = before.session.version;
  return [
    { type: 'provider_message_received', message },
    ...(found
      ? [{ type: 'discrepancy_opened', discrepancy: { id: newId('dis'), ...found }, sessionVersion } as const]
      : []),
  ];
}
