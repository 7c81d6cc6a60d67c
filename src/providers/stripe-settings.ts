import { z } from 'zod';
import type { Environment } from '../domain/route.ts';
import { isLoopbackHost } from '../webhooks/address.ts';

// Stripe allows 30 minutes to 24 hours from the creation of a Checkout Session. A handoff may be up to 10 minutes younger or
// older than its payment, from whose creation the window is counted.
const MIN_WINDOW_MINUTES = 40;
const MAX_WINDOW_MINUTES = 24 * 60 - 10;
const DEFAULT_WINDOW_MINUTES = 60;

/** The adapter's own fields of a provider instance, with secrets as text. */
export const stripeSettings = z.strictObject({
  secretKey: z
    .string()
    .regex(/^(?:sk|rk)_(?:test|live)_\w+$/, 'must be a secret or restricted key of Stripe: sk_ or rk_'),
  /** One for each webhook endpoint, and two during a rotation. */
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
  /** Origin of another server than Stripe's, in sandbox and on loopback only. */
  apiBase: z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }).optional(),
});
export type StripeSettings = z.output<typeof stripeSettings>;

/** Fault of settings that are valid by themselves but not in this environment, as the end of a sentence; never a value. */
export function faultOfStripe(environment: Environment, { secretKey, apiBase }: StripeSettings): string | undefined {
  const mode = environment === 'sandbox' ? 'test' : 'live';
  if (!secretKey.slice(3).startsWith(mode))
    return `secretKey must start with sk_${mode}_ or rk_${mode}_ in ${environment}`;
  if (apiBase === undefined) return undefined;
  if (environment !== 'sandbox') return 'apiBase is for sandbox only';
  const { hostname, pathname, search, username } = new URL(apiBase);
  if (!isLoopbackHost(hostname.replace(/^\[|\]$/g, '')))
    return 'apiBase must be on this machine, for example http://127.0.0.1:4010';
  return pathname === '/' && search + username === '' ? undefined : 'apiBase must have no path, query or user name';
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
    paymentTimeoutSeconds: 3600,
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
