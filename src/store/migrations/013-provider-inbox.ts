import type { Step } from './migration.ts';

/**
 * Environment of a sender: the environment of the record, or the other environment if the message was flagged for its
 * environment.
 */
const senderOf = (environment: string) =>
  `CASE WHEN message.outcome <> 'environment_mismatch' THEN COALESCE(${environment}, 'sandbox')
    WHEN ${environment} = 'production' THEN 'sandbox' ELSE 'production' END`;

/**
 * One table for messages about payments, settlements and refunds. Its key includes the sender's environment. Earlier versions
 * did not store a currency. An event id that was applied in both old tables keeps its two rows, which `conflict` distinguishes.
 */
export const providerInbox: Step = {
  name: 'provider inbox',
  sql: `
CREATE TABLE provider_messages_moved (
  provider TEXT NOT NULL,
  environment TEXT NOT NULL,
  event_id TEXT NOT NULL,
  conflict TEXT NOT NULL,
  session_id TEXT NOT NULL,
  payment_id TEXT,
  refund_id TEXT,
  status TEXT NOT NULL,
  amount BIGINT NOT NULL,
  currency TEXT,
  outcome TEXT NOT NULL,
  flagged BIGINT NOT NULL,
  body TEXT NOT NULL,
  received BIGINT NOT NULL,
  PRIMARY KEY (provider, environment, event_id, conflict)
);
INSERT INTO provider_messages_moved
  SELECT message.provider, ${senderOf('session.environment')}, message.event_id, '', message.session_id,
    message.payment_id, NULL, message.status, message.amount, NULL, message.outcome, message.flagged, message.body,
    message.received
  FROM provider_messages AS message LEFT JOIN sessions AS session ON session.id = message.session_id;
INSERT INTO provider_messages_moved
  SELECT message.provider, ${senderOf('refund.environment')}, message.event_id,
    CASE WHEN EXISTS (SELECT 1 FROM provider_messages_moved AS known
        WHERE known.provider = message.provider AND known.event_id = message.event_id
          AND known.environment = ${senderOf('refund.environment')})
      THEN message.refund_id ELSE '' END,
    COALESCE(refund.session_id, ''), CASE WHEN message.outcome = 'session_mismatch' THEN NULL ELSE refund.payment_id END,
    message.refund_id, message.status, message.amount, NULL, message.outcome, message.flagged, message.body,
    message.received
  FROM refund_messages AS message LEFT JOIN refunds AS refund ON refund.id = message.refund_id;
DROP TABLE provider_messages;
DROP TABLE refund_messages;
ALTER TABLE provider_messages_moved RENAME TO provider_messages;
CREATE INDEX provider_messages_session ON provider_messages (session_id);
`,
};
