import { applyProviderMessage } from '../../src/operations/apply-provider-message.ts';
import type { ProviderStatus } from '../../src/domain/records.ts';
import type { TestService } from './service.ts';

let messages = 0;

/** The provider says something of a session: the shortest way to a payment with a status. */
export async function providerSays(
  { service }: Pick<TestService, 'service'>,
  sessionId: string,
  status: ProviderStatus,
  overrides: { eventId?: string; paymentId?: string; amount?: number; currency?: string } = {},
) {
  const session = (await service.deps.store.session(sessionId))!;
  return applyProviderMessage(service.deps, {
    provider: 'sandbox',
    environment: session.environment,
    callback: {
      eventId: overrides.eventId ?? `test_${messages++}`,
      sessionId,
      paymentId: overrides.paymentId ?? null,
      status,
      amount: overrides.amount ?? session.amount,
      currency: overrides.currency ?? 'USD',
      txHash: null,
      failure: null,
    },
    body: '{}',
  });
}
