import { z } from 'zod';
import { SAMPLE_REFUND_ID } from '../../contract/sample-ids.ts';
import { jsonSchemaOf, sampleOf } from '../../contract/json-schema.ts';
import { refund, renderRefund } from '../../contract/refund-contract.ts';
import { INVALID_INPUT, NOT_FOUND, READ_ONLY, UNAVAILABLE, defineOperation } from '../operation.ts';
import { getRefund } from '../refunds/read-refunds.ts';
import { idInput } from './id-input.ts';

const input = z.strictObject({ refundId: idInput('The refund (ref_...).', SAMPLE_REFUND_ID, 'ref') });

/** Over REST: `GET /api/gateway/refunds/{refundId}`. */
export const refundGet = defineOperation({
  name: 'refund.get',
  title: 'Get a refund',
  description:
    'Answers one refund: whether the provider has paid it out (succeeded), not yet (pending) or not (failed).',
  input,
  output: refund,
  annotations: READ_ONLY,
  access: 'read',
  errors: [INVALID_INPUT, NOT_FOUND, UNAVAILABLE],
  next: 'While it is pending, ask again later.',
  example: () => ({
    request: { refundId: SAMPLE_REFUND_ID },
    response: sampleOf(jsonSchemaOf(refund, 'output')) as Record<string, unknown>,
  }),
  run: async (deps, { refundId }) => ({ result: renderRefund(await getRefund(deps, refundId)) }),
});
