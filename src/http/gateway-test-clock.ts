import { TEST_CLOCK_ENDPOINTS, renderTestClock } from '../contract/test-clock-contract.ts';
import { clockOf } from '../operations/test-clock.ts';
import { apiPart } from './api-part.ts';
import type { Part } from './app.ts';

/** Endpoints of the test clock. They return 403 if the service has none. A service with a test clock also counts its writing requests. */
export const testClockApi: Part = (app, unrestricted) => {
  testClockEndpoints(app, unrestricted);
  const { testClock } = unrestricted;
  if (!testClock) return;
  // An advance waits for these requests, so that time does not jump between a handoff and its answer. The hook runs after the
  // body has arrived, so that a slow sender does not delay an advance. MCP is not counted, because its streams stay open.
  app.addHook('preHandler', async ({ method, url, is404 }, { raw }) => {
    if (is404 || method === 'GET' || method === 'HEAD' || url.startsWith('/mcp') || raw.closed) return;
    testClock.requestsInProgress++;
    raw.once('close', () => testClock.requestsInProgress--);
  });
};

const testClockEndpoints = apiPart((serve) => {
  serve(TEST_CLOCK_ENDPOINTS.getTestClock, async ({ deps }) => renderTestClock(clockOf(deps).record(), deps.now()));
  serve(TEST_CLOCK_ENDPOINTS.advanceTestClock, async (call) => {
    // Looks up the clock before the body is parsed, so that a service without a test clock always returns 403.
    const clock = clockOf(call.deps);
    await clock.advance(call.body.seconds, call.deps.store);
    return renderTestClock(clock.record(), clock.now());
  });
});
