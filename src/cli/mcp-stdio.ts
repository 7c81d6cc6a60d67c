import type { Readable, Writable } from 'node:stream';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { type RawRequest, Tillway, TillwayError } from '../../sdk/src/index.ts';
import { inputReader } from '../contract/input-problems.ts';
import type { ActionError } from '../contract/error-contract.ts';
import { GatewayError } from '../domain/gateway-error.ts';
import { VERSION } from '../domain/version.ts';
import { hintOf } from '../http/agent-api.ts';
import { renderError } from '../http/error-responses.ts';
import { createTillwayMcp } from '../mcp/server.ts';
import { type Backend, type Envelope, type Tool, describeTools } from '../mcp/tools.ts';
import type { Operation } from '../operations/operation.ts';
import { OPERATIONS } from '../operations/registry.ts';
import { PatientTransport } from './mcp-transport.ts';

const ACTION_PATH = '/api/agent/actions/';
// The default of SESSION_TTL; the service does not report its value.
const LIFETIME = 'a limited time (24 hours unless the operator says otherwise)';
// The timeout of a request; no call takes longer.
const TIMEOUT_MS = 30_000;
const NOT_TILLWAY = new Set(['connection_failed', 'timed_out', 'unexpected_response', 'method_not_allowed']);
// The message of the service for an unknown path; a missing payment has another message.
const NO_SUCH_PATH = 'There is nothing at this path.';

// The user configures the host; an agent cannot set the key.
const KEY_NEEDED =
  'Stop, and have the user set TILLWAY_API_KEY for "tillway mcp" to an active key of that service (tillway keys create --scope agent).';

/** The dependencies of {@link serveMcp}. */
export interface Surroundings {
  /** Undefined if the service needs no key. */
  apiKey?: string | undefined;
  complain(problem: string): void;
  /** Cryptographically secure. */
  randomBytes(size: number): Uint8Array;
  /** Resolves after that time, or early when the signal aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** Default: the standard input and output. */
  input?: Readable;
  output?: Writable;
}

/** Serves the tools of the service at `url`. Resolves when the host has closed the input and has all answers. */
export async function serveMcp(
  url: string,
  { apiKey, complain, sleep, randomBytes, input, output }: Surroundings,
): Promise<void> {
  // No retries: the agent decides about them.
  const client = new Tillway({ baseUrl: url, maxRetries: 0, timeoutMs: TIMEOUT_MS, apiKey });
  const tools = describeTools(LIFETIME);
  const transport = new PatientTransport((signal) => sleep(TIMEOUT_MS, signal), input, output);
  const backend: Backend = {
    tools,
    allowed: () => allowedBy(url, apiKey),
    newKey: () => `mcp_${Buffer.from(randomBytes(16)).toString('hex')}`,
    run: (operation, sent) => ask(client, url, operation, sent),
  };
  serveStdio(() => createTillwayMcp(backend), { transport, onerror: ({ message }) => complain(message) });
  await transport.closed;
}

/** Runs an operation on the service; its answer is the envelope. */
async function ask(client: Tillway, url: string, operation: Operation, sent: unknown): Promise<Envelope> {
  const { name } = operation;
  try {
    const request = requestOf(operation, sent, url);
    const answer = await client.request(request);
    if (!request.path.startsWith(ACTION_PATH)) return { ok: true, action: name, result: answer };
    if ((answer as Partial<Envelope> | null)?.action === name) return answer as Envelope;
    throw new TillwayError('unexpected_response', 'what answers there is something else.');
  } catch (error) {
    return { ok: false, action: name, error: errorOf(error, name, url) };
  }
}

/** The REST request of an operation. Reads of resources have no body that the service could check, so the input is read here. */
function requestOf(
  { name, input }: Operation,
  sent: unknown,
  url: string,
): Pick<RawRequest, 'method' | 'path' | 'query' | 'body'> {
  const read = () => inputReader(input).read(sent, hintOf(url, name)) as Record<string, string>;
  const gateway = (resource: string, id: string) => `/api/gateway/${resource}/${encodeURIComponent(id)}`;
  switch (name) {
    case 'capabilities':
      return { method: 'GET', path: '/api/agent/capabilities' };
    case 'routes.list':
      read();
      return { method: 'GET', path: '/api/agent/routes' };
    case 'session.get':
      return { method: 'GET', path: gateway('sessions', read()['sessionId']!) };
    case 'session.expire':
      return { method: 'POST', path: `${gateway('sessions', read()['sessionId']!)}/expire` };
    case 'payment.get':
      return { method: 'GET', path: gateway('payments', read()['paymentId']!) };
    case 'payment.list':
      return { method: 'GET', path: '/api/gateway/payments', query: read() };
    case 'refund.create': {
      const { paymentId, ...body } = read();
      return { method: 'POST', path: `${gateway('payments', paymentId!)}/refunds`, body };
    }
    case 'refund.get':
      return { method: 'GET', path: gateway('refunds', read()['refundId']!) };
    default:
      return { method: 'POST', path: ACTION_PATH + name, body: sent };
  }
}

/** Filter for the tools that the service lists for this key. If the service cannot answer, all pass: each call reports why. */
async function allowedBy(url: string, apiKey: string | undefined): Promise<(tool: Tool) => boolean> {
  const protocol = 'io.modelcontextprotocol';
  const client = {
    [`${protocol}/clientInfo`]: { name: 'tillway', version: VERSION },
    [`${protocol}/clientCapabilities`]: {},
  };
  const meta = { [`${protocol}/protocolVersion`]: '2026-07-28', ...client };
  try {
    const response = await fetch(`${url}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/list',
        ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: meta } }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const { result } = (await response.json()) as { result: { tools: { name: string }[] } };
    const names = new Set(result.tools.map(({ name }) => name));
    return ({ listed }) => names.has(listed.name);
  } catch {
    return () => true;
  }
}

function errorOf(error: unknown, operation: string, url: string): ActionError {
  if (error instanceof GatewayError) return renderError(error);
  if (!(error instanceof TillwayError)) throw error;
  const { code, message, field, suggestion, issues } = error;
  if (isOfAnother(error, operation)) {
    return {
      code: 'unavailable',
      message: `No Tillway service answers at ${url}: ${message}`,
      suggestion: `Check that ${url} is the address of the service itself, without a path of its API, and start it with "tillway serve"; another is named with --url or TILLWAY_URL when "tillway mcp" is started. Then send the same again.`,
    };
  }
  const advice = code === 'unauthorized' ? KEY_NEEDED : suggestion;
  return {
    code,
    message,
    ...(field !== undefined && { field }),
    ...(advice !== undefined && { suggestion: advice }),
    ...(issues.length > 0 && { issues: [...issues] }),
  };
}

/** True if the answer is not from Tillway's API. A 404 can mean a missing record, but never a missing operation. */
function isOfAnother({ code, status, message }: TillwayError, operation: string): boolean {
  return NOT_TILLWAY.has(code) || (status === 404 && (OPERATIONS.has(operation) || message === NO_SUCH_PATH));
}
