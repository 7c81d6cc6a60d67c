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
    'The paid out amount, compared with what is left of the payment: US dollars, not cents.',
    48.54,
  ),
  settledAt: z.optional(moment('Payout time: ISO 8601, from the year 2000 on, not in the future. Default now.')),
  reference: field.optional(
    text(1, MAX_REFERENCE),
    'Name of the payout, for example on a bank statement.',
    'PO-2026-0115',
  ),
});

const importQuery = z.strictObject({
  dryRun: z.optional(
    field.choice(['true', 'false'], 'true: report what would be recorded, and record nothing. Default false.', 'false'),
  ),
  environment: environment.describe('Settle payments of this environment only. Default: both.'),
});

const settlement = resource('Settlement', 'settlement', {
  paymentId: field.id('pay', 'The payment: it is settled once.'),
  sessionId: field.id('chk', 'The checkout session.'),
  environment: field.environmentOf('Environment of the payment.'),
  amount: field.dollars('The paid out amount: the net, minus earlier refunds.', 48.54),
  currency: z.literal(CURRENCY).describe('Always USD.'),
  source: field.choice(
    SETTLEMENT_SOURCES,
    'Source of the record: the provider itself, this API, or a settlement file.',
    'api',
  ),
  reference: field.label('Name of the payout, or null.', 'PO-2026-0115').nullable(),
  settledAt: field.time('Payout time.'),
  created: field.time('Recording time.'),
});

export const renderSettlement = rendererOf(settlement);

const settlementFile = z
  .string()
  .describe(
    'CSV with a header: payment_id or reference, amount, currency, and settled_at if you have it. At most 1 MiB, 10000 lines and 100 columns.',
  )
  .meta({ examples: [`payment_id,amount,currency\r\n${SAMPLE_IDS.pay},48.54,USD\r\n`] });

const share = (what: string, lines: number, amount: number) =>
  z
    .strictObject({
      lines: field.count('Number of lines.', lines),
      amount: field.dollars('Sum of their readable amounts.', amount),
    })
    .describe(what);

const reportedLine = z.strictObject({
  line: field.count('The line of the file; the header is line 1.', 2),
  status: field.choice(
    ['matched', 'already_settled', 'not_matched'],
    'matched: recorded now, or with dryRun would be; already_settled: recorded before; not_matched: nothing was recorded.',
  ),
  paymentId: field.label('The payment that it names, or null.', SAMPLE_IDS.pay).nullable(),
  reference: field.label("The provider's reference in the line, or null.", 'sp_0af3').nullable(),
  amount: field.dollars('The amount of the line; null if it is unreadable.', 48.54).nullable(),
  code: field.orNull(field.choice(MISMATCH_CODES, 'Code of the mismatch; null if it matched.')),
  message: field.label('Result of the line, in words.', 'Settled.'),
});

const settlementImport = resource('SettlementImport', 'settlement_import', {
  dryRun: field.flag('True if nothing was recorded.', false),
  message: field.label('Result of the file, in a sentence.', '1 of 1 lines settled.'),
  matched: share('Lines whose payments are settled now.', 1, 48.54),
  alreadySettled: share('Lines whose payments were settled before.', 0, 0),
  notMatched: share('Lines of which nothing was recorded.', 0, 0),
  ignoredColumns: z
    .array(field.label('The name of a column.', 'bank_note'))
    .describe('Columns of the file that the service does not read.'),
  entries: z.array(reportedLine).describe('Every line, in the order of the file.'),
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

export function instantFrom(text: string | undefined): Instant | undefined {
  return text === undefined ? undefined : Date.parse(text);
}

export const SETTLEMENT_ENDPOINTS = endpoints('settlement', {
  settlePayment: {
    route: 'POST /api/gateway/payments/{paymentId}/settle',
    summary: 'Record that a payment was paid out',
    description:
      'Records that what is left of a payment was paid out to the merchant, and answers the settlement. If a settlement was recorded before, from any source, it is answered and nothing is changed. If amount is given and differs from what is left, nothing is recorded.',
    body: settleRequest,
    requestExample: { reference: 'PO-2026-0115' },
    response: settlement,
    errors: ['invalid_state'],
  },
  importSettlements: {
    route: 'POST /api/gateway/settlements/import',
    summary: 'Import a settlement file',
    description:
      'Takes a CSV file of payouts and reports the result of every line. A line that does not match changes nothing, and the others are recorded; the same file again changes nothing. reference is the id that the provider has given to the payment, and amount the part of it that was paid out.',
    query: importQuery,
    body: settlementFile,
    bodyType: 'text/csv',
    response: settlementImport,
  },
});
