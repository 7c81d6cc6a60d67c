import { type IncomingMessage, type RequestListener, STATUS_CODES, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyBaseLogger } from 'fastify';
import { type ErrorCode, GatewayError } from '../domain/errors.ts';
import { renderError } from './errors.ts';
import type { RequestObserver } from './follow.ts';
import { destroyLater } from './linger.ts';
import { type Turns, takeTurns } from './turns.ts';

const RETRY_AFTER_SECONDS = 1;
// https://www.rfc-editor.org/rfc/rfc9110#section-5.6.2, before a target and a version: a method that the parser does not know.
const REQUEST_LINE = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+ (\S+) HTTP\/1\.[01]\r\n/;
const STATUS_OF_FAULT: Record<string, number> = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 };

interface Refusal {
  code: ErrorCode;
  message: string;
  suggestion: string;
}

const NOT_HTTP: Refusal = {
  code: 'invalid_input',
  message: 'The request is not valid HTTP/1.1.',
  suggestion: 'Send it with an HTTP client; nothing of it was carried out.',
};

const REFUSALS: Record<number, Refusal> = {
  405: {
    code: 'method_not_allowed',
    message: 'This method is not served here.',
    suggestion: 'Use one of the methods in the Allow header, in capitals.',
  },
  408: {
    code: 'invalid_input',
    message: 'The request did not arrive in time.',
    suggestion: 'Send its headers and its body without a pause. Nothing of it was carried out.',
  },
  417: {
    code: 'invalid_input',
    message: 'The expectation in the Expect header cannot be met.',
    suggestion: 'Send the request without the Expect header.',
  },
  431: {
    code: 'payload_too_large',
    message: 'The headers are larger than 16 KiB.',
    suggestion: 'Send fewer or shorter headers.',
  },
  503: {
    code: 'unavailable',
    message: 'There are too many connections.',
    suggestion: 'Try again in a moment, over a connection that is kept open.',
  },
};

export interface ConnectionOptions {
  /** More connections than these at the same time are refused. */
  maxConnections: number;
  /** How long an answer may lie unread; twice as long at most until its connection is closed. */
  answerTimeoutMs: number;
  /** What every answer carries. */
  headers: Readonly<Record<string, string>>;
  newRequestId(): string;
  requests: RequestObserver | undefined;
  log: FastifyBaseLogger;
  /** The methods that are served at a path, as the Allow header lists them. */
  allowedAt(path: string): string;
}

/** Answers, in the error envelope, whatever never becomes a request. */
export interface ConnectionGuard extends Pick<Turns, 'isLast' | 'settled'> {
  /** For what the HTTP parser does not take, and for what comes too slowly. */
  onClientError(error: Error & { code?: string | undefined }, socket: Socket): void;
  watch(server: Server): void;
  /** Closes those on which no request is under way, also where half a request has come. */
  closeIdle(): void;
}

