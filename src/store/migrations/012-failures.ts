import type { Migration } from './migration.ts';

/** Since when a provider answers that it does not know the payment of a refund. */
export const failures: Migration = {
  version: 12,
  name: 'failures',
  sql: `
ALTER TABLE refunds ADD COLUMN unknown_since BIGINT;
`,
};
