import type { FastifyInstance } from 'fastify';
import { inputReader } from '../contract/problems.ts';
import { TEST_CLOCK_ENDPOINTS, advanceRequest, renderTestClock } from '../contract/test-clock.ts';
import { advanceTestClock, clockOf, readTestClock } from '../operations/advance-time.ts';
import type { TestClock } from '../operations/test-clock.ts';
import type { AppDeps } from './app.ts';
import { serve } from './gateway.ts';

// What the workers themselves ask of this service, by way of the simulated provider, is theirs to wait for.
const LET_THROUGH = ['/simulator/api/', '/api/providers/', '/api/gateway/test-clock'];
// A call may be one of the test clock itself.
const NOT_WAITED_FOR = '/mcp';

const readAdvance = inputReader(advanceRequest);

/** Time that a developer moves; refused where the service has no test clock. */
export function testClockApi(app: FastifyInstance, deps: AppDeps): void {
  if (deps.testClock) keepApart(app, deps.testClock);
  serve(app, deps, TEST_CLOCK_ENDPOINTS.get, async (_request, _reply, deps) =>
    renderTestClock(await readTestClock(deps), deps.now()),
  );
  serve(app, deps, TEST_CLOCK_ENDPOINTS.advance, async (request, _reply, deps) => {
    clockOf(deps);
    const hint = `Schema: GET ${deps.urls.base}/openapi.json`;
    const { seconds } = readAdvance.read(request.body ?? {}, hint);
    return renderTestClock(await advanceTestClock(deps, seconds), deps.now());
  });
}

/**
 * A step of a buyer is with a provider for a moment: that must not look like half an hour without an answer. Nor is it
 * made by an old time, where another instance has moved it on meanwhile.
 */
function keepApart(app: FastifyInstance, { gate, look }: TestClock): void {
  // Whoever is still sending is not waited for.
  app.addHook('preHandler', async ({ method, url, is404 }, reply) => {
    if (is404 || method === 'GET' || method === 'HEAD' || LET_THROUGH.some((prefix) => url.startsWith(prefix))) return;
    if (!url.startsWith(NOT_WAITED_FOR)) {
      let leave: (() => void) | undefined;
      let isGone = false;
      reply.raw.once('close', () => {
        isGone = true;
        leave?.();
      });
      leave = await gate.enter();
      if (isGone) leave();
    }
    await look();
  });
}
