import { PassThrough, type Readable, type Writable } from 'node:stream';
import type { JSONRPCMessage } from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import type { ActionError } from '../contract/error-contract.ts';
import { VERSION } from '../domain/version.ts';
import { wrapArguments } from '../mcp/arguments.ts';
import { createTillwayMcp } from '../mcp/server.ts';
import { TOOL_NAMES, toolName } from '../mcp/tool-names.ts';
import { type Envelope, describeTools } from '../mcp/tools.ts';

// Default of SESSION_TTL, described when the service does not answer.
const LIFETIME = 'a limited time (24 hours by default)';
// Timeout of a request; the service answers every call sooner.
const TIMEOUT_MS = 30_000;
const IDLE_CHECK_MS = 50;
const PROTOCOL = '2026-07-28';

// Only the user can set the key, in the configuration of the MCP host.
const KEY_NEEDED =
  'Stop, and ask the user to set TILLWAY_API_KEY for "tillway mcp" to an active key of this service (tillway keys create --scope agent).';

interface Service {
  url: string;
  /** Undefined if the service requires no key. */
  apiKey?: string | undefined;
}

/** The dependencies of {@link serveMcp}. */
export interface Surroundings {
  complain(problem: string): void;
  /** Cryptographically secure random bytes. */
  randomBytes(size: number): Uint8Array;
  /** Default: standard input. `output` defaults to standard output. */
  input?: Readable;
  output?: Writable;
}

/** Serves the tools of a service. Resolves when the host has closed the input and all answers are written. */
export async function serveMcp(
  service: Service,
  { complain, randomBytes, input = process.stdin, output }: Surroundings,
): Promise<void> {
  let open = 0;
  const transport = new WrappingTransport(
    endingLate(input, () => open === 0),
    output,
  );
  const closed = Promise.withResolvers<void>();
  const tools = describeTools(LIFETIME);
  const backend = {
    tools,
    async list() {
      const { result } = await ask<{ tools: (typeof tools)[number]['listed'][] }>(service, 'tools/list');
      // If the service does not answer, all tools are listed, and each call then returns the error.
      return result?.tools.filter(({ name }) => TOOL_NAMES.has(name)) ?? tools.map(({ listed }) => listed);
    },
    randomBytes,
    run: ({ name }: { name: string }, sent: unknown) => {
      open += 1;
      return run(service, name, sent).finally(() => (open -= 1));
    },
  };
  serveStdio(() => createTillwayMcp(backend), { transport, onerror: ({ message }) => complain(message) });
  const { onclose } = transport;
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- an MCP property, not a DOM event
  transport.onclose = () => {
    onclose?.();
    closed.resolve();
  };
  await closed.promise;
}

async function run(service: Service, action: string, sent: unknown): Promise<Envelope> {
  if (action === 'capabilities') {
    const params = { uri: 'gateway://capabilities' };
    const { result, error } = await ask<{ contents: { text: string }[] }>(service, 'resources/read', params);
    return error ? { ok: false, action, error } : { ok: true, action, result: JSON.parse(result.contents[0]!.text) };
  }
  const params = { name: toolName(action), arguments: sent };
  const { result, error } = await ask<{ structuredContent: Envelope }>(service, 'tools/call', params);
  return error ? { ok: false, action, error } : result.structuredContent;
}

type Answer<Result> = { result: Result; error?: undefined } | { result?: undefined; error: ActionError };

/** Sends one request to /mcp of the service. Does not retry: the agent decides about retries. */
async function ask<Result>(
  { url, apiKey }: Service,
  method: string,
  params: { name?: string; uri?: string; arguments?: unknown } = {},
): Promise<Answer<Result>> {
  const name = params.name ?? params.uri;
  const meta = {
    'io.modelcontextprotocol/protocolVersion': PROTOCOL,
    'io.modelcontextprotocol/clientInfo': { name: 'tillway', version: VERSION },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  let problem = 'the response is not from Tillway.';
  try {
    const response = await fetch(`${url}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': PROTOCOL,
        'mcp-method': method,
        ...(name !== undefined && { 'mcp-name': name }),
        ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const { jsonrpc, result, error } = (await response.json()) as {
      jsonrpc?: unknown;
      result?: Result;
      error?: { message: string; data?: ActionError };
    };
    if (jsonrpc === '2.0' && result) return { result };
    if (jsonrpc === '2.0' && error?.data) {
      return { error: { ...error.data, ...(error.data.code === 'unauthorized' && { suggestion: KEY_NEEDED }) } };
    }
  } catch (error) {
    const { message, cause = message } = error as Error;
    problem = cause instanceof Error ? cause.message : message;
  }
  return {
    error: {
      code: 'unavailable',
      message: `No Tillway service answers at ${url}: ${problem}`,
      suggestion: `Check that the service runs ("tillway serve") and that ${url} is its base URL, without an API path. --url or TILLWAY_URL of "tillway mcp" sets another URL. Then send the same request again.`,
    },
  };
}

/** Stdio transport that wraps tool arguments before the server validates them. */
class WrappingTransport extends StdioServerTransport {
  override async start(): Promise<void> {
    const deliver = this.onmessage;
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- an MCP property, not a DOM event
    this.onmessage = (message) => deliver?.(wrapArguments(message) as JSONRPCMessage);
    await super.start();
  }
}

/** Delays the end of the input until `isIdle`, because the MCP package drops open requests when its input ends. */
function endingLate(input: Readable, isIdle: () => boolean): PassThrough {
  const late = new PassThrough();
  input.pipe(late, { end: false });
  input.once('end', () => {
    const timer = setInterval(() => {
      if (!isIdle()) return;
      clearInterval(timer);
      late.end();
    }, IDLE_CHECK_MS);
  });
  return late;
}
