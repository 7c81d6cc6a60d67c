import { applyProviderMessage } from '../../src/operations/apply-provider-message.ts';
import type { ProviderStatus } from '../../src/domain/records.ts';
import type { TestService } from './service.ts';

let messages = 0;

/** The provider says something of a session: the shortest way to a payment with a status. */
export async function providerSays(
  { service }: TestService,
  sessionId: string,
  status: ProviderStatus,
  overrides: { eventId?: string; amount?: number } = {},
) {
  const session = (await service.deps.store.session(sessionId))!;
  return applyProviderMessage(service.deps, {
    provider: 'sandbox',
    environment: session.environment,
    callback: {
      eventId: overrides.eventId ?? `test_${messages++}`,
      sessionId,
      paymentId: null,
      status,
      amount: overrides.amount ?? session.amount,
      currency: 'USD',
      txHash: null,
      failureSource: null,
    },
    body: '{}',
  });
}
