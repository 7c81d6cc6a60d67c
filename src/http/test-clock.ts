import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { inputReader } from '../contract/problems.ts';
import { TEST_CLOCK_ENDPOINTS, advanceRequest, renderTestClock } from '../contract/test-clock.ts';
import { advanceTestClock, clockOf } from '../operations/advance-time.ts';
import type { TestClock } from '../operations/test-clock.ts';
import type { AppDeps } from './app.ts';
import { serve } from './gateway.ts';

const POLL_MS = 20;
// Workers call the simulated provider, whose callbacks come back, and wait for them. An MCP call can be one of the test clock.
const NOT_HELD = ['/simulator/api/', '/api/providers/', '/api/gateway/test-clock', '/mcp'];

const readAdvance = inputReader(advanceRequest);

/** Endpoints of the test clock; they answer 403 if the service has none. */
export function testClockApi(app: FastifyInstance, deps: AppDeps): void {
  if (deps.testClock) holdRequests(app, deps.testClock);
  serve(app, deps, TEST_CLOCK_ENDPOINTS.get, async (_request, _reply, deps) =>
    renderTestClock(clockOf(deps).record(), deps.now()),
  );
  serve(app, deps, TEST_CLOCK_ENDPOINTS.advance, async (request, _reply, deps) => {
    const clock = clockOf(deps);
    const hint = `Schema: GET ${deps.urls.base}/openapi.json`;
    await advanceTestClock(deps, readAdvance.read(request.body ?? {}, hint).seconds);
    return renderTestClock(clock.record(), deps.now());
  });
}

/** Counts requests that may change something. The time between a handoff and its answer must not look like half an hour. */
function holdRequests(app: FastifyInstance, { requests }: TestClock): void {
  // Runs after the body has arrived: a client that is still sending delays no advance.
  app.addHook('preHandler', async ({ method, url, is404 }, { raw }) => {
    if (is404 || method === 'GET' || method === 'HEAD' || NOT_HELD.some((prefix) => url.startsWith(prefix))) return;
    while (performance.now() < requests.heldUntilMs) await sleep(POLL_MS);
    if (raw.closed) return;
    requests.begun++;
    requests.inProgress++;
    raw.once('close', () => requests.inProgress--);
  });
}
