import { z } from 'zod';
import { ACCOUNTS, type BalancesAt, type JournalEntry, POSTING_KINDS } from '../domain/ledger.ts';
import { amountFromCents } from '../domain/money.ts';
import { CURRENCY } from '../domain/records.ts';
import { SAMPLE_PAYMENT_ID, dollars, id, label, time } from './described.ts';
import { timestamp } from './render.ts';

export const accountName = z
  .enum(ACCOUNTS)
  .describe(
    'provider_clearing: what the provider holds for us; provider_cost: what it has charged; merchant_payable: what the merchant is owed; gateway_revenue: our fees; buyer_refunds_payable: what buyers are owed.',
  )
  .meta({ examples: ['merchant_payable'] });
export const postingKind = z
  .enum(POSTING_KINDS)
  .describe(
    'paid: a buyer has paid; settled: the merchant was paid out; refund: a refund was asked for; refund_paid: it has gone out; refund_failed: it did not, and what was booked of it is taken back; adjustment: money that was resolved by hand.',
  )
  .meta({ examples: ['paid'] });
const environment = z.enum(['sandbox', 'production']).describe('That of the payments.');

export const ledgerBalances = z.strictObject({
  object: z.literal('ledger_balances').describe('Always ledger_balances.'),
  at: time(
    'The time of the balances: what was booked before it is in them; where none was asked for, all that is booked.',
  ),
  currency: z.literal(CURRENCY).describe('Always USD.'),
  environments: z
    .array(
      z.strictObject({
        environment,
        accounts: z
          .array(
            z.strictObject({
              account: accountName,
              debits: dollars('All that was debited.', 1250),
              credits: dollars('All that was credited.', 48.54),
              balance: dollars('Debits less credits: negative where the account is owed from.', 1201.46),
            }),
          )
          .describe('Every account there is.'),
        total: dollars('The sum of the balances: always 0.', 0),
      }),
    )
    .describe('The environments asked for: sandbox money and real money are never added.'),
});

export const ledgerEntry = z.strictObject({
  id: label('The entry: the id of its posting, and its line there.', `${SAMPLE_PAYMENT_ID}:paid:2`),
  object: z.literal('ledger_entry').describe('Always ledger_entry.'),
  postingId: label('The posting: its entries sum to 0.', `${SAMPLE_PAYMENT_ID}:paid`),
  kind: postingKind,
  account: accountName,
  debit: dollars('What the account is debited; 0 where it is credited.', 0),
  credit: dollars('What the account is credited; 0 where it is debited.', 48.54),
  currency: z.literal(CURRENCY).describe('Always USD.'),
  paymentId: id('pay', 'The payment.'),
  sessionId: id('chk', 'The checkout session.'),
  refundId: id('ref', 'The refund that it books; null for all else.')
    .nullable()
    .meta({ examples: [null] }),
  environment,
  created: time('When it was booked.'),
});

export const ledgerExport = z
  .string()
  .describe('CSV (RFC 4180) with a header, oldest entry first.')
  .meta({
    examples: [
      `entry_id,posting_id,created,environment,kind,account,debit,credit,currency,payment_id,session_id,refund_id\r\n`,
    ],
  });

export function renderBalances({ at, environments }: BalancesAt): z.output<typeof ledgerBalances> {
  return {
    object: 'ledger_balances',
    at: timestamp(at),
    currency: CURRENCY,
    environments: environments.map((each) => {
      const total = each.accounts.reduce((sum, { debits, credits }) => sum + debits - credits, 0);
      const accounts = each.accounts.map(({ account, debits, credits }) => ({
        account,
        debits: amountFromCents(debits),
        credits: amountFromCents(credits),
        balance: amountFromCents(debits - credits),
      }));
      return { environment: each.environment, accounts, total: amountFromCents(total) };
    }),
  };
}

export function renderEntry(entry: JournalEntry): z.output<typeof ledgerEntry> {
  const { postingId, line, kind, account, amount, paymentId, sessionId, refundId, created } = entry;
  return {
    id: `${postingId}:${line}`,
    object: 'ledger_entry',
    postingId,
    kind,
    account,
    debit: amountFromCents(Math.max(amount, 0)),
    credit: amountFromCents(Math.max(-amount, 0)),
    currency: CURRENCY,
    paymentId,
    sessionId,
    refundId,
    environment: entry.environment,
    created: timestamp(created),
  };
}
