import { z } from 'zod';
import type { Instant } from '../domain/records.ts';
import { time } from './described.ts';
import type { Endpoint } from './endpoint.ts';
import { timestamp } from './render.ts';

/** 30 days. */
export const MAX_ADVANCE_SECONDS = 2_592_000;

/** Body of `POST /api/gateway/test-clock/advance`. */
export const advanceRequest = z.strictObject({
  seconds: z
    .number()
    .int()
    .min(1)
    .max(MAX_ADVANCE_SECONDS)
    .describe('How far to move time forward: whole seconds, 1 to 2592000, which is 30 days.')
    .meta({ examples: [86_400] }),
});

export const testClockResource = z.strictObject({
  object: z.literal('test_clock').describe('Always test_clock.'),
  status: z
    .enum(['ready', 'advancing'])
    .describe('advancing: time is being moved, and what falls due on the way is being done.')
    .meta({ examples: ['ready'] }),
  now: time('The time of this service, which goes on by itself between advances.', '2026-01-16T09:30:00.000Z'),
  target: time('Where the advance under way leads, or null.')
    .nullable()
    .meta({ examples: [null] }),
  advancedSeconds: z
    .number()
    .describe('How far its time is ahead of the real one: all advances together, those under way as far as they are.')
    .meta({ examples: [86_400] }),
});
export type TestClockResource = z.output<typeof testClockResource>;

const errorExamples = {
  forbidden: {
    message: 'Time cannot be moved here: this service was started without a test clock.',
    suggestion: 'Start it with TEST_CLOCK=true, on a database without production sessions; then resend.',
  },
  invalid_state: {
    message: 'Time is being moved already, to 2026-01-16T09:30:00.000Z.',
    suggestion: 'GET /api/gateway/test-clock until its status is ready; then resend.',
  },
};

/** Time in a sandbox that was started with TEST_CLOCK=true. */
export const TEST_CLOCK_ENDPOINTS = {
  get: {
    operationId: 'getTestClock',
    method: 'GET',
    access: 'read',
    path: '/api/gateway/test-clock',
    tag: 'test clock',
    summary: 'Get the test clock',
    description: 'The time of the service, and whether it is being moved.',
    response: testClockResource,
    errors: ['forbidden'],
    errorExamples,
  },
  advance: {
    operationId: 'advanceTestClock',
    method: 'POST',
    access: 'write',
    keys: 'sandbox',
    path: '/api/gateway/test-clock/advance',
    tag: 'test clock',
    summary: 'Move time forward',
    description:
      'Moves the time of the whole service forward. Everything that falls due on the way is done in its order, each at its own time: sessions expire, payments time out, webhooks are tried again. Answers at once with status advancing; get the clock until it is ready.\n\nTime never goes back. One advance at a time.',
    body: advanceRequest,
    requestExample: { seconds: 86_400 },
    response: testClockResource,
    errors: ['forbidden', 'invalid_state'],
    errorExamples,
  },
} as const satisfies Record<string, Endpoint>;

export function renderTestClock(
  { offsetMs, target }: { offsetMs: number; target: Instant | null },
  now: Instant,
): TestClockResource {
  return {
    object: 'test_clock',
    status: target === null ? 'ready' : 'advancing',
    now: timestamp(now),
    target: target === null ? null : timestamp(target),
    advancedSeconds: offsetMs / 1000,
  };
}
