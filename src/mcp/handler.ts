import { createMcpHandler } from '@modelcontextprotocol/server';
import { hintOf, withSchemaHint } from '../http/agent-api.ts';
import type { AppDeps } from '../http/app.ts';
import { refusalOf, renderError } from '../http/error-responses.ts';
import { withAudit } from '../operations/access/audit.ts';
import { assertAllowed, isAllowed } from '../operations/access/caller.ts';
import type { Operation } from '../operations/operation.ts';
import { wrapArguments } from './arguments.ts';
import { createTillwayMcp } from './server.ts';
import { toolName } from './tool-names.ts';
import { type Envelope, describeTools } from './tools.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Creates a handler of MCP requests, for the current and the legacy protocol versions. `own`: restricted dependencies of the caller. */
export function createHandler(deps: AppDeps): (request: Request, body: unknown, own: AppDeps) => Promise<Response> {
  const tools = describeTools(inWords(deps.sessionTtlMs));
  const { fetch } = createMcpHandler(
    ({ authInfo }) => {
      const own = authInfo!.extra!['deps'] as AppDeps;
      return createTillwayMcp({
        tools,
        list: async () => tools.filter(({ operation }) => isAllowed(own, operation.access)).map(({ listed }) => listed),
        randomBytes: deps.randomBytes,
        run: (operation, sent) => run(own, operation, sent),
      });
    },
    { onerror: (error) => deps.log.debug({ reason: error.message }, 'MCP request rejected') },
  );
  // `authInfo` only passes the dependencies to the factory. The API key was already checked.
  return (request, body, own) =>
    fetch(request, {
      parsedBody: wrapArguments(body),
      authInfo: { token: '', clientId: '', scopes: [], extra: { deps: own } },
    });
}

async function run(deps: AppDeps, operation: Operation, sent: unknown): Promise<Envelope> {
  const { name } = operation;
  const { base } = deps.urls;
  try {
    const execute = async (own: AppDeps) => {
      assertAllowed(own, operation.access);
      return operation.execute(own, sent, hintOf(base, name));
    };
    const { action } = operation;
    const { result } = await (action ? withAudit(deps, { action, kind: 'change' }, execute) : execute(deps));
    return { ok: true, action: name, result };
  } catch (error) {
    const log = deps.log.child({ tool: toolName(name) });
    return { ok: false, action: name, error: renderError(refusalOf(withSchemaHint(error, name, base), log)) };
  }
}

/** Duration as text, in the largest unit that gives a whole number. */
function inWords(ms: number): string {
  const inUnit = (count: number, unit: string) => `${count} ${unit}${count === 1 ? '' : 's'}`;
  if (ms % HOUR_MS === 0) return inUnit(ms / HOUR_MS, 'hour');
  return ms % MINUTE_MS === 0 ? inUnit(ms / MINUTE_MS, 'minute') : inUnit(ms / 1000, 'second');
}
