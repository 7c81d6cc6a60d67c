import type { Migration } from './migration.ts';

/** Request id and span that caused an event, for its later deliveries by any instance. */
export const tracing: Migration = {
  version: 9,
  name: 'tracing',
  sql: `
ALTER TABLE events ADD COLUMN request_id TEXT;
ALTER TABLE events ADD COLUMN trace_parent TEXT;
`,
};
