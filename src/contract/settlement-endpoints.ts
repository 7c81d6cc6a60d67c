import { z } from 'zod';
import { SAMPLE_PAYMENT_ID } from './described.ts';
import type { Endpoint } from './endpoint.ts';
import { environment } from './queries.ts';
import { settleRequest, settlement, settlementFile, settlementImport } from './settlements.ts';

export const importQuery = z.strictObject({
  dryRun: z
    .enum(['true', 'false'])
    .optional()
    .describe('true: say what would be recorded, and record nothing. Default false.')
    .meta({ examples: ['false'] }),
  environment: environment.describe('Settle payments of this environment only; left out, both.'),
});

/** What was paid out to the merchant. */
export const SETTLEMENT_ENDPOINTS = {
  settlePayment: {
    operationId: 'settlePayment',
    method: 'POST',
    access: 'write',
    path: '/api/gateway/payments/{paymentId}/settle',
    tag: 'settlement',
    summary: 'Record that a payment was paid out',
    description:
      'Records that the merchant has been paid out what is left of a payment, and answers the settlement. Where it was recorded before, by whomever, that settlement is answered and nothing is changed. Where amount is given and is not what is left, nothing is recorded.',
    params: {
      paymentId: { description: 'A payment: pay_..., or chk_... for that of a session.', example: SAMPLE_PAYMENT_ID },
    },
    body: settleRequest,
    requestExample: { reference: 'PO-2026-0115' },
    response: settlement,
    errors: ['invalid_state', 'not_found'],
  },
  importSettlements: {
    operationId: 'importSettlements',
    method: 'POST',
    access: 'write',
    path: '/api/gateway/settlements/import',
    tag: 'settlement',
    summary: 'Import a settlement file',
    description:
      'Takes a CSV file of payouts and says of every line what became of it. A line that does not match changes nothing, and the others are recorded; the same file again changes nothing. reference is the id that the provider has given to the payment, and amount what was paid out of it.',
    query: importQuery,
    body: settlementFile,
    bodyType: 'text/csv',
    response: settlementImport,
    errors: [],
  },
} as const satisfies Record<string, Endpoint>;
