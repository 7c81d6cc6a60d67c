import { z } from 'zod';
import { type IdPrefix, isId } from '../domain/id.ts';
import { sessionOfEvent } from '../domain/records.ts';
import { SAMPLE_EVENT_ID } from './described.ts';
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

function idOf(what: string, ...prefixes: IdPrefix[]) {
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

const status = z
  .string()
  .optional()
  .describe('Only records with this status. One that does not exist matches nothing.')
  .meta({ examples: ['paid'] });
const environment = z
  .enum(['sandbox', 'production'])
  .optional()
  .describe('Only records of this environment; left out, both.');

function pageFields(prefix: IdPrefix | 'evt') {
  const cursor = (what: string) => (prefix === 'evt' ? eventIdOf(what) : idOf(what, prefix));
  return {
    limit,
    startingAfter: cursor('The page of records older than this one'),
    endingBefore: cursor('The page of records newer than this one'),
  };
}

function listQuery<Fields extends z.ZodRawShape>(prefix: IdPrefix | 'evt', fields: Fields) {
  return z
    .strictObject({ ...fields, ...pageFields(prefix) })
    .refine(
      (query: { startingAfter?: unknown; endingBefore?: unknown }) =>
        query.startingAfter === undefined || query.endingBefore === undefined,
      {
        path: ['endingBefore'],
        message: 'must not be given together with startingAfter',
        params: { issueCode: 'invalid_value', remedy: 'remove' },
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

export const deliveriesQuery = listQuery('dlv', {
  sessionId: idOf('Only deliveries of this session', 'chk'),
  eventId: z
    .string()
    .optional()
    .describe('Only deliveries of this event: its whole id.')
    .meta({ examples: [SAMPLE_EVENT_ID] }),
  status: status.meta({ examples: ['dead'] }),
  environment,
});

export const eventsQuery = listQuery('evt', {
  sessionId: idOf('Only events of this session', 'chk'),
  type: z
    .string()
    .optional()
    .describe('Only events of this type. One that does not exist matches nothing.')
    .meta({ examples: ['payment.paid'] }),
  environment,
});

export const routesQuery = z.strictObject({
  environment: z
    .enum(['sandbox', 'production'])
    .default('sandbox')
    .describe('Routes of this environment. Default sandbox.'),
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
