import { hash } from 'node:crypto';
import { erasedAddress } from '../../domain/personal-data.ts';

const PREFIX = 'erased:';
// SQL of the placeholder email address of a session whose buyer was erased; the address contains the customer's id.
const PLACEHOLDER = `'${erasedAddress("' || customer_id || '")}'`;

/** Hash that replaces the idempotency key of an erased session. It still identifies a repeated request, but hides the key. */
export function erasedKey(key: string): string {
  return key.startsWith(PREFIX) ? key : `${PREFIX}${hash('sha256', key, 'base64url')}`;
}

/** SQL expression: `text`, or `instead` if the buyer of the session `sessionId` was erased. All arguments are SQL expressions. */
export function textUnlessErased(sessionId: string, text: string, instead: string): string {
  return `CASE WHEN EXISTS (SELECT 1 FROM sessions WHERE id = ${sessionId} AND customer_email = ${PLACEHOLDER})
    THEN ${instead} ELSE ${text} END`;
}
