import { hash } from 'node:crypto';
import { erasedAddress } from '../../domain/personal-data.ts';

const PREFIX = 'erased:';
// The address of a session whose buyer was erased, made of its customer's id.
const PLACEHOLDER = `'${erasedAddress("' || customer_id || '")}'`;

/** Stored form of the idempotency key of an erased session: it identifies a repeated key without revealing it. */
export function erasedKey(key: string): string {
  return key.startsWith(PREFIX) ? key : `${PREFIX}${hash('sha256', key, 'base64url')}`;
}

/** SQL of `text`, or of `instead` if the buyer of the session `sessionId` was erased. All three are SQL. */
export function textUnlessErased(sessionId: string, text: string, instead: string): string {
  return `CASE WHEN EXISTS (SELECT 1 FROM sessions WHERE id = ${sessionId} AND customer_email = ${PLACEHOLDER})
    THEN ${instead} ELSE ${text} END`;
}
