import { z } from 'zod';
import type { Instant } from '../domain/records.ts';
import { endpoints } from './endpoint.ts';
import * as field from './resource-fields.ts';
import { rendererFrom, resource } from './resource.ts';

const advanceRequest = z.strictObject({
  seconds: z
    .int()
    .min(1)
    .max(2_592_000)
    .describe('Seconds to move time forward: 1 to 2592000, which is 30 days.')
    .meta({ examples: [86_400] }),
});

const testClockResource = resource('TestClock', 'test_clock', {
  status: field.choice(
    ['ready', 'advancing'],
    'advancing: time is moving forward, and the service does the work that becomes due.',
    'ready',
  ),
  now: field.time('The time of this service. Between advances it passes at normal speed.', '2026-01-16T09:30:00.000Z'),
  target: field.orNull(field.time('The end of the advance in progress, or null.')),
  advancedSeconds: field.count(
    'Difference to real time: the sum of all advances, including the completed part of an advance in progress.',
    86_400,
  ),
});

/** Errors of the endpoints, as they are documented and returned. */
export const TEST_CLOCK_ERRORS = {
  forbidden: {
    message: 'Time cannot be moved here: this service was started without a test clock.',
    suggestion: 'Start it with TEST_CLOCK=true, on a database without production sessions; then resend.',
  },
  invalid_state: {
    message: 'Time is being moved already.',
    suggestion: 'GET /api/gateway/test-clock until its status is ready; then resend.',
  },
};

/** Endpoints for the clock of a sandbox service that runs with TEST_CLOCK=true. */
export const TEST_CLOCK_ENDPOINTS = endpoints('test clock', {
  getTestClock: {
    route: 'GET /api/gateway/test-clock',
    summary: 'Get the test clock',
    description: 'The time of the service, and whether an advance is in progress.',
    response: testClockResource,
    errors: ['forbidden'],
    errorExamples: TEST_CLOCK_ERRORS,
  },
  advanceTestClock: {
    route: 'POST /api/gateway/test-clock/advance',
    keys: 'sandbox',
    summary: 'Advance the test clock',
    description:
      'Moves the time of the whole service forward. Work that becomes due runs in order, each at its due time: sessions expire, payments time out, webhooks are retried. Returns immediately with status advancing; get the clock until it is ready.\n\nTime never moves backwards. Only one advance can be in progress.',
    body: advanceRequest,
    requestExample: { seconds: 86_400 },
    response: testClockResource,
    errors: ['forbidden', 'invalid_state'],
    errorExamples: TEST_CLOCK_ERRORS,
  },
});

export const renderTestClock = rendererFrom(
  testClockResource,
  ({ offsetMs, target }: { offsetMs: number; target: Instant | null }, now: Instant) => ({
    now,
    target,
    status: target === null ? 'ready' : 'advancing',
    advancedSeconds: offsetMs / 1000,
  }),
);
