import type { FastifyInstance } from 'fastify';
import { TEST_CLOCK_ENDPOINTS, renderTestClock } from '../contract/test-clock-contract.ts';
import type { TestClock } from '../operations/deps.ts';
import { advanceTestClock, clockOf } from '../operations/test-clock.ts';
import { apiPart } from './api-part.ts';
import type { Part } from './app.ts';

// Paths that are not counted: an advance itself causes requests to the simulated provider and callbacks, and MCP streams can stay open.
const NOT_COUNTED = ['/simulator/api/', '/api/providers/', '/api/gateway/test-clock', '/mcp'];

/** Endpoints of the test clock; they return 403 if the service has no test clock. */
export const testClockApi: Part = (app, unrestricted) => {
  if (unrestricted.testClock) countRequests(app, unrestricted.testClock);
  testClockEndpoints(app, unrestricted);
};

const testClockEndpoints = apiPart((serve) => {
  serve(TEST_CLOCK_ENDPOINTS.getTestClock, async ({ deps }) => renderTestClock(clockOf(deps).record(), deps.now()));
  serve(TEST_CLOCK_ENDPOINTS.advanceTestClock, async (call) => {
    const { deps } = call;
    // Checked before the body, so that a service without a test clock always returns 403.
    const clock = clockOf(deps);
    await advanceTestClock(deps, call.body.seconds);
    return renderTestClock(clock.record(), deps.now());
  });
});

/** Counts writing requests in progress. Advances wait for them, so that time does not jump between a handoff and its answer. */
function countRequests(app: FastifyInstance, { requests }: TestClock): void {
  // Runs after the body has arrived, so that a slow sender does not delay an advance.
  app.addHook('preHandler', async ({ method, url, is404 }, { raw }) => {
    if (is404 || method === 'GET' || method === 'HEAD' || NOT_COUNTED.some((prefix) => url.startsWith(prefix))) return;
    if (raw.closed) return;
    requests.inProgress++;
    raw.once('close', () => requests.inProgress--);
  });
}
