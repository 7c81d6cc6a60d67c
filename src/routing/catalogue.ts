import { z } from 'zod';
import { MAX_AMOUNT, centsFromAmount, ppmFromFraction } from '../domain/money.ts';
import { ENVIRONMENTS, KYC_POLICIES, ROUTE_HEALTHS, ROUTE_KINDS, type Route } from '../domain/route.ts';

const THIRTY_DAYS_MINUTES = 30 * 24 * 60;
const WEEK_SECONDS = 7 * 86_400;
const name = z.string().min(1).max(120);
const rate = z.number().min(0).max(0.5).transform(ppmFromFraction);
const amount = z
  .number()
  .min(0)
  .max(MAX_AMOUNT)
  .refine((value) => centsFromAmount(value) !== undefined, 'must be in dollars with at most two decimals')
  .transform((value) => centsFromAmount(value)!);

const catalogueSchema = z.strictObject({
  routes: z
    .array(
      z
        .strictObject({
          id: z.string().regex(/^[a-z0-9_]{3,120}$/),
          label: name,
          environment: z.enum(ENVIRONMENTS),
          integrationId: name,
          integrationLabel: name,
          kind: z.enum(ROUTE_KINDS),
          network: name,
          asset: name,
          health: z.enum(ROUTE_HEALTHS),
          payerLabel: name,
          eta: name,
          etaMinutes: z.number().min(0).max(THIRTY_DAYS_MINUTES),
          buyerFeeRate: rate,
          gatewayFeeRate: rate,
          providerCostRate: rate,
          providerCostFixed: amount.exactOptional(),
          minAmount: amount.exactOptional(),
          maxAmount: amount.exactOptional(),
          kycPolicy: z.enum(KYC_POLICIES),
          successRate: z.number().min(0).max(1).transform(ppmFromFraction),
          paymentTimeoutSeconds: z.int().min(60).max(WEEK_SECONDS),
          options: z.record(z.string(), z.unknown()).exactOptional(),
        })
        .refine(({ minAmount = 0, maxAmount = minAmount }) => minAmount <= maxAmount, {
          path: ['maxAmount'],
          message: 'must be at least minAmount',
        }),
    )
    .min(1)
    .refine((routes) => new Set(routes.map(({ id }) => id)).size === routes.length, 'route ids must be unique'),
});

/**
 * The routes of a catalogue file. In the file rates are fractions (0.029 is 2.9 %), amounts are in dollars, and times are in
 * seconds unless their name has another unit. `health` is the initial state of a route; `standby` disables the route.
 * Throws an Error with every problem on one line.
 */
export function parseCatalogue(json: unknown): Route[] {
  const result = catalogueSchema.safeParse(json);
  if (!result.success) {
    throw new Error(result.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; '));
  }
  return result.data.routes;
}
