import { z } from 'zod';
import { jsonSchemaOf, sampleOf } from '../../contract/json-schema.ts';
import { checkoutSession, renderSession } from '../../contract/session-contract.ts';
import { SAMPLE_SESSION_ID } from '../../contract/sample-ids.ts';
import { INVALID_INPUT, NOT_FOUND, READ_ONLY, UNAVAILABLE, defineOperation } from '../operation.ts';
import { getSession } from '../read-records.ts';
import { idInput } from './id-input.ts';

const input = z.strictObject({ sessionId: idInput('The session (chk_...).', SAMPLE_SESSION_ID, 'chk') });

/** Over REST: `GET /api/gateway/sessions/{sessionId}`. */
export const sessionGet = defineOperation({
  name: 'session.get',
  title: 'Get a checkout session',
  description: 'Answers one session: what is sold, its status, its checkoutUrl and when it expires.',
  input,
  output: checkoutSession,
  annotations: READ_ONLY,
  access: 'look',
  errors: [INVALID_INPUT, NOT_FOUND, UNAVAILABLE],
  next: 'Call payment.get with the same id for the payment.',
  example: () => ({
    request: { sessionId: SAMPLE_SESSION_ID },
    response: sampleOf(jsonSchemaOf(checkoutSession, 'output')) as Record<string, unknown>,
  }),
  run: async (deps, { sessionId }) => ({ result: renderSession(await getSession(deps, sessionId), deps.urls) }),
});
