import { createMcpHandler } from '@modelcontextprotocol/server';
import { hintOf, withSchemaHint } from '../http/agent.ts';
import type { AppDeps } from '../http/app.ts';
import { refusalOf, renderError } from '../http/errors.ts';
import { assertAllowed, isAllowed } from '../operations/access/caller.ts';
import type { Operation } from '../operations/operation.ts';
import { wrapArguments } from './arguments.ts';
import { createTillwayMcp } from './server.ts';
import { toolName } from './tool-names.ts';
import { type Envelope, describeTools } from './tools.ts';
import { REQUEST_ID } from './web.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/**
 * Answers requests of either generation of the protocol, each by itself; `body` is what was parsed of it, `own` what its
 * caller may see and change.
 */
export function createHandler(deps: AppDeps): (request: Request, body: unknown, own: AppDeps) => Promise<Response> {
  const underWay = new Map<string | undefined, AppDeps>();
  const tools = describeTools(inWords(deps.sessionTtlMs));
  const { fetch } = createMcpHandler(
    ({ requestInfo }) => {
      const requestId = requestInfo?.headers.get(REQUEST_ID) ?? undefined;
      const own = underWay.get(requestId);
      if (!own) throw new Error('a request of the protocol was not admitted');
      return createTillwayMcp({
        tools,
        allowed: () => Promise.resolve(({ operation }) => isAllowed(own, operation.access)),
        newKey: () => `mcp_${Buffer.from(deps.randomBytes(16)).toString('hex')}`,
        run: (operation, sent) => run(own, operation, sent, requestId),
      });
    },
    { onerror: (error) => deps.log.debug({ reason: error.message }, 'refused by the protocol') },
  );
  return async (request, body, own) => {
    const requestId = request.headers.get(REQUEST_ID) ?? undefined;
    underWay.set(requestId, own);
    try {
      return await fetch(request, { parsedBody: wrapArguments(body) });
    } finally {
      underWay.delete(requestId);
    }
  };
}

/** Runs an operation as the REST API would, to the same envelope. */
async function run(deps: AppDeps, operation: Operation, sent: unknown, requestId?: string): Promise<Envelope> {
  const { name } = operation;
  const { base } = deps.urls;
  try {
    assertAllowed(deps, operation.access);
    const { result } = await operation.execute(deps, sent, hintOf(base, name));
    return { ok: true, action: name, result };
  } catch (error) {
    const log = deps.log.child({ requestId, tool: toolName(name) });
    return { ok: false, action: name, error: renderError(refusalOf(withSchemaHint(error, name, base), log)) };
  }
}

/** A time in the largest unit that gives a whole number. */
function inWords(ms: number): string {
  if (ms % HOUR_MS === 0) return `${ms / HOUR_MS} hours`;
  return ms % MINUTE_MS === 0 ? `${ms / MINUTE_MS} minutes` : `${ms / 1000} seconds`;
}
