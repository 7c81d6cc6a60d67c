import { z } from 'zod';
import type { Environment } from '../domain/route.ts';
import { apiBaseSetting, faultOfApiBase } from './api-base.ts';

// Stripe allows 30 minutes to 24 hours from the creation of a Checkout Session. The adapter counts the time from the creation of
// the payment. The handoff may be up to 10 minutes earlier or later, so both limits have a margin of 10 minutes.
const MIN_WINDOW_MINUTES = 40;
const MAX_WINDOW_MINUTES = 24 * 60 - 10;
const DEFAULT_WINDOW_MINUTES = 60;

/** Schema of the settings of a Stripe instance, with the secrets in plain text. */
export const stripeSettings = z.strictObject({
  secretKey: z
    .string()
    .regex(/^(?:sk|rk)_(?:test|live)_\w+$/, 'must be a secret or restricted key of Stripe: sk_ or rk_'),
  /** Signing secrets: one for each webhook endpoint at Stripe, two while a secret is rotated. */
  webhookSecrets: z
    .array(z.string().regex(/^whsec_\S+$/, 'must be a signing secret of Stripe: whsec_'))
    .min(1, 'must have the signing secret of a webhook endpoint')
    .max(10, 'must be at most 10'),
  /** Expected id of the account; default: any account that the key belongs to. */
  account: z
    .string()
    .regex(/^acct_\w+$/, 'must be the id of an account: acct_')
    .optional(),
  /** Time for the buyer to pay at Stripe, from the start of the payment. */
  buyerWindowMinutes: z
    .int()
    .min(MIN_WINDOW_MINUTES, `must be at least ${MIN_WINDOW_MINUTES} minutes`)
    .max(MAX_WINDOW_MINUTES, `must be at most ${MAX_WINDOW_MINUTES} minutes`)
    .default(DEFAULT_WINDOW_MINUTES),
  /** True to let Stripe show buyers the price in their own currency. The merchant still receives US dollars. */
  adaptivePricing: z.boolean().default(false),
  apiBase: apiBaseSetting,
});
export type StripeSettings = z.output<typeof stripeSettings>;

/** Contradiction between valid settings and the environment, as a sentence that begins with a setting's name, without values. */
export function faultOfStripe(environment: Environment, { secretKey, apiBase }: StripeSettings): string | undefined {
  const mode = environment === 'sandbox' ? 'test' : 'live';
  if (!secretKey.slice(3).startsWith(mode))
    return `secretKey must start with sk_${mode}_ or rk_${mode}_ in ${environment}`;
  return faultOfApiBase(environment, apiBase);
}

/** Stripe's payment method, and the account capability that this method needs, by the network of a route. */
const METHODS: Readonly<Record<string, { type: string; capability: string }>> = {
  card_network: { type: 'card', capability: 'card_payments' },
  ach: { type: 'us_bank_account', capability: 'us_bank_account_ach_payments' },
  cashapp: { type: 'cashapp', capability: 'cashapp_payments' },
  stripe_crypto: { type: 'crypto', capability: 'crypto_payments' },
};

/** Networks of routes that Stripe can serve. */
export const STRIPE_NETWORKS = Object.keys(METHODS);

/** The payment method for a network; undefined for networks that Stripe does not serve. */
export function stripeMethodOf(network: string): { type: string; capability: string } | undefined {
  return Object.hasOwn(METHODS, network) ? METHODS[network] : undefined;
}

const CARD_PRICES = { gatewayFeeRate: 0.029, providerCostRate: 0.029, providerCostFixed: 0.3 };

/** The default routes of an instance, as entries of the route catalogue. Costs are Stripe's list prices in the US. */
export function stripeRoutes(instanceId: string, environment: Environment) {
  const common = {
    environment,
    integrationId: instanceId,
    integrationLabel: 'Stripe',
    asset: 'USD',
    health: 'live',
    buyerFeeRate: 0,
    minAmount: 0.5,
    paymentTimeoutSeconds: DEFAULT_WINDOW_MINUTES * 60,
  } as const;
  return [
    {
      ...common,
      id: `card_${instanceId}`,
      label: 'Card, Stripe',
      kind: 'card',
      network: 'card_network',
      payerLabel: 'Card',
      eta: 'a few seconds',
      etaMinutes: 0.1,
      ...CARD_PRICES,
      kycPolicy: 'none',
      successRate: 0.93,
    },
    {
      ...common,
      id: `wallet_${instanceId}_cashapp`,
      label: 'Cash App Pay, Stripe',
      kind: 'wallet',
      network: 'cashapp',
      payerLabel: 'Cash App Pay',
      eta: 'a few seconds',
      etaMinutes: 0.1,
      ...CARD_PRICES,
      kycPolicy: 'provider',
      successRate: 0.9,
    },
    {
      ...common,
      id: `wallet_${instanceId}_stablecoin`,
      label: 'Stablecoin, Stripe',
      kind: 'wallet',
      network: 'stripe_crypto',
      payerLabel: 'Stablecoin wallet',
      eta: 'about 2 minutes',
      etaMinutes: 2,
      gatewayFeeRate: 0.015,
      providerCostRate: 0.015,
      kycPolicy: 'provider',
      successRate: 0.85,
    },
    {
      ...common,
      id: `local_${instanceId}_ach`,
      label: 'Bank account (US), Stripe',
      kind: 'local',
      network: 'ach',
      payerLabel: 'Bank account (US)',
      eta: 'up to 4 business days',
      etaMinutes: 5760,
      gatewayFeeRate: 0.008,
      providerCostRate: 0.008,
      kycPolicy: 'full',
      successRate: 0.9,
    },
  ] as const;
}
