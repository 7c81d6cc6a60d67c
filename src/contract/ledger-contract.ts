import { z } from 'zod';
import { ACCOUNTS, type BalancesAt, type JournalEntry, POSTING_KINDS } from '../domain/ledger.ts';
import { CURRENCY } from '../domain/records.ts';
import { endpoints } from './endpoint.ts';
import { moment } from './request-fields.ts';
import { environment as environmentFilter, idOf, list, listQuery } from './list-query.ts';
import * as field from './resource-fields.ts';
import { rendererFrom, resource } from './resource.ts';
import { SAMPLE_IDS } from './sample-ids.ts';

const account = field.choice(
  ACCOUNTS,
  "provider_clearing: our money that the provider holds; provider_cost: the provider's charges; merchant_payable: money owed to the merchant; gateway_revenue: our fees; buyer_refunds_payable: money owed to buyers; operator_cash: money in the operator's bank account.",
  'merchant_payable',
);
const kind = field.choice(
  POSTING_KINDS,
  'paid: a buyer has paid; settled: money was paid out to the merchant; refund: a refund was requested; refund_paid: the provider has deducted a refund from its balance; refund_failed: a refund failed, and its posting is reversed; adjustment: a person resolved a discrepancy; cost: a correction of the estimated charge; payout: the provider paid money to the bank account of the operator; reversal: the provider took money back, or returned it.',
  'paid',
);
const environment = field.environmentOf('Environment of the payments.');

const balancesQuery = z.strictObject({
  at: z.optional(moment('Time of the balances, exclusive: ISO 8601. Default: now, including all postings.')),
  environment: environmentFilter,
});

const journalFilter = {
  account: account.optional().describe('Only entries of this account.'),
  kind: kind.optional().describe('Only entries of this kind.'),
  sessionId: idOf('Only entries of this session', 'chk'),
  paymentId: idOf('Only entries of this payment', 'pay'),
  from: z.optional(moment('Only entries booked at or after this time: ISO 8601.')),
  until: z.optional(moment('Only entries booked before this time: ISO 8601.')),
  environment: environmentFilter,
};

const entriesQuery = listQuery('entry', journalFilter);
/** Query of the CSV export of the journal. */
export const exportQuery = z.strictObject(journalFilter);

const ledgerBalances = resource('LedgerBalances', 'ledger_balances', {
  at: field.time(
    'The time of the balances, which include every earlier posting; if the request has no `at`, all postings.',
  ),
  currency: z.literal(CURRENCY).describe('Always USD.'),
  environments: z
    .array(
      z.strictObject({
        environment,
        accounts: z
          .array(
            z.strictObject({
              account,
              debits: field.dollars('Sum of the debits.', 1250),
              credits: field.dollars('Sum of the credits.', 48.54),
              balance: field.dollars('Debits minus credits; negative if the account owes money.', 1201.46),
            }),
          )
          .describe('Every account.'),
        total: field.dollars('Sum of the balances; always 0.', 0),
      }),
    )
    .describe('One item per requested environment: sandbox and production money are never added together.'),
});

const ledgerEntry = resource('LedgerEntry', 'ledger_entry', {
  id: field.label('The entry: <posting id>:<line>.', `${SAMPLE_IDS.pay}:paid:2`),
  postingId: field.label('The posting, whose entries sum to 0.', `${SAMPLE_IDS.pay}:paid`),
  kind,
  account,
  debit: field.dollars('Debit of the account; 0 for a credit.', 0),
  credit: field.dollars('Credit of the account; 0 for a debit.', 48.54),
  currency: z.literal(CURRENCY).describe('Always USD.'),
  paymentId: field.id('pay', 'The payment.'),
  sessionId: field.id('chk', 'The checkout session.'),
  refundId: field.orNull(field.id('ref', 'The refund of the posting, or null.')),
  environment,
  created: field.time('Posting time.'),
});

const ledgerExport = z
  .string()
  .describe('CSV (RFC 4180) with a header, oldest entry first.')
  .meta({
    examples: [
      `entry_id,posting_id,created,environment,kind,account,debit,credit,currency,payment_id,session_id,refund_id\r\n`,
    ],
  });

export const renderBalances = rendererFrom(ledgerBalances, ({ at, environments }: BalancesAt) => ({
  at,
  environments: environments.map(({ environment: of, accounts }) => {
    const balances = accounts.map((each) => ({ ...each, balance: each.debits - each.credits }));
    return { environment: of, accounts: balances, total: balances.reduce((sum, { balance }) => sum + balance, 0) };
  }),
}));

export const renderEntry = rendererFrom(ledgerEntry, (entry: JournalEntry) => ({
  ...entry,
  id: `${entry.postingId}:${entry.line}`,
  debit: Math.max(entry.amount, 0),
  credit: Math.max(-entry.amount, 0),
}));

export const LEDGER_ENDPOINTS = endpoints('ledger', {
  getLedgerBalances: {
    route: 'GET /api/gateway/ledger/balances',
    summary: 'Get the balances of the ledger',
    description:
      'The balance of every account, now or at a given time; a UTC midnight is the fastest to compute. Debits are positive: provider_clearing is our money that the provider holds, and a negative merchant_payable is money owed to the merchant.',
    query: balancesQuery,
    response: ledgerBalances,
  },
  listLedgerEntries: list(
    '/api/gateway/ledger/entries',
    'List the entries of the ledger',
    entriesQuery,
    ledgerEntry,
    'The journal, newest first. The entries of a posting are adjacent and sum to 0. Entries are never changed or removed; a correction is a new posting.',
  ),
  exportLedger: {
    route: 'GET /api/gateway/ledger/export',
    summary: 'Export the ledger as CSV',
    description:
      'The whole journal as one CSV file, oldest entry first, streamed. Columns: entry_id, posting_id, created, environment, kind, account, debit, credit (dollars with two decimals; one of the two is empty), currency, payment_id, session_id, refund_id.',
    query: exportQuery,
    response: ledgerExport,
    responseType: 'text/csv',
    isExport: true,
  },
});
