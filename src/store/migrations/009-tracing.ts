import type { Migration } from './migration.ts';

/** Which request, and which span, an event came of: whoever delivers it, later or elsewhere, goes on under both. */
export const tracing: Migration = {
  version: 9,
  name: 'tracing',
  sql: `
ALTER TABLE events ADD COLUMN request_id TEXT;
ALTER TABLE events ADD COLUMN trace_parent TEXT;
`,
};
