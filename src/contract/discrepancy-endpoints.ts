import { SAMPLE_DISCREPANCY_ID } from './described.ts';
import { discrepanciesQuery, discrepancy, resolveRequest } from './discrepancies.ts';
import type { Endpoint } from './endpoint.ts';
import { listOf } from './resources.ts';

const discrepancyId = {
  discrepancyId: { description: 'A discrepancy: dis_...', example: SAMPLE_DISCREPANCY_ID },
};

/** Money that came twice, or not as it was asked for. */
export const DISCREPANCY_ENDPOINTS = {
  listDiscrepancies: {
    operationId: 'listDiscrepancies',
    method: 'GET',
    access: 'read',
    path: '/api/gateway/discrepancies',
    tag: 'discrepancies',
    summary: 'List discrepancies',
    description: 'Newest first. status=open lists what is still to be resolved.',
    query: discrepanciesQuery,
    response: listOf(discrepancy),
    errors: [],
  },
  getDiscrepancy: {
    operationId: 'getDiscrepancy',
    method: 'GET',
    access: 'read',
    path: '/api/gateway/discrepancies/{discrepancyId}',
    tag: 'discrepancies',
    summary: 'Get a discrepancy',
    description: 'One discrepancy, with what can be done about it.',
    params: discrepancyId,
    response: discrepancy,
    errors: ['not_found'],
  },
  resolveDiscrepancy: {
    operationId: 'resolveDiscrepancy',
    method: 'POST',
    access: 'write',
    path: '/api/gateway/discrepancies/{discrepancyId}/resolve',
    tag: 'discrepancies',
    summary: 'Resolve a discrepancy',
    description:
      'refund gives the money back: the record stays open until the refund has succeeded, and can be decided again if the refund fails. The service refunds a surplus by itself; use refund for a surplus if that refund has failed.\n\naccept of an amount_mismatch takes the received amount as payment in full: the session is paid, its event is sent, and the merchant bears the difference. accept of a surplus lets the merchant keep it. The other kinds cannot be booked: ask the provider to return any money that it took, and use accept with a note of that.',
    params: discrepancyId,
    body: resolveRequest,
    requestExample: { action: 'refund' },
    response: discrepancy,
    errors: ['not_found', 'invalid_state'],
    errorExamples: {
      invalid_input: {
        message: 'action: must be one of "refund", "accept".',
        field: 'action',
        suggestion: 'Set action to "refund" or "accept"; then resend.',
        issues: [{ path: 'action', code: 'invalid_value', message: 'must be one of "refund", "accept"' }],
      },
      invalid_state: {
        message: `Discrepancy ${SAMPLE_DISCREPANCY_ID} is resolved already: accepted.`,
        suggestion: 'Leave it: what was decided stands.',
      },
    },
  },
} as const satisfies Record<string, Endpoint>;
