import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyBaseLogger } from 'fastify';
import { type ErrorCode, GatewayError } from '../domain/gateway-error.ts';
import { renderError } from './error-responses.ts';
import type { RequestObserver } from './follow.ts';

// An import of node:http would also load Node's HTTP client, and the start would take 10 % longer.
const { STATUS_CODES, createServer } = process.getBuiltinModule('node:http');

/** Timeout of idle connections, and of connections that transfer no byte while a request is in progress. */
const IDLE_TIMEOUT_MS = 65_000;
const MAX_HEADER_BYTES = 16 * 1024;
const CONNECTION_CHECK_MS = 1000;
/** Return value of `onIncoming` after which Node's parser skips the rest of the received bytes. */
const STOP_PARSING = 2;
// Request line with any method, even if Node's parser does not know the method: https://www.rfc-editor.org/rfc/rfc9110#section-5.6.2
const REQUEST_LINE = /^(?:\r\n)*[!#$%&'*+.^_`|~0-9A-Za-z-]+ (\S+) HTTP\/1\.[01]\r\n/;

type Refusal = [code: ErrorCode, message: string, suggestion: string];

const NOT_HTTP: Refusal = ['invalid_input', 'The request is not valid HTTP/1.1.', 'Send it with an HTTP client.'];
const REFUSALS: Record<number, Refusal> = {
  405: [
    'method_not_allowed',
    'This path does not support this method.',
    'Use a method of the Allow header, in upper case.',
  ],
  408: ['invalid_input', 'The request did not arrive in time.', 'Send headers and body without pauses.'],
  431: ['payload_too_large', 'The headers are larger than 16 KiB.', 'Send fewer or shorter headers.'],
};
const STATUS_OF_FAULT: Record<string, number> = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 };

/** Options of {@link createConnections}. */
export interface ServerOptions {
  maxConnections: number;
  headersTimeoutMs: number;
  requestTimeoutMs: number;
  /** Headers of every response. */
  headers: Readonly<Record<string, string>>;
  newRequestId(): string;
  requests: RequestObserver | undefined;
  log: FastifyBaseLogger;
  /** Returns the methods of a path, in the format of the Allow header. */
  allowedAt(path: string): string;
}

/** HTTP connections of an app, with their limits and the requests in progress. */
export type Connections = ReturnType<typeof createConnections>;

/** Socket of Node's HTTP server, with an internal callback of the parser; its return value decides whether parsing continues. */
interface ParsedSocket extends Socket {
  parser?: { onIncoming(request: IncomingMessage, shouldKeepAlive: boolean): number };
}

/** Creates the HTTP server of an app: limits, rejection of invalid HTTP, and a view of the requests in progress. */
export function createConnections(options: ServerOptions) {
  /**
   * The response in progress of each open connection. The entry stays until the connection closes: V8 reallocates the table of a map
   * whose entries are often added and deleted, and each old table references the next one, and so keeps its requests until a major
   * collection.
   */
  const responses = new Map<Socket, ServerResponse | undefined>();
  const inProgress = () => Array.from(responses.values()).filter((response) => response !== undefined);

  /**
   * Closes connections that pipeline requests. Browsers, proxies and common HTTP clients send a request only after the response to
   * the previous request. Without this check, Node would start about 2,400 pipelined requests of 64 KiB in one turn.
   */
  function refusePipelining(socket: ParsedSocket): void {
    const { parser } = socket;
    if (!parser) return;
    const { onIncoming } = parser;
    parser.onIncoming = (request, shouldKeepAlive) => {
      if (socket.writable && !responses.get(socket)) return onIncoming(request, shouldKeepAlive);
      noteRefusal(400);
      socket.destroy();
      return STOP_PARSING;
    };
  }

  function noteRefusal(status: number, requestId = options.newRequestId()): string {
    options.requests?.refused(status);
    options.log.info({ requestId, status }, 'rejected invalid HTTP');
    return requestId;
  }

  function refuse(socket: Socket, status: number, headers: Record<string, string> = {}): void {
    const response = responses.get(socket);
    // Closes without a response if an earlier request is unanswered: the client would treat the response as its answer.
    if (!socket.writable || response?.headersSent || response?.req.complete) return void socket.destroy();
    const requestId = noteRefusal(status);
    socket.end(rawAnswer(status, { ...options.headers, ...headers, 'x-request-id': requestId }));
    socket.destroySoon();
  }

  return {
    serverFactory(this: void, handle: RequestListener): Server {
      const server = createServer({
        headersTimeout: options.headersTimeoutMs,
        requestTimeout: options.requestTimeoutMs,
        keepAliveTimeout: IDLE_TIMEOUT_MS,
        connectionsCheckingInterval: CONNECTION_CHECK_MS,
        maxHeaderSize: MAX_HEADER_BYTES,
        // The app rejects a missing Host header itself, with an error in the format of the API.
        requireHostHeader: false,
      });
      server.maxConnections = options.maxConnections;
      server.timeout = IDLE_TIMEOUT_MS;
      const onRequest: RequestListener = (request, response) => {
        const { socket } = request;
        responses.set(socket, response);
        response.once('close', () => {
          if (responses.has(socket)) responses.set(socket, undefined);
        });
        handle(request, response);
      };
      // Ignores unknown expectations, which HTTP allows: https://www.rfc-editor.org/rfc/rfc9110#section-10.1.1
      server.on('request', onRequest).on('checkExpectation', onRequest);
      server.on('connection', (socket: ParsedSocket) => {
        refusePipelining(socket);
        socket.once('close', () => responses.delete(socket));
      });
      server.on('connect', ({ socket }: IncomingMessage) => refuse(socket, 405, { allow: '' }));
      server.on('drop', () => noteRefusal(503));
      return server;
    },
    /** Answers requests that Node's parser rejects, or that arrive too slowly, with an error in the format of the API. */
    clientErrorHandler(this: void, error: Error & { code?: string }, socket: Socket): void {
      const { code = '' } = error;
      // Closes a connection that never sent a byte without a response.
      if (code === 'ERR_HTTP_REQUEST_TIMEOUT' && socket.bytesRead === 0) return void socket.destroy();
      const target = code === 'HPE_INVALID_METHOD' ? targetIn(error) : undefined;
      if (target === undefined) refuse(socket, STATUS_OF_FAULT[code] ?? 400);
      else refuse(socket, 405, { allow: options.allowedAt(target) });
    },
    hasRequests: () => inProgress().length > 0,
    /** Resolves once all requests in progress are answered or their connections are closed. */
    async answered(): Promise<void> {
      const closed = (response: ServerResponse) => new Promise((resolve) => response.once('close', resolve));
      await Promise.all(inProgress().map(closed));
    },
  };
}

/** Target of a request with an unknown method; undefined if the bytes are not a request line. */
function targetIn(error: object): string | undefined {
  if (!('rawPacket' in error) || !Buffer.isBuffer(error.rawPacket)) return undefined;
  return REQUEST_LINE.exec(error.rawPacket.toString('latin1'))?.[1];
}

function rawAnswer(status: number, headers: Record<string, string>): string {
  const [code, message, suggestion] = REFUSALS[status] ?? NOT_HTTP;
  const body = JSON.stringify({ ok: false, error: renderError(new GatewayError(code, message, { suggestion })) });
  const lines = Object.entries({
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    connection: 'close',
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]!}\r\n${lines.join('')}\r\n${body}`;
}
