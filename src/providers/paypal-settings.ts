import { X509Certificate } from 'node:crypto';
import { z } from 'zod';
import type { Environment } from '../domain/route.ts';
import { apiBaseSetting, faultOfApiBase } from './api-base.ts';

const credential = z
  .string()
  .regex(/^[\w.-]{10,200}$/, 'must be copied from the app in the PayPal developer dashboard');

/** Schema of the settings of a PayPal instance, with the secrets in plain text. */
export const paypalSettings = z.strictObject({
  /** Client id of the REST app. Its form does not tell the environment. */
  clientId: credential,
  clientSecret: credential,
  /** Id of the webhook of the app. PayPal's signatures contain it. */
  webhookId: z.string().regex(/^[0-9A-Z]{10,50}$/, 'must be the id of a webhook, such as 4JH86294D6297924G'),
  /** Name of the merchant on PayPal's page; default: the merchant name of the service. */
  brandName: z.string().min(1).max(127).optional(),
  /** `capture`: captured money counts as settled, because it is in the PayPal balance. `file`: a settlement file or the API settles. */
  settlesAt: z.enum(['capture', 'file']).default('capture'),
  /** Certificates of root authorities, as PEM, to which the certificate of a callback must lead. */
  roots: z.array(z.string().refine(isCertificate, 'must be a certificate as PEM')).optional(),
  apiBase: apiBaseSetting,
});
export type PaypalSettings = z.output<typeof paypalSettings>;

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).ca;
  } catch {
    return false;
  }
}

/** Contradiction between valid settings and the environment, as a sentence that begins with a setting's name, without values. */
export function faultOfPaypal(environment: Environment, { apiBase }: PaypalSettings): string | undefined {
  return faultOfApiBase(environment, apiBase);
}

/** The network of the routes that PayPal serves. */
export const PAYPAL_NETWORK = 'paypal';

/** The default route of an instance, as an entry of the route catalogue. The cost is PayPal's list price in the US. */
export function paypalRoutes(instanceId: string, environment: Environment) {
  return [
    {
      id: `wallet_${instanceId}`,
      label: 'PayPal',
      environment,
      integrationId: instanceId,
      integrationLabel: 'PayPal',
      kind: 'wallet',
      network: PAYPAL_NETWORK,
      asset: 'USD',
      health: 'live',
      payerLabel: 'PayPal',
      eta: 'about 1 minute',
      etaMinutes: 1,
      buyerFeeRate: 0,
      gatewayFeeRate: 0.0349,
      providerCostRate: 0.0349,
      providerCostFixed: 0.49,
      minAmount: 1,
      kycPolicy: 'provider',
      successRate: 0.9,
      paymentTimeoutSeconds: 3 * 60 * 60,
    },
  ] as const;
}
