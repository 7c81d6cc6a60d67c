import { z } from 'zod';
import { CURRENCY, type Instant } from '../domain/records.ts';
import { SETTLEMENT_SOURCES } from '../domain/settlement.ts';
import { type ImportReport, type LineStatus, MISMATCH_CODES } from '../domain/settlement-file.ts';
import { endpoints } from './endpoint.ts';
import { moment, movedAmount, text } from './request-fields.ts';
import { environment } from './list-query.ts';
import * as field from './resource-fields.ts';
import { rendererFrom, rendererOf, resource } from './resource.ts';
import { SAMPLE_IDS } from './sample-ids.ts';

const MAX_REFERENCE = 200;

const settleRequest = z.strictObject({
  amount: field.optional(
    movedAmount,
    'Amount that was paid out, which must equal the remaining amount of the payment: US dollars, not cents.',
    48.54,
  ),
  settledAt: z.optional(moment('Payout time: ISO 8601, from the year 2000 on, not in the future. Default now.')),
  reference: field.optional(
    text(1, MAX_REFERENCE),
    'Reference of the payout, for example from the bank statement.',
    'PO-2026-0115',
  ),
});

const importQuery = z.strictObject({
  dryRun: z.optional(
    field.choice(['true', 'false'], 'true: report the result, but record nothing. Default false.', 'false'),
  ),
  environment: environment.describe('Only payments of this environment are settled. Default: both.'),
});

const settlement = resource('Settlement', 'settlement', {
  paymentId: field.id('pay', 'The payment. A payment has at most one settlement.'),
  sessionId: field.id('chk', 'The checkout session.'),
  environment: field.environmentOf('Environment of the payment.'),
  amount: field.dollars('The amount paid out: merchant_net minus earlier refunds.', 48.54),
  currency: z.literal(CURRENCY).describe('Always USD.'),
  source: field.choice(
    SETTLEMENT_SOURCES,
    'Source of the record: the provider itself, this API, or a settlement file.',
    'api',
  ),
  reference: field.label('Reference of the payout, or null.', 'PO-2026-0115').nullable(),
  settledAt: field.time('Payout time.'),
  created: field.time('Recording time.'),
});

export const renderSettlement = rendererOf(settlement);

const settlementFile = z
  .string()
  .describe(
    'CSV with a header: payment_id or reference, amount, currency, and optionally settled_at and cost (the charge of the provider). At most 1 MiB, 10000 lines and 100 columns.',
  )
  .meta({ examples: [`payment_id,amount,currency\r\n${SAMPLE_IDS.pay},48.54,USD\r\n`] });

const share = (what: string, lines: number, amount: number) =>
  z
    .strictObject({
      lines: field.count('Number of lines.', lines),
      amount: field.dollars('Sum of the valid amounts of these lines.', amount),
    })
    .describe(what);

const reportedLine = z.strictObject({
  line: field.count('Line number in the file; the header is line 1.', 2),
  status: field.choice(
    ['matched', 'already_settled', 'not_matched'],
    'matched: recorded by this import, or would be with dryRun; already_settled: recorded earlier; not_matched: not recorded.',
  ),
  paymentId: field.label('The payment of the line, or null.', SAMPLE_IDS.pay).nullable(),
  reference: field.label("The provider's reference in the line, or null.", 'sp_0af3').nullable(),
  amount: field.dollars('The amount of the line; null if it is invalid.', 48.54).nullable(),
  code: field.orNull(field.choice(MISMATCH_CODES, 'Reason why the line did not match; null if it matched.')),
  message: field.label('Result of the line, as text.', 'Settled.'),
});

const settlementImport = resource('SettlementImport', 'settlement_import', {
  dryRun: field.flag('True if nothing was recorded.', false),
  message: field.label('Result of the file, as one sentence.', '1 of 1 lines settled.'),
  matched: share('Lines whose payments this import settles.', 1, 48.54),
  alreadySettled: share('Lines whose payments were settled earlier.', 0, 0),
  notMatched: share('Lines that were not recorded.', 0, 0),
  ignoredColumns: z
    .array(field.label('The name of a column.', 'bank_note'))
    .describe('Columns of the file that the service does not read.'),
  entries: z.array(reportedLine).describe('All lines, in file order.'),
});

export const renderImport = rendererFrom(settlementImport, ({ dryRun, lines, ignoredColumns }: ImportReport) => {
  const shareOf = (status: LineStatus) => {
    const own = lines.filter((line) => line.status === status);
    return { lines: own.length, amount: own.reduce((sum, { amount }) => sum + (amount ?? 0), 0) };
  };
  const shares = {
    matched: shareOf('matched'),
    alreadySettled: shareOf('already_settled'),
    notMatched: shareOf('not_matched'),
  };
  const parts = [
    `${shares.matched.lines} of ${lines.length} lines ${dryRun ? 'would be settled' : 'settled'}`,
    ...(shares.alreadySettled.lines > 0 ? [`${shares.alreadySettled.lines} settled before`] : []),
    ...(shares.notMatched.lines > 0 ? [`${shares.notMatched.lines} not matched`] : []),
    ...(shares.matched.lines === 0 || dryRun ? ['nothing was changed'] : []),
  ];
  return { ...shares, dryRun, ignoredColumns, message: `${parts.join(', ')}.`, entries: lines };
});

/** Converts an ISO 8601 time to milliseconds since 1970. */
export function instantFrom(text: string | undefined): Instant | undefined {
  return text === undefined ? undefined : Date.parse(text);
}

export const SETTLEMENT_ENDPOINTS = endpoints('settlement', {
  settlePayment: {
    route: 'POST /api/gateway/payments/{paymentId}/settle',
    summary: 'Record the payout of a payment',
    description:
      'Records that the remaining amount of a payment was paid out to the merchant, and returns the settlement. If the payment already has a settlement from any source, returns it unchanged. Rejected if amount differs from the remaining amount.',
    body: settleRequest,
    requestExample: { reference: 'PO-2026-0115' },
    response: settlement,
    errors: ['invalid_state'],
  },
  importSettlements: {
    route: 'POST /api/gateway/settlements/import',
    summary: 'Import a settlement file',
    description:
      'Reads a CSV file of payouts and reports the result of every line. Matching lines are recorded; other lines change nothing. Importing the file again changes nothing. reference is the payment id of the provider; amount is the amount that was paid out.',
    query: importQuery,
    body: settlementFile,
    bodyType: 'text/csv',
    response: settlementImport,
  },
});
