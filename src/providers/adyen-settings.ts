import { z } from 'zod';
import type { Environment } from '../domain/route.ts';
import { apiBaseSetting, faultOfApiBase } from './api-base.ts';

const HOUR_MINUTES = 60;
const MAX_WINDOW_MINUTES = 70 * 24 * HOUR_MINUTES;
const DEFAULT_WINDOW_MINUTES = 24 * HOUR_MINUTES;

/** Adyen's payment method types by the network of a route. */
const METHODS: Readonly<Record<string, string>> = { ach: 'ach', card_network: 'scheme', cashapp: 'cashapp' };
/** Networks of routes that Adyen can serve. */
export const ADYEN_NETWORKS = Object.keys(METHODS);

/** The payment method type for a network; undefined for networks that the adapter does not serve. */
export function adyenMethodOf(network: string): string | undefined {
  return Object.hasOwn(METHODS, network) ? METHODS[network] : undefined;
}

/** Schema of the settings of an Adyen instance, with the secrets in plain text. */
export const adyenSettings = z.strictObject({
  apiKey: z.string().regex(/^[\x21-\x7e]{20,300}$/, 'must be an API key of Adyen'),
  merchantAccount: z.string().regex(/^\w{1,80}$/, 'must be the name of a merchant account'),
  /** HMAC keys of the webhook: two while a key is changed. */
  hmacKeys: z
    .array(z.string().regex(/^[0-9A-Fa-f]{64}$/, 'must be an HMAC key of Adyen: 64 hexadecimal digits'))
    .min(1, 'must have the HMAC key of the webhook')
    .max(10, 'must be at most 10'),
  /** User name and password that Adyen sends with each callback. They are required in production. */
  callbackUser: z.string().min(1).max(255).optional(),
  callbackPassword: z.string().min(1).max(255).optional(),
  /** Prefix of the live endpoints of the company account. */
  livePrefix: z
    .string()
    .regex(/^[0-9a-f]+-[0-9A-Za-z]+$/, 'must be a live endpoint prefix, such as 1797a841fbb37ca7-AdyenDemo')
    .optional(),
  /** Networks of the default routes. */
  methods: z
    .array(z.enum(['ach', 'card_network', 'cashapp']))
    .min(1)
    .default(['ach']),
  /** Country of the buyers (ISO 3166-1 alpha-2), which decides the payment methods that Adyen offers. */
  country: z
    .string()
    .regex(/^[A-Z]{2}$/, 'must be a country code such as US')
    .default('US'),
  /** Time for the buyer to pay at Adyen, from the start of the payment. */
  buyerWindowMinutes: z
    .int()
    .min(HOUR_MINUTES, `must be at least ${HOUR_MINUTES} minutes`)
    .max(MAX_WINDOW_MINUTES, `must be at most ${MAX_WINDOW_MINUTES} minutes (70 days)`)
    .default(DEFAULT_WINDOW_MINUTES),
  apiBase: apiBaseSetting,
});
export type AdyenSettings = z.output<typeof adyenSettings>;

/** Contradiction between valid settings and the environment, as a sentence that begins with a setting's name, without values. */
export function faultOfAdyen(environment: Environment, settings: AdyenSettings): string | undefined {
  const { callbackUser, callbackPassword, livePrefix, apiBase } = settings;
  if ((callbackUser === undefined) !== (callbackPassword === undefined))
    return 'callbackUser and callbackPassword must be set together';
  if (environment === 'sandbox')
    return livePrefix === undefined ? faultOfApiBase(environment, apiBase) : 'livePrefix is for production only';
  if (livePrefix === undefined) return 'livePrefix must be set in production';
  // The HMAC signs no time, so without a password a recorded callback could be sent again.
  if (callbackUser === undefined) return 'callbackUser and callbackPassword must be set in production';
  return faultOfApiBase(environment, apiBase);
}

const ROUTES = {
  ach: {
    kind: 'local',
    label: 'Bank account (US), Adyen',
    payerLabel: 'Bank account (US)',
    eta: '1 to 5 business days',
    etaMinutes: 5760,
    rate: 0.006,
    kycPolicy: 'full',
    successRate: 0.9,
  },
  card_network: {
    kind: 'card',
    label: 'Card, Adyen',
    payerLabel: 'Card',
    eta: 'a few seconds',
    etaMinutes: 0.1,
    rate: 0.025,
    kycPolicy: 'none',
    successRate: 0.93,
  },
  cashapp: {
    kind: 'wallet',
    label: 'Cash App Pay, Adyen',
    payerLabel: 'Cash App Pay',
    eta: 'a few seconds',
    etaMinutes: 0.1,
    rate: 0.025,
    kycPolicy: 'provider',
    successRate: 0.9,
  },
} as const;

/** The default routes of an instance, as entries of the route catalogue. Costs are estimates for the US, without Adyen's processing fee. */
export function adyenRoutes(
  instanceId: string,
  environment: Environment,
  { methods, buyerWindowMinutes }: AdyenSettings,
) {
  return methods.map((network) => {
    const { kind, rate, ...shown } = ROUTES[network];
    return {
      id: network === 'ach' ? `local_${instanceId}` : `${kind}_${instanceId}`,
      ...shown,
      environment,
      integrationId: instanceId,
      integrationLabel: 'Adyen',
      kind,
      network,
      asset: 'USD',
      health: 'live',
      buyerFeeRate: 0,
      gatewayFeeRate: rate,
      providerCostRate: rate,
      minAmount: 1,
      paymentTimeoutSeconds: buyerWindowMinutes * 60,
    } as const;
  });
}
