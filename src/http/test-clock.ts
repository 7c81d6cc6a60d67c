import type { FastifyInstance } from 'fastify';
import { TEST_CLOCK_ENDPOINTS, renderTestClock } from '../contract/test-clock.ts';
import { advanceTestClock, clockOf, readTestClock } from '../operations/advance-time.ts';
import type { TestClock } from '../operations/test-clock.ts';
import { apiPart } from './api-part.ts';
import type { Part } from './app.ts';

// What the workers themselves ask of this service, by way of the simulated provider, is theirs to wait for.
const LET_THROUGH = ['/simulator/api/', '/api/providers/', '/api/gateway/test-clock'];
// A call may be one of the test clock itself.
const NOT_WAITED_FOR = '/mcp';

/** Time that a developer moves; refused where the service has no test clock. */
export const testClockApi: Part = (app, unrestricted) => {
  if (unrestricted.testClock) keepApart(app, unrestricted.testClock);
  testClockEndpoints(app, unrestricted);
};

const testClockEndpoints = apiPart((serve) => {
  serve(TEST_CLOCK_ENDPOINTS.getTestClock, async ({ deps }) => renderTestClock(await readTestClock(deps), deps.now()));
  serve(TEST_CLOCK_ENDPOINTS.advanceTestClock, async (call) => {
    const { deps } = call;
    // A service without a test clock refuses every body alike.
    clockOf(deps);
    return renderTestClock(await advanceTestClock(deps, call.body.seconds), deps.now());
  });
});

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
