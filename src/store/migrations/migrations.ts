import { initial } from './001-initial.ts';
import { apiKeys } from './002-api-keys.ts';
import { webhookEndpoints } from './003-webhook-endpoints.ts';
import { eventFeed } from './004-event-feed.ts';
import { ledger } from './005-ledger.ts';
import { refunds } from './006-refunds.ts';
import { discrepancies } from './008-discrepancies.ts';
import { wrongAmounts } from './010-wrong-amounts.ts';
import { unknownPayments } from './011-unknown-payments.ts';
import { providerInbox } from './013-provider-inbox.ts';
import { ledgerSums } from './014-ledger-sums.ts';
import type { Migration, Step } from './migration.ts';

const personalData: Step = {
  name: 'personal data',
  sql: 'ALTER TABLE customers ADD COLUMN status_reason TEXT;',
};

/** Request id and span that caused an event, for its later deliveries by any instance. */
const tracing: Step = {
  name: 'tracing',
  sql: `
ALTER TABLE events ADD COLUMN request_id TEXT;
ALTER TABLE events ADD COLUMN trace_parent TEXT;
`,
};

/**
 * Columns for a provider's own failure reason, and for the time since which the provider answers that it does not know
 * the payment of a refund.
 */
const failures: Step = {
  name: 'failures',
  sql: `
ALTER TABLE payments ADD COLUMN failure_reason TEXT;
ALTER TABLE refunds ADD COLUMN unknown_since BIGINT;
`,
};

const STEPS: readonly Step[] = [
  { name: 'initial', sql: initial },
  apiKeys,
  webhookEndpoints,
  eventFeed,
  ledger,
  refunds,
  personalData,
  discrepancies,
  tracing,
  wrongAmounts,
  unknownPayments,
  failures,
  providerInbox,
  ledgerSums,
];

/** All migrations in order, forward only. A released migration is never edited: a later change gets the next number. */
export const MIGRATIONS: readonly Migration[] = STEPS.map((step, index) => ({ ...step, version: index + 1 }));
