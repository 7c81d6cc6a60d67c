import { z } from 'zod';
import { type IdPrefix, isId } from '../domain/id.ts';
import { sourceOfEvent } from '../domain/event-id.ts';
import { ENVIRONMENTS } from '../domain/route.ts';
import { checkedText, notTogether } from './request-fields.ts';
import { described, flag, label } from './resource-fields.ts';
import { named } from './resource.ts';
import { SAMPLE_IDS } from './sample-ids.ts';

export const DEFAULT_LIMIT = 20;
export const MAX_LIMIT = 100;

const limit = checkedText('integer', (value) =>
  /^[1-9]\d*$/.test(value) ? undefined : 'must be a whole number of 1 or more',
)
  .optional()
  .describe('Page size, 1 to 100; larger values count as 100. Default 20.')
  .meta({ type: 'integer', minimum: 1, default: DEFAULT_LIMIT });

/** Query parameter that accepts any text. */
export const anyText = (what: string, example: string) => label(what, example).optional();

/** Query parameter for an id with one of the prefixes. */
export function idOf(what: string, ...prefixes: IdPrefix[]) {
  const form = `an id that starts with ${prefixes.map((prefix) => `${prefix}_`).join(' or ')}`;
  const id = checkedText('id', (value) => (isId(value, ...prefixes) ? undefined : `must be ${form}`));
  return described(id, `${what}: ${form}.`, `${prefixes[0]}_01m7x0e4kq3v8n5c2t9y6w1r4b7d0f3h5j8m`).optional();
}

/** Query parameter for an amount in US dollars. */
export function dollarsText(what: string, example: number) {
  const dollars = checkedText('amount', (value) =>
    /^\d{1,9}(?:\.\d{1,2})?$/.test(value) ? undefined : 'must be US dollars with at most two decimals, such as 49.99',
  );
  const meta = { type: 'number', minimum: 0, maximum: 999_999_999.99, examples: [example] };
  return dollars.optional().describe(`${what}, in US dollars with at most two decimals.`).meta(meta);
}

function eventIdOf(what: string) {
  const form = 'evt_ and the id of a health transition, or evt_, the id of a session and a suffix';
  const isEvent = (value: string) => sourceOfEvent(value) !== undefined;
  const id = checkedText('id', (value) => (isEvent(value) ? undefined : `must be the id of an event: ${form}`));
  return described(id, `${what}: ${form}.`, SAMPLE_IDS.evt).optional();
}

function entryIdOf(what: string) {
  const id = z.string().regex(/^\w{1,60}:\w{1,20}:\d{1,3}$/, 'must be the id of a ledger entry: <posting id>:<line>');
  return described(id, `${what}: <posting id>:<line>.`, `${SAMPLE_IDS.pay}:paid:2`).optional();
}

export const status = anyText('Only records with this status. An unknown status matches nothing.', 'paid');
export const environment = z
  .enum(ENVIRONMENTS)
  .optional()
  .describe('Only records of this environment. Default: that of the API key; without a key, both.');

/** Type of the records of a list, which determines the format of its cursors. */
type CursorOf = IdPrefix | 'evt' | 'entry';

function cursorOf(prefix: CursorOf, what: string) {
  if (prefix === 'entry') return entryIdOf(what);
  return prefix === 'evt' ? eventIdOf(what) : idOf(what, prefix);
}

/** Query of a list: its filters `fields`, the limit and the cursors. */
export function listQuery<Fields extends z.ZodRawShape>(prefix: CursorOf, fields: Fields) {
  return z
    .strictObject({
      ...fields,
      limit,
      startingAfter: cursorOf(prefix, 'Returns the page after (older than) this record'),
      endingBefore: cursorOf(prefix, 'Returns the page before (newer than) this record'),
    })
    .refine(
      (query: { startingAfter?: unknown; endingBefore?: unknown }) =>
        query.startingAfter === undefined || query.endingBefore === undefined,
      notTogether('endingBefore', 'startingAfter'),
    );
}

/** Query parameters that choose a page. */
export interface PageQuery {
  limit?: string | undefined;
  startingAfter?: string | undefined;
  endingBefore?: string | undefined;
}

/** Page that a query chooses. */
export function pageOf({ limit: most = String(DEFAULT_LIMIT), startingAfter, endingBefore }: PageQuery) {
  return {
    limit: Math.min(Number(most), MAX_LIMIT),
    ...(startingAfter !== undefined && { startingAfter }),
    ...(endingBefore !== undefined && { endingBefore }),
  };
}

const hasMore = named('HasMore', flag('True if more records exist in the requested direction.', false));

/** Schema of the response of a list. */
export function listOf<Item extends z.ZodType>(item: Item) {
  return z.strictObject({
    object: z.literal('list').describe('Always list.'),
    data: z.array(item).describe('The records, newest first.'),
    hasMore,
  });
}

/** Definition of an endpoint that lists records. */
export function list<Query extends z.ZodType>(
  path: `/${string}`,
  summary: string,
  query: Query,
  item: z.ZodType,
  description = 'Newest first.',
) {
  return { route: `GET ${path}`, summary, description, query, response: listOf(item) } as const;
}
