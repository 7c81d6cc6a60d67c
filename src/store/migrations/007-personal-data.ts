import type { Migration } from './migration.ts';

export const personalData: Migration = {
  version: 7,
  name: 'personal data',
  sql: 'ALTER TABLE customers ADD COLUMN status_reason TEXT;',
};
