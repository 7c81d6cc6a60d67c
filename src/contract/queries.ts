import { z } from 'zod';
import { ANSWER_CLASSES } from '../domain/delivery.ts';
import { type IdPrefix, isId } from '../domain/id.ts';
import { sessionOfEvent } from '../domain/records.ts';
import { SAMPLE_EVENT_ID, SAMPLE_PAYMENT_ID } from './described.ts';
import { SAMPLE_ROUTE_ID } from './requests.ts';

export const DEFAULT_LIMIT = 20;
export const MAX_LIMIT = 100;

const limit = z
  .string()
  .check((context) => {
    if (/^[1-9]\d*$/.test(context.value)) return;
    context.issues.push({
      code: 'invalid_format',
      format: 'integer',
      message: 'must be a whole number of 1 or more',
      input: context.value,
    });
  })
  .optional()
  .describe('How many records at most: 1 to 100, larger is taken as 100. Default 20.')
  .meta({ type: 'integer', minimum: 1, default: DEFAULT_LIMIT });

export function idOf(what: string, ...prefixes: IdPrefix[]) {
  const names = prefixes.map((prefix) => `${prefix}_`).join(' or ');
  return z
    .string()
    .check((context) => {
      if (isId(context.value, ...prefixes)) return;
      context.issues.push({
        code: 'invalid_format',
        format: 'id',
        message: `must be an id that starts with ${names}`,
        input: context.value,
      });
    })
    .optional()
    .describe(`${what}: an id that starts with ${names}.`)
    .meta({ examples: [`${prefixes[0]}_01m7x0e4kq3v8n5c2t9y6w1r4b7d0f3h5j8m`] });
}

function eventIdOf(what: string) {
  return z
    .string()
    .check((context) => {
      if (sessionOfEvent(context.value) !== undefined) return;
      context.issues.push({
        code: 'invalid_format',
        format: 'id',
        message: 'must be the id of an event: evt_, the id of its session, _ and a status',
        input: context.value,
      });
    })
    .optional()
    .describe(`${what}: evt_, the id of its session, _ and a status.`)
    .meta({ examples: [SAMPLE_EVENT_ID] });
}

export const status = z
  .string()
  .optional()
  .describe('Only records with this status. One that does not exist matches nothing.')
  .meta({ examples: ['paid'] });
export const environment = z
  .enum(['sandbox', 'production'])
  .optional()
  .describe('Only records of this environment; left out, both, of which an API key sees its own.');

function entryIdOf(what: string) {
  return z
    .string()
    .regex(/^\w{1,60}:\w{1,20}:\d{1,3}$/, 'must be the id of a ledger entry: that of its posting, and its line')
    .optional()
    .describe(`${what}: the id of its posting, and its line there.`)
    .meta({ examples: [`${SAMPLE_PAYMENT_ID}:paid:2`] });
}

type CursorOf = IdPrefix | 'evt' | 'entry';

function cursorOf(prefix: CursorOf, what: string) {
  if (prefix === 'entry') return entryIdOf(what);
  return prefix === 'evt' ? eventIdOf(what) : idOf(what, prefix);
}

function pageFields(prefix: CursorOf) {
  const cursor = (what: string) => cursorOf(prefix, what);
  return {
    limit,
    startingAfter: cursor('The page of records older than this one'),
    endingBefore: cursor('The page of records newer than this one'),
  };
}

export function listQuery<Fields extends z.ZodRawShape>(prefix: CursorOf, fields: Fields) {
  return z
    .strictObject({ ...fields, ...pageFields(prefix) })
    .refine(
      (query: { startingAfter?: unknown; endingBefore?: unknown }) =>
        query.startingAfter === undefined || query.endingBefore === undefined,
      {
        path: ['endingBefore'],
        message: 'must not be given together with startingAfter',
        params: { issueCode: 'invalid_value', remedy: 'remove' },
        // Zod skips this check after other problems by default, but the error must name every problem.
        when: ({ value }) => typeof value === 'object' && value !== null,
      },
    );
}

export const customersQuery = listQuery('cus', {
  customerId: idOf('Only this customer', 'cus'),
  email: z
    .string()
    .optional()
    .describe('Only the customer of this address: the whole address, case aside.')
    .meta({ examples: ['buyer@example.com'] }),
  status,
  environment,
});

export const sessionsQuery = listQuery('chk', {
  customer: z
    .string()
    .check((context) => {
      if (context.value.includes('@') || isId(context.value, 'cus')) return;
      context.issues.push({
        code: 'invalid_format',
        format: 'customer',
        message: 'must be an email address or an id that starts with cus_',
        input: context.value,
      });
    })
    .optional()
    .describe('Only sessions of this customer: an email address, case aside, or an id that starts with cus_.')
    .meta({ examples: ['buyer@example.com'] }),
  status,
  clientReferenceId: z
    .string()
    .optional()
    .describe('Only sessions that carry this reference of yours.')
    .meta({ examples: ['A-1001'] }),
  environment,
});

