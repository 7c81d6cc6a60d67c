import type { FastifyInstance } from 'fastify';
import { inputReader } from '../contract/problems.ts';
import { TEST_CLOCK_ENDPOINTS, advanceRequest, renderTestClock } from '../contract/test-clock.ts';
import { advanceTestClock, clockOf, readTestClock } from '../operations/advance-time.ts';
import type { Gate } from '../operations/test-clock-gate.ts';
import type { AppDeps } from './app.ts';
import { serve } from './gateway.ts';

const LET_THROUGH = ['/simulator/api/', '/api/providers/', '/api/gateway/test-clock', '/mcp'];

const readAdvance = inputReader(advanceRequest);

/** Time that a developer moves; refused where the service has no test clock. */
export function testClockApi(app: FastifyInstance, deps: AppDeps): void {
  if (deps.testClock) keepApart(app, deps.testClock.gate);
  serve(app, TEST_CLOCK_ENDPOINTS.get, async () => renderTestClock(await readTestClock(deps), deps.now()));
  serve(app, TEST_CLOCK_ENDPOINTS.advance, async (request) => {
    clockOf(deps);
    const hint = `Schema: GET ${deps.urls.base}/openapi.json`;
    const { seconds } = readAdvance.read(request.body ?? {}, hint);
    return renderTestClock(await advanceTestClock(deps, seconds), deps.now());
  });
}

/**
 * A step of a buyer is with a provider for a moment: that must not look like half an hour without an answer. What the
 * workers themselves ask of this service, by way of the simulated provider, is theirs to wait for.
 */
function keepApart(app: FastifyInstance, gate: Gate): void {
  app.addHook('onRequest', async ({ method, url }, reply) => {
    if (method === 'GET' || method === 'HEAD' || LET_THROUGH.some((prefix) => url.startsWith(prefix))) return;
    let leave: (() => void) | undefined;
    let isGone = false;
    reply.raw.once('close', () => {
      isGone = true;
      leave?.();
    });
    leave = await gate.enter();
    if (isGone) leave();
  });
}