export function guardConnections(options: ConnectionOptions): ConnectionGuard {
  let watched: Server | undefined;
  const turns = takeTurns(options.answerTimeoutMs, () => watched?.listening === false);
  const sockets = new Set<Socket>();

  /** What goes with a refusal; notes it. */
  function noted(status: number, headers: Record<string, string> = {}): Record<string, string> {
    const requestId = options.newRequestId();
    options.requests?.refused(status);
    options.log.info({ requestId, status }, 'refused before it was a request');
    return { ...options.headers, ...headers, 'x-request-id': requestId };
  }

  function refuse(socket: Socket, status: number, headers?: Record<string, string>): void {
    if (!socket.writable) return;
    socket.end(rawAnswer(status, noted(status, headers)));
    destroyLater(socket);
  }

  /** Refuses what comes after the requests of a connection; answers to those come first, and would be taken for this. */
  function refuseRest(socket: Socket, status: number, headers?: Record<string, string>): void {
    if (!turns.stop(socket)) refuse(socket, status, headers);
  }

  function refuseExpectation(_request: IncomingMessage, response: ServerResponse): void {
    const body = bodyOf(417);
    response.writeHead(417, { ...bodyHeaders(body), ...noted(417) });
    response.end(body);
  }

  return {
    isLast: turns.isLast,
    settled: turns.settled,
    closeIdle() {
      // What has been ended has its last bytes to send.
      for (const socket of sockets) if (socket.writable && !turns.isBusy(socket)) socket.destroy();
    },
    onClientError(error, socket) {
      const { code = '' } = error;
      // Opened ahead and never used: nobody waits for an answer, and one that comes unasked is taken for that to the next request.
      if (code === 'ERR_HTTP_REQUEST_TIMEOUT' && socket.bytesRead === 0) return void socket.destroy();
      const target = code === 'HPE_INVALID_METHOD' ? targetIn(error) : undefined;
      if (target === undefined) refuseRest(socket, STATUS_OF_FAULT[code] ?? 400);
      else refuseRest(socket, 405, { allow: options.allowedAt(target) });
    },
    watch(server) {
      watched = server;
      // Whoever has sent all that he wants to send, and says so, still waits for the answers.
      Object.assign(server, { httpAllowHalfOpen: true });
      const attach = takeListener(server, 'connection') as (this: Server, socket: Socket) => void;
      const handle = takeListener(server, 'request') as RequestListener;
      server.on('connection', (socket) => {
        // Nothing is read as a request of a connection that is refused.
        if (sockets.size >= options.maxConnections) {
          socket.on('error', () => {}).resume();
          refuse(socket, 503, { 'retry-after': String(RETRY_AFTER_SECONDS) });
          return;
        }
        sockets.add(socket);
        socket.once('close', () => sockets.delete(socket));
        attach.call(server, socket);
      });
      server.on('request', (request, response) => turns.take(request, response, handle));
      // Without a listener Node closes the connection without a word.
      server.on('connect', ({ socket }: IncomingMessage) => refuseRest(socket, 405, { allow: '' }));
      // Node's own answer has no body.
      server.on('checkExpectation', (request, response) => turns.take(request, response, refuseExpectation));
      // Idle for too long, or what it is sent is not read. Whoever waits for an answer, or for more of one, may; but of
      // those who send nothing more most have left.
      server.on('timeout', (socket) => {
        if (!turns.isBusy(socket) || socket.writableLength > 0 || socket.readableEnded) socket.destroy();
      });
    },
  };
}

/** Node's own listener, or Fastify's: called only for what is let through. */
function takeListener(server: Server, event: 'connection' | 'request'): unknown {
  const listeners = server.listeners(event);
  if (listeners.length !== 1) throw new Error(`a server has one listener for ${event}, not ${listeners.length}`);
  server.removeAllListeners(event);
  return listeners[0];
}

/** What a request with an unknown method was for; undefined where it is no request at all. */
function targetIn(error: object): string | undefined {
  if (!('rawPacket' in error) || !Buffer.isBuffer(error.rawPacket)) return undefined;
  const parsed = 'bytesParsed' in error ? Number(error.bytesParsed) : 0;
  // Of the line where the parser stopped: those before are of requests that it has taken.
  const begin = error.rawPacket.subarray(0, parsed).lastIndexOf('\n') + 1;
  return REQUEST_LINE.exec(error.rawPacket.toString('latin1', begin))?.[1];
}

function rawAnswer(status: number, headers: Record<string, string>): string {
  const body = bodyOf(status);
  const lines = Object.entries({ ...bodyHeaders(body), ...headers }).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status]!}`, ...lines, '', body].join('\r\n');
}

function bodyOf(status: number): string {
  const { code, message, suggestion } = REFUSALS[status] ?? NOT_HTTP;
  return JSON.stringify({ ok: false, error: renderError(new GatewayError(code, message, { suggestion })) });
}

function bodyHeaders(body: string): Record<string, string> {
  return {
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  };
}
