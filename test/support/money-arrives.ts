import type { ProviderStatus } from '../../src/domain/records.ts';
import type { Environment } from '../../src/domain/route.ts';
import { reportPayment } from '../fixtures/provider-reports.ts';
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
  const { eventId = `test_${messages++}`, amount = session.amount, currency = 'USD' } = overrides;
  const report = { sessionId, paymentId: overrides.paymentId ?? null, eventId, status, amount, currency };
  const provider = overrides.provider ?? payments.at(-1)?.route.provider ?? route.integrationId;
  return reportPayment(service.deps, report, overrides.environment ?? session.environment, provider);
}
