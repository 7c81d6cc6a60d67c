import { type ProviderEvent, type UnstartedRecords, applyProviderEvent } from '../domain/checkout.ts';
import { CURRENCY, type Checkout, type Payment } from '../domain/records.ts';
import type { Environment } from '../domain/route.ts';
import type { OriginMismatch } from '../domain/signal-origin.ts';
import type { Provider, ProviderCallback, ProviderReport } from '../providers/provider.ts';
import { traced } from '../telemetry/tracing.ts';
import { applyMessage } from './apply-message.ts';
import type { Deps } from './deps.ts';

export interface IncomingMessage {
  provider: string;
  environment: Environment;
  callback: ProviderCallback;
  /** See {@link ProviderEvent.endsCheckout}. */
  endsCheckout?: boolean;
  /** The message verbatim. */
  body: string;
}

export interface AppliedMessage {
  outcome:
    'applied' | 'ignored' | 'duplicate' | 'amount_mismatch' | OriginMismatch | 'event_conflict' | 'unknown_payment';
  /** True if a merchant event was queued. */
  queued: boolean;
}

/**
 * Applies a provider's verified report on a payment once, in any order and of any age. Throws GatewayError `not_found` for an
 * unknown session.
 */
export function applyProviderMessage(deps: Deps, message: IncomingMessage): Promise<AppliedMessage> {
  const attributes = { 'tillway.provider': message.provider, 'tillway.session.id': message.callback.sessionId };
  return traced(deps.tracing, { name: 'applyProviderMessage', attributes }, () => apply(deps, message));
}

async function apply(deps: Deps, message: IncomingMessage): Promise<AppliedMessage> {
  const { provider, environment, callback, endsCheckout = false, body } = message;
  const event: ProviderEvent = { ...callback, provider, environment, endsCheckout };
  const { eventId, sessionId, paymentId, status, amount, currency } = callback;
  const { outcome, effects } = await applyMessage(
    deps,
    { provider, environment, eventId, sessionId, paymentId, refundId: null, status, amount, currency, body },
    (checkout, now) => applyProviderEvent(checkout, event, unforeseen(deps, checkout, provider), now),
  );
  return { outcome, queued: effects.some(({ type }) => type === 'announce') };
}

/** Applies a provider's answer to an inquiry about a payment. */
export function applyReport(
  deps: Deps,
  provider: Provider,
  payment: Payment,
  report: ProviderReport,
): Promise<AppliedMessage> {
  const { amount, currency } = report;
  const asAsked = amount === payment.amount && currency === CURRENCY;
  // The same answer is applied once; another amount is another answer.
  const eventId = `inquiry_${payment.id}_${report.status}${asAsked ? '' : `_${amount}_${currency}`}`;
  return applyProviderMessage(deps, {
    provider: provider.id,
    environment: provider.environment,
    callback: { ...report, eventId, sessionId: payment.sessionId, paymentId: payment.id },
    body: JSON.stringify(report),
  });
}

/** Records for a report on a payment that the buyer did not start here, and for surplus money. */
function unforeseen(deps: Deps, { session }: Checkout, provider: string): UnstartedRecords {
  const ofProvider = deps.routes.filter(
    ({ environment, integrationId }) => environment === session.environment && integrationId === provider,
  );
  const preferred = ofProvider.find(({ kind }) => kind === session.preferredRoute);
  const route = preferred ?? ofProvider[0];
  const { newId } = deps;
  const ids = { paymentId: newId('pay'), invoiceId: newId('inv'), refundId: newId('ref'), discrepancyId: newId('dis') };
  return { ...ids, route };
}
