import { invariants } from './invariant.ts';

const TABLES =
  'sessions payments refunds customers discrepancies deliveries recoveries webhook_endpoints api_keys operators routing_experiments';
const SUBJECTS = [
  ...TABLES.split(' ').map((table) => `${table} WHERE id = subject_id`),
  'route_health WHERE route_id = subject_id',
  'routing_rules WHERE CAST(version AS TEXT) = subject_id',
  "test_clock WHERE 'test_clock' = subject_id",
];

export const AUDIT_INVARIANTS = invariants({
  audit_subject: {
    says: 'The record that an audited change is about exists.',
    sql: `SELECT id FROM audit_entries WHERE kind = 'change' AND outcome = 'done'
      AND NOT EXISTS (${SUBJECTS.map((rows) => `SELECT 1 FROM ${rows}`).join(' UNION ALL ')})`,
  },
});
