import type { Migration } from './migration.ts';

/** A provider's own reason for a failure, and since when it answers that it does not know the payment of a refund. */
export const failures: Migration = {
  version: 12,
  name: 'failures',
  sql: `
ALTER TABLE payments ADD COLUMN failure_reason TEXT;
ALTER TABLE refunds ADD COLUMN unknown_since BIGINT;
`,
};