export const paymentsQuery = listQuery('pay', {
  customerId: idOf('Only payments of this customer', 'cus'),
  invoiceId: idOf('Only the payment of this invoice', 'inv'),
  paymentId: idOf('Only this payment, or only those of this session', 'pay', 'chk'),
  status,
  environment,
});

export const invoicesQuery = listQuery('inv', {
  customerId: idOf('Only invoices of this customer', 'cus'),
  paymentId: idOf('Only the invoice of this payment', 'pay'),
  invoiceId: idOf('Only this invoice', 'inv'),
  status,
  environment,
});

const type = (what: string) =>
  z
    .string()
    .optional()
    .describe(`Only ${what} of this type. One that does not exist matches nothing.`)
    .meta({ examples: ['payment.paid'] });

const instant = (what: string) =>
  z.iso
    .datetime({ offset: true })
    .optional()
    .describe(`Only deliveries made ${what}: ISO 8601.`)
    .meta({ examples: ['2026-01-15T09:30:00.000Z'] });

export const deliveriesQuery = listQuery('dlv', {
  endpointId: idOf('Only deliveries to this webhook endpoint', 'whe'),
  sessionId: idOf('Only deliveries of this session', 'chk'),
  eventId: z
    .string()
    .optional()
    .describe('Only deliveries of this event: its whole id.')
    .meta({ examples: [SAMPLE_EVENT_ID] }),
  type: type('deliveries of events'),
  status: status.meta({ examples: ['dead'] }),
  statusClass: z
    .enum(ANSWER_CLASSES)
    .optional()
    .describe(
      'Only deliveries whose last attempt had such an answer; none: no answer came. What was never attempted matches none of them.',
    ),
  createdFrom: instant('then or later'),
  createdUntil: instant('before'),
  environment,
});

export const endpointsQuery = listQuery('whe', { environment });

const NOT_OF_THE_FEED = ['sessionId', 'startingAfter', 'endingBefore'] as const;

export const eventsQuery = listQuery('evt', {
  sessionId: idOf('Only events of this session', 'chk'),
  type: type('events'),
  environment,
  after: z
    .string()
    .check((context) => {
      if (context.value === '' || sessionOfEvent(context.value) !== undefined) return;
      context.issues.push({
        code: 'invalid_format',
        format: 'id',
        message: 'must be the id of an event, or empty to begin with the oldest',
        input: context.value,
      });
    })
    .optional()
    .describe(
      'The feed: events oldest first, those that became visible after this one; empty, from the beginning. Not together with sessionId, startingAfter or endingBefore.',
    )
    .meta({ examples: [SAMPLE_EVENT_ID] }),
}).check((context) => {
  const { value } = context;
  if (value.after === undefined) return;
  for (const path of NOT_OF_THE_FEED) {
    if (value[path] === undefined) continue;
    const params = { issueCode: 'invalid_value', remedy: 'remove' };
    const message = 'must not be given together with after';
    context.issues.push({ code: 'custom', path: [path], message, params, input: value });
  }
});

export const keysQuery = listQuery('key', { environment });

export const routesQuery = z.strictObject({
  environment: z
    .enum(['sandbox', 'production'])
    .optional()
    .describe('Routes of this environment. Default: that of the API key; without keys, sandbox.'),
});

export const transitionsQuery = listQuery('rtr', {
  routeId: z
    .string()
    .optional()
    .describe('Only changes of this route.')
    .meta({ examples: [SAMPLE_ROUTE_ID] }),
  environment,
});

export const standingsQuery = z.strictObject({
  environment: z
    .enum(['sandbox', 'production'])
    .optional()
    .describe('Only routes of this environment; left out, both.'),
});

export const rulesQuery = z.strictObject({
  version: z
    .string()
    .check((context) => {
      if (/^\d{1,9}$/.test(context.value)) return;
      context.issues.push({
        code: 'invalid_format',
        format: 'integer',
        message: 'must be a whole number',
        input: context.value,
      });
    })
    .optional()
    .describe('This version instead of the one in force.')
    .meta({ type: 'integer', minimum: 0, examples: ['1'] }),
});

/** The page that a query asks for. */
export function pageOf(query: {
  limit?: string | undefined;
  startingAfter?: string | undefined;
  endingBefore?: string | undefined;
}): { limit: number; startingAfter?: string; endingBefore?: string } {
  const { startingAfter, endingBefore } = query;
  return {
    limit: Math.min(Number(query.limit ?? DEFAULT_LIMIT), MAX_LIMIT),
    ...(startingAfter !== undefined && { startingAfter }),
    ...(endingBefore !== undefined && { endingBefore }),
  };
}
