import type { Posting } from '../../domain/ledger.ts';
import type { Environment } from '../../domain/route.ts';
import { type Write, insertSql } from '../write.ts';

const INSERT = insertSql('ledger_entries', [
  'payment_id',
  'kind',
  'line',
  'environment',
  'account',
  'amount',
  'created',
]);

export const SELECT_LEDGER_OF_PAYMENT =
  'SELECT kind, account, amount FROM ledger_entries WHERE payment_id = ?1 ORDER BY created, kind, line';
export const SELECT_LEDGER_TOTAL = 'SELECT COALESCE(SUM(amount), 0) AS total FROM ledger_entries';

export function insertPosting(posting: Posting, environment: Environment): Write[] {
  return posting.entries.map((entry, line) => ({
    sql: INSERT,
    params: [posting.paymentId, posting.kind, line, environment, entry.account, entry.amount, posting.created],
  }));
}
