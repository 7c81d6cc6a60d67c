import { erasedAddress } from '../../domain/personal-data.ts';

// The address of a session whose buyer was erased, made of its customer's id.
const PLACEHOLDER = `'${erasedAddress("' || customer_id || '")}'`;

/** SQL of a `text` as it may be kept of the session `sessionId`: `instead`, where its buyer was erased. All are SQL. */
export function unlessErased(sessionId: string, text: string, instead: string): string {
  return `CASE WHEN EXISTS (SELECT 1 FROM sessions WHERE id = ${sessionId} AND customer_email = ${PLACEHOLDER})
    THEN ${instead} ELSE ${text} END`;
}
