import { z } from 'zod';
import { jsonSchemaOf, sampleOf } from '../../contract/json-schema.ts';
import { checkoutSession, renderSession } from '../../contract/session-contract.ts';
import { SAMPLE_SESSION_ID } from '../../contract/sample-ids.ts';
import { expireSession } from '../expire-session.ts';
import { INVALID_INPUT, INVALID_STATE, NOT_FOUND, UNAVAILABLE, defineOperation } from '../operation.ts';
import { idInput } from './id-input.ts';

const input = z.strictObject({ sessionId: idInput('The session (chk_...).', SAMPLE_SESSION_ID, 'chk') });

/** Over REST: `POST /api/gateway/sessions/{sessionId}/expire`. */
export const sessionExpire = defineOperation({
  name: 'session.expire',
  title: 'Expire a checkout session',
  description:
    'Withdraws a session that no buyer has started: its checkoutUrl takes no payment any more. Irreversible. Repeating the call changes nothing.',
  input,
  output: checkoutSession,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  access: 'write',
  errors: [INVALID_INPUT, NOT_FOUND, INVALID_STATE, UNAVAILABLE],
  next: 'Call checkout.create for another one.',
  example: () => ({
    request: { sessionId: SAMPLE_SESSION_ID },
    response: sampleOf(jsonSchemaOf(checkoutSession, 'output')) as Record<string, unknown>,
  }),
  run: async (deps, { sessionId }) => ({ result: renderSession(await expireSession(deps, sessionId), deps.urls) }),
});
