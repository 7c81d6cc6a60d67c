import type { RatePpm } from './money.ts';

export type Environment = 'sandbox' | 'production';
export type RouteKind = 'card' | 'wallet' | 'local';
export type RouteHealth = 'live' | 'degraded' | 'standby';
export type KycPolicy = 'none' | 'light' | 'full' | 'provider';

export const ENVIRONMENTS: readonly Environment[] = ['sandbox', 'production'];
export const ROUTE_KINDS: readonly RouteKind[] = ['card', 'wallet', 'local'];

/** A way for money to travel from the buyer to the merchant: one entry of the catalogue, with its present health. */
export interface Route {
  id: string;
  label: string;
  environment: Environment;
  /** The provider adapter that carries it, for example `sandbox`. */
  integrationId: string;
  integrationLabel: string;
  kind: RouteKind;
  network: string;
  asset: string;
  health: RouteHealth;
  /** What the buyer reads: "Card", "Bank transfer". */
  payerLabel: string;
  /** Words a buyer understands: "about 2 minutes". */
  eta: string;
  /** The same as a number, for choosing: how long until the merchant has the money's word. */
  etaMinutes: number;
  buyerFeeRate: RatePpm;
  gatewayFeeRate: RatePpm;
  /** What the provider charges the gateway; it comes out of the gateway's fees. */
  providerCostRate: RatePpm;
  kycPolicy: KycPolicy;
  /** Share of attempts expected to succeed. */
  successRate: RatePpm;
  /** How long a handed-off payment may stay unconfirmed before it fails, in seconds. */
  paymentTimeoutSeconds: number;
}

/** The part of a route that a payment keeps for good. */
export interface PaymentRoute {
  id: string;
  kind: RouteKind;
  label: string;
  provider: string;
  network: string;
  asset: string;
}
