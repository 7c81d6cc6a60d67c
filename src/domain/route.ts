import type { Cents, RatePpm } from './money.ts';

export const ENVIRONMENTS = ['sandbox', 'production'] as const;
export type Environment = (typeof ENVIRONMENTS)[number];
export const ROUTE_KINDS = ['card', 'wallet', 'local'] as const;
export type RouteKind = (typeof ROUTE_KINDS)[number];
export const ROUTE_HEALTHS = ['live', 'degraded', 'standby'] as const;
export type RouteHealth = (typeof ROUTE_HEALTHS)[number];
export const KYC_POLICIES = ['none', 'light', 'full', 'provider'] as const;
type KycPolicy = (typeof KYC_POLICIES)[number];

/** Entry of the route catalogue, with its current health. */
export interface Route {
  id: string;
  label: string;
  environment: Environment;
  /** Provider adapter of the route, for example `sandbox`. */
  integrationId: string;
  integrationLabel: string;
  kind: RouteKind;
  network: string;
  asset: string;
  health: RouteHealth;
  /** Label for the buyer: "Card", "Bank transfer". */
  payerLabel: string;
  /** Duration in words for the buyer: "about 2 minutes". */
  eta: string;
  /** Time until the confirmation in minutes, for the choice of a route. */
  etaMinutes: number;
  buyerFeeRate: RatePpm;
  gatewayFeeRate: RatePpm;
  /** The provider's charge, paid from the gateway's fees. */
  providerCostRate: RatePpm;
  /** The part of the provider's charge that does not depend on the amount. */
  providerCostFixed?: Cents;
  /** Limits of the amount of a session, inclusive. */
  minAmount?: Cents;
  maxAmount?: Cents;
  kycPolicy: KycPolicy;
  /** Share of attempts expected to succeed. */
  successRate: RatePpm;
  /** Time in seconds from the start of an attempt until an unconfirmed payment fails. */
  paymentTimeoutSeconds: number;
  /** Settings of the adapter for this route. */
  options?: Readonly<Record<string, unknown>>;
}

/** The part of a route that is stored with a payment. */
export interface PaymentRoute {
  id: string;
  kind: RouteKind;
  label: string;
  provider: string;
  network: string;
  asset: string;
}
