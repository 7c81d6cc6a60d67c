import type { Session } from './records.ts';

/** The first version of a session, from what was asked; nothing can refuse it any more. */
export function newSession(
  fields: Omit<Session, 'status' | 'version' | 'attempts' | 'announced' | 'retryUntil' | 'wakeAt' | 'decisionId'> & {
    decisionId?: string | null;
  },
): Session {
  return {
    ...fields,
    decisionId: fields.decisionId ?? null,
    status: 'routed',
    version: 1,
    attempts: 0,
    announced: false,
    retryUntil: null,
    wakeAt: fields.expiresAt,
  };
}
