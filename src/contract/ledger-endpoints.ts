import { z } from 'zod';
import type { Endpoint } from './endpoint.ts';
import { accountName, ledgerBalances, ledgerEntry, ledgerExport, postingKind } from './ledger.ts';
import { environment, idOf, listQuery } from './queries.ts';
import { listOf } from './resources.ts';

const instant = (what: string) =>
  z.iso
    .datetime({ offset: true })
    .optional()
    .describe(`${what}: ISO 8601.`)
    .meta({ examples: ['2026-01-15T09:30:00.000Z'] });

export const balancesQuery = z.strictObject({
  at: instant('The balances as this moment begins: what was booked before it; default now, with all that is booked'),
  environment,
});

const journalFilter = {
  account: accountName.optional(),
  kind: postingKind.optional(),
  sessionId: idOf('Only entries of this session', 'chk'),
  paymentId: idOf('Only entries of this payment', 'pay'),
  from: instant('Only entries booked then or later'),
  until: instant('Only entries booked before'),
  environment,
};

export const entriesQuery = listQuery('entry', journalFilter);
export const exportQuery = z.strictObject(journalFilter);

/** The books. */
export const LEDGER_ENDPOINTS = {
  getBalances: {
    operationId: 'getLedgerBalances',
    method: 'GET',
    access: 'read',
    path: '/api/gateway/ledger/balances',
    tag: 'ledger',
    summary: 'Get the balances of the ledger',
    description:
      'The balance of every account now, or at a given time; a UTC midnight is the fastest to answer. Debits are positive: provider_clearing is what the provider holds for us, and a negative merchant_payable is what the merchant is owed.',
    query: balancesQuery,
    response: ledgerBalances,
    errors: [],
  },
  listEntries: {
    operationId: 'listLedgerEntries',
    method: 'GET',
    access: 'read',
    path: '/api/gateway/ledger/entries',
    tag: 'ledger',
    summary: 'List the entries of the ledger',
    description:
      'The journal, newest first. The entries of a posting stand together and sum to 0; none is ever changed or removed, a correction is another posting.',
    query: entriesQuery,
    response: listOf(ledgerEntry),
    errors: [],
  },
  exportEntries: {
    operationId: 'exportLedger',
    method: 'GET',
    access: 'read',
    path: '/api/gateway/ledger/export',
    tag: 'ledger',
    summary: 'Export the ledger as CSV',
    description:
      'The journal until now as one CSV file, oldest first, sent while it is read. Columns: entry_id, posting_id, created, environment, kind, account, debit, credit (dollars with two decimals, one of both empty), currency, payment_id, session_id, refund_id.',
    query: exportQuery,
    response: ledgerExport,
    responseType: 'text/csv',
    errors: [],
  },
} as const satisfies Record<string, Endpoint>;
