import { failureMessage } from '../domain/failure.ts';
import type { FeeSplit } from '../domain/fees.ts';
import { amountFromCents, fractionFromPpm } from '../domain/money.ts';
import {
  CURRENCY,
  type Customer,
  type Instant,
  type Invoice,
  type Payment,
  type ProviderStatus,
  type Session,
  eventId,
} from '../domain/records.ts';
import type { PaymentRoute, Route } from '../domain/route.ts';
import type {
  CheckoutSessionResource,
  FeeSplitResource,
  PaymentResource,
  RouteSummary,
  WebhookEvent,
} from './resources.ts';

/** Where the service is reached: `base` for programs, `checkout` for buyers. Neither ends in a slash. */
export interface Urls {
  base: string;
  checkout: string;
}

export function checkoutUrl(urls: Urls, sessionId: string): string {
  return `${urls.checkout}/checkout/${sessionId}`;
}

/** Where the buyer goes afterwards: the merchant's page, or our own status page. */
export function redirectUrlOf(urls: Urls, session: Pick<Session, 'id' | 'redirectUrl'>): string {
  return session.redirectUrl ?? `${checkoutUrl(urls, session.id)}/complete`;
}

export function timestamp(instant: Instant): string {
  return new Date(instant).toISOString();
}

export function renderSession(session: Session, urls: Urls): CheckoutSessionResource {
  return {
    id: session.id,
    object: 'checkout_session',
    checkoutUrl: checkoutUrl(urls, session.id),
    status: session.status,
    amount: amountFromCents(session.amount),
    currency: CURRENCY,
    redirectUrl: redirectUrlOf(urls, session),
    customer: session.customerEmail,
    metadata: session.metadata,
    environment: session.environment,
    product: session.product,
    customerId: session.customerId,
    clientReferenceId: session.clientReferenceId,
    created: timestamp(session.created),
    expiresAt: timestamp(session.expiresAt),
  };
}

export function renderCustomer(customer: Customer) {
  return {
    id: customer.id,
    object: 'customer',
    email: customer.email,
    status: customer.status,
    statusReason: customer.statusReason,
    created: timestamp(customer.created),
    environment: customer.environment,
  };
}

export function renderPayment(payment: Payment): PaymentResource {
  const { id, kind, label } = payment.route;
  return {
    id: payment.id,
    object: 'payment',
    customerId: payment.customerId,
    invoiceId: payment.invoiceId,
    sessionId: payment.sessionId,
    amount: amountFromCents(payment.amount),
    currency: CURRENCY,
    status: payment.status,
    failure: renderFailure(payment),
    ledgerStatus: payment.ledgerStatus,
    created: timestamp(payment.created),
    route: { id, kind, label },
    fees: renderFees(payment.fees),
    refundedAmount: amountFromCents(payment.refunded),
    refundPendingAmount: amountFromCents(payment.refundPending),
    metadata: payment.metadata,
    environment: payment.environment,
  };
}

/** The failure of a payment; null unless it failed. */
export function renderFailure({
  failureCode: code,
  failureSource,
  failureReason: reason,
}: Payment): PaymentResource['failure'] {
  if (code === null) return null;
  const source = failureSource ?? 'route';
  return { code, source, reason, message: failureMessage({ code, source }) };
}

export function renderInvoice(invoice: Invoice) {
  return {
    id: invoice.id,
    object: 'invoice',
    customerId: invoice.customerId,
    paymentId: invoice.paymentId,
    sessionId: invoice.sessionId,
    amount: amountFromCents(invoice.amount),
    currency: CURRENCY,
    status: invoice.status,
    metadata: invoice.metadata,
    created: timestamp(invoice.created),
    environment: invoice.environment,
  };
}

/** `score` is 0 to 100. */
export function renderRoute(route: Route, score: number): RouteSummary {
  return {
    id: route.id,
    label: route.label,
    integrationId: route.integrationId,
    integrationLabel: route.integrationLabel,
    kind: route.kind,
    network: route.network,
    asset: route.asset,
    score,
    health: route.health,
    payerLabel: route.payerLabel,
    eta: route.eta,
    buyerFeeRate: fractionFromPpm(route.buyerFeeRate),
    gatewayFeeRate: fractionFromPpm(route.gatewayFeeRate),
    providerCostRate: fractionFromPpm(route.providerCostRate),
    kycPolicy: route.kycPolicy,
  };
}

export function renderFeeSplit(fees: FeeSplit): FeeSplitResource {
  return {
    buyerFee: amountFromCents(fees.buyerFee),
    gatewayFee: amountFromCents(fees.gatewayFee),
    merchantNet: amountFromCents(fees.merchantNet),
    total: amountFromCents(fees.total),
  };
}

/** The fee split as payments and events name it. */
function renderFees(fees: FeeSplit): PaymentResource['fees'] {
  const { buyerFee, gatewayFee, merchantNet, total } = renderFeeSplit(fees);
  return { buyer_fee: buyerFee, gateway_fee: gatewayFee, merchant_net: merchantNet, total };
}

/** What a merchant event says. */
export interface EventFacts {
  sessionId: string;
  customerId: string;
  status: ProviderStatus;
  livemode: boolean;
  amount: number;
  fees: FeeSplit;
  route: PaymentRoute;
  txHash: string | null;
  metadata: Record<string, string>;
  created: Instant;
}

export function renderEvent(facts: EventFacts): WebhookEvent {
  const { id, kind, label, provider, asset, network } = facts.route;
  return {
    id: eventId(facts.sessionId, facts.status),
    type: `payment.${facts.status}`,
    livemode: facts.livemode,
    created: timestamp(facts.created),
    data: {
      session_id: facts.sessionId,
      customer_id: facts.customerId,
      status: facts.status,
      amount: amountFromCents(facts.amount),
      currency: CURRENCY,
      asset,
      network,
      route: { id, kind, label, provider },
      fees: renderFees(facts.fees),
      tx_hash: facts.txHash,
      metadata: facts.metadata,
    },
  };
}
