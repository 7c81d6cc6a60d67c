import { z } from 'zod';
import type { Recovery } from '../domain/recovery.ts';
import { SAMPLE_RECOVERY_ID, id, time } from './described.ts';
import { timestamp } from './render.ts';

const instant = (what: string) => z.iso.datetime({ offset: true }).describe(`${what} ISO 8601.`);

/** Body of a recovery. */
export const recoverRequest = z.strictObject({
  from: instant('Events made then or later.').meta({ examples: ['2026-01-15T06:00:00.000Z'] }),
  until: instant('Events made before. Left out, or in the future: now.')
    .optional()
    .meta({ examples: ['2026-01-15T09:30:00.000Z'] }),
  all: z.boolean().default(false).describe('true: also what the endpoint has acknowledged. Default false.'),
});

const count = (what: string, example: number) =>
  z
    .number()
    .describe(what)
    .meta({ examples: [example] });

export const recovery = z.strictObject({
  id: z
    .string()
    .describe('The recovery. Starts with rcv_.')
    .meta({ examples: [SAMPLE_RECOVERY_ID] }),
  object: z.literal('recovery').describe('Always recovery.'),
  endpointId: id('whe', 'The endpoint.'),
  environment: z.enum(['sandbox', 'production']).describe('That of the endpoint.'),
  from: time('Events made then or later are looked at.', '2026-01-15T06:00:00.000Z'),
  until: time('Events made before are looked at.'),
  all: z
    .boolean()
    .describe('Whether acknowledged events are sent too.')
    .meta({ examples: [false] }),
  status: z
    .enum(['running', 'done', 'stopped'])
    .describe(
      'running: a long range is still being read, by itself; done: everything in it was looked at; stopped: the endpoint was disabled or deleted meanwhile.',
    )
    .meta({ examples: ['done'] }),
  queued: count('Events that are sent because of it.', 42),
  pending: count('Events that were on their way already, and are left to that.', 3),
  delivered: count('Events that the endpoint has acknowledged, and that are left.', 117),
  created: time('When it was asked for.'),
});

export function renderRecovery(record: Recovery): z.output<typeof recovery> {
  return {
    id: record.id,
    object: 'recovery',
    endpointId: record.endpointId,
    environment: record.environment,
    from: timestamp(record.from),
    until: timestamp(record.until),
    all: record.everything,
    status: record.status,
    queued: record.queued,
    pending: record.pending,
    delivered: record.delivered,
    created: timestamp(record.created),
  };
}
