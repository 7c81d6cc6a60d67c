import type { Migration } from './migration.ts';

/** Columns for a provider's own failure reason, and for the time since which it does not know the payment of a refund. */
export const failures: Migration = {
  version: 12,
  name: 'failures',
  sql: `
ALTER TABLE payments ADD COLUMN failure_reason TEXT;
ALTER TABLE refunds ADD COLUMN unknown_since BIGINT;
`,
};
