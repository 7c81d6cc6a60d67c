import { applyProviderMessage } from '../../src/operations/apply-provider-message.ts';
import type { ProviderStatus } from '../../src/domain/records.ts';
import type { Environment } from '../../src/domain/route.ts';
import type { TestService } from './service.ts';

let messages = 0;

/** Applies a report of the session's own provider: the shortest way to a payment with a given status. */
export async function providerSays(
  { service }: Pick<TestService, 'service'>,
  sessionId: string,
  status: ProviderStatus,
  overrides: {
    environment?: Environment;
    eventId?: string;
    provider?: string;
    paymentId?: string;
    amount?: number;
    currency?: string;
  } = {},
) {
  const { session, payments } = (await service.deps.store.checkout(sessionId))!;
  const route = service.deps.routes.find(({ environment }) => environment === session.environment)!;
  return applyProviderMessage(service.deps, {
    provider: overrides.provider ?? payments.at(-1)?.route.provider ?? route.integrationId,
    environment: overrides.environment ?? session.environment,
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
