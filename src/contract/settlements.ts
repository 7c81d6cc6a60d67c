import { z } from 'zod';
import { amountFromCents } from '../domain/money.ts';
import { CURRENCY, type Instant } from '../domain/records.ts';
import { SETTLEMENT_SOURCES, type Settlement } from '../domain/settlement.ts';
import { type ImportReport, MISMATCH_CODES } from '../domain/settlement-file.ts';
import { SAMPLE_PAYMENT_ID, dollars, id, label, time } from './described.ts';
import { movedAmount, text } from './fields.ts';
import { timestamp } from './render.ts';

const MAX_REFERENCE = 200;
const count = (what: string, example: number) =>
  z
    .number()
    .describe(what)
    .meta({ examples: [example] });

/** Body of `POST /api/gateway/payments/{paymentId}/settle`. */
export const settleRequest = z.strictObject({
  amount: movedAmount
    .optional()
    .describe('What was paid out, to be held against what is left of the payment: US dollars, not cents.')
    .meta({ examples: [48.54] }),
  settledAt: z.iso
    .datetime({ offset: true })
    .optional()
    .describe('When it was paid out: ISO 8601, from the year 2000 on, not in the future. Default now.')
    .meta({ examples: ['2026-01-15T09:30:00.000Z'] }),
  reference: text(1, MAX_REFERENCE)
    .optional()
    .describe('What the payout is called, for example on a bank statement.')
    .meta({ examples: ['PO-2026-0115'] }),
});

export const settlement = z.strictObject({
  object: z.literal('settlement').describe('Always settlement.'),
  paymentId: id('pay', 'The payment: it is settled once.'),
  sessionId: id('chk', 'The checkout session.'),
  environment: z.enum(['sandbox', 'production']).describe('That of the payment.'),
  amount: dollars('What was paid out: the net, less what was refunded from it before.', 48.54),
  currency: z.literal(CURRENCY).describe('Always USD.'),
  source: z
    .enum(SETTLEMENT_SOURCES)
    .describe('Who told: the provider itself, this API, or a settlement file.')
    .meta({ examples: ['api'] }),
  reference: label('What the payout is called, or null.', 'PO-2026-0115').nullable(),
  settledAt: time('When it was paid out.'),
  created: time('When it was recorded.'),
});

export const settlementFile = z
  .string()
  .describe(
    'CSV with a header: payment_id or reference, amount, currency, and settled_at if you have it. At most 1 MiB, 10000 lines and 100 columns.',
  )
  .meta({ examples: [`payment_id,amount,currency\r\n${SAMPLE_PAYMENT_ID},48.54,USD\r\n`] });

const share = (what: string, lines: number, amount: number) =>
  z
    .strictObject({
      lines: count('How many lines.', lines),
      amount: dollars('What they add up to, as far as they say.', amount),
    })
    .describe(what);

const reportedLine = z.strictObject({
  line: count('The line of the file; the header is line 1.', 2),
  status: z
    .enum(['matched', 'already_settled', 'not_matched'])
    .describe(
      'matched: recorded now, or with dryRun would be; already_settled: before; not_matched: nothing was done.',
    ),
  paymentId: label('The payment that it names, or null.', SAMPLE_PAYMENT_ID).nullable(),
  reference: label("The provider's reference in the line, or null.", 'sp_0af3').nullable(),
  amount: dollars('The amount of the line; null where it cannot be told.', 48.54).nullable(),
  code: z
    .enum(MISMATCH_CODES)
    .nullable()
    .describe('Why it did not match, for programs; null where it did.')
    .meta({ examples: [null] }),
  message: label('What became of it, in words.', 'Settled.'),
});

export const settlementImport = z.strictObject({
  object: z.literal('settlement_import').describe('Always settlement_import.'),
  dryRun: z
    .boolean()
    .describe('Whether nothing was recorded.')
    .meta({ examples: [false] }),
  message: label('What came of the file, in a sentence.', '1 of 1 lines settled.'),
  matched: share('Lines whose payments are settled now.', 1, 48.54),
  alreadySettled: share('Lines whose payments were settled before.', 0, 0),
  notMatched: share('Lines of which nothing was recorded.', 0, 0),
  ignoredColumns: z
    .array(label('The name of a column.', 'bank_note'))
    .describe('Columns of the file that mean nothing here.'),
  entries: z.array(reportedLine).describe('Every line, in the order of the file.'),
});

export function renderSettlement(from: Settlement): z.output<typeof settlement> {
  const { paymentId, sessionId, environment, amount, source, reference, settledAt, created } = from;
  return {
    object: 'settlement',
    paymentId,
    sessionId,
    environment,
    amount: amountFromCents(amount),
    currency: CURRENCY,
    source,
    reference,
    settledAt: timestamp(settledAt),
    created: timestamp(created),
  };
}

export function renderImport({ dryRun, lines, ignoredColumns }: ImportReport): z.output<typeof settlementImport> {
  const shareOf = (status: ImportReport['lines'][number]['status']) => {
    const own = lines.filter((line) => line.status === status);
    return { lines: own.length, amount: amountFromCents(own.reduce((sum, { amount }) => sum + (amount ?? 0), 0)) };
  };
  const [matched, alreadySettled, notMatched] = [
    shareOf('matched'),
    shareOf('already_settled'),
    shareOf('not_matched'),
  ];
  const parts = [
    `${matched.lines} of ${lines.length} lines ${dryRun ? 'would be settled' : 'settled'}`,
    ...(alreadySettled.lines > 0 ? [`${alreadySettled.lines} settled before`] : []),
    ...(notMatched.lines > 0 ? [`${notMatched.lines} not matched`] : []),
    ...(matched.lines === 0 || dryRun ? ['nothing was changed'] : []),
  ];
  return {
    object: 'settlement_import',
    dryRun,
    message: `${parts.join(', ')}.`,
    matched,
    alreadySettled,
    notMatched,
    ignoredColumns,
    entries: lines.map((line) => ({ ...line, amount: line.amount === null ? null : amountFromCents(line.amount) })),
  };
}

export function instantFrom(text: string | undefined): Instant | undefined {
  return text === undefined ? undefined : Date.parse(text);
}
