import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { type RawRequest, type Tillway, TillwayError } from '../../sdk/src/index.ts';
import { inputReader } from '../contract/problems.ts';
import type { ActionError } from '../contract/resources.ts';
import { GatewayError } from '../domain/errors.ts';
import { hintOf } from '../http/agent.ts';
import { renderError } from '../http/errors.ts';
import { createTillwayMcp } from '../mcp/server.ts';
import { type Envelope, describeTools } from '../mcp/tools.ts';
import type { Operation } from '../operations/operation.ts';

// As SESSION_TTL is where nobody sets it; no answer of the service says what it is there.
const LIFETIME = 'a limited time (24 hours unless the operator says otherwise)';
const NOT_TILLWAY = new Set(['connection_failed', 'timed_out', 'unexpected_response']);

/** Serves the tools of the service at `url`; resolves when the host closes the standard input. */
export async function serveMcp(client: Tillway, url: string, complain: (problem: string) => void): Promise<void> {
  const tools = describeTools(LIFETIME);
  const { promise: closed, resolve: close } = Promise.withResolvers<void>();
  const transport = new (class extends StdioServerTransport {
    override async close(): Promise<void> {
      await super.close();
      close();
    }
  })();
  serveStdio(() => createTillwayMcp({ tools, run: (operation, sent) => ask(client, url, operation, sent) }), {
    transport,
    onerror: ({ message }) => complain(message),
  });
  await closed;
}

/** Has the service run an operation: its answer is the envelope. */
async function ask(client: Tillway, url: string, operation: Operation, sent: unknown): Promise<Envelope> {
  const { name } = operation;
  try {
    const request = requestOf(operation, sent, url);
    // Whether something is worth another try is for the agent to say.
    const answer = await client.request({ ...request, maxRetries: 0 });
    if (request.method === 'GET') return { ok: true, action: name, result: answer };
    if ((answer as Partial<Envelope> | null)?.action === name) return answer as Envelope;
    throw new TillwayError('unexpected_response', 'what answers there is something else.');
  } catch (error) {
    return { ok: false, action: name, error: errorOf(error, url) };
  }
}

/** The operation over REST. What is a resource there has no body that the service could check. */
function requestOf(
  { name, input }: Operation,
  sent: unknown,
  url: string,
): Pick<RawRequest, 'method' | 'path' | 'body'> {
  const read = () => inputReader(input).read(sent, hintOf(url, name));
  switch (name) {
    case 'capabilities':
      return { method: 'GET', path: '/api/agent/capabilities' };
    case 'routes.list':
      read();
      return { method: 'GET', path: '/api/agent/routes' };
    case 'payment.get': {
      const { paymentId } = read() as { paymentId: string };
      return { method: 'GET', path: `/api/gateway/payments/${encodeURIComponent(paymentId)}` };
    }
    default:
      return { method: 'POST', path: `/api/agent/actions/${name}`, body: sent };
  }
}

function errorOf(error: unknown, url: string): ActionError {
  if (error instanceof GatewayError) return renderError(error);
  if (!(error instanceof TillwayError)) throw error;
  const { code, message, field, suggestion, issues } = error;
  if (NOT_TILLWAY.has(code)) {
    return {
      code: 'unavailable',
      message: `No Tillway service answers at ${url}: ${message}`,
      suggestion: `Start one with "tillway serve", or name another with --url or TILLWAY_URL when "tillway mcp" is started; then send the same again.`,
    };
  }
  return {
    code,
    message,
    ...(field !== undefined && { field }),
    ...(suggestion !== undefined && { suggestion }),
    ...(issues.length > 0 && { issues: [...issues] }),
  };
}
