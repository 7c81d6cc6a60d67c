import { type IncomingMessage, STATUS_CODES, type Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { FastifyBaseLogger } from 'fastify';
import { type ErrorCode, GatewayError } from '../domain/errors.ts';
import { renderError } from './errors.ts';
import type { RequestObserver } from './follow.ts';

/** How long a refused caller may take to read the answer; nothing more of it is read. */
const LINGER_MS = 1000;
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
  /** What every answer carries. */
  headers: Readonly<Record<string, string>>;
  newRequestId(): string;
  requests: RequestObserver | undefined;
  log: FastifyBaseLogger;
  /** The methods that are served at a path, as the Allow header lists them. */
  allowedAt(path: string): string;
}

/** Answers, in the error envelope, whatever never becomes a request. */
export interface ConnectionGuard {
  /** For what the HTTP parser does not take, and for what comes too slowly. */
  onClientError(error: Error & { code?: string | undefined }, socket: Socket): void;
  watch(server: Server): void;
}

export function guardConnections(options: ConnectionOptions): ConnectionGuard {
  let open = 0;

  function refuse(socket: Duplex, status: number, headers: Record<string, string> = {}): void {
    if (!socket.writable) return;
    const requestId = options.newRequestId();
    options.requests?.refused(status);
    options.log.info({ requestId, status }, 'refused before it was a request');
    socket.end(rawAnswer(status, { ...options.headers, ...headers, 'x-request-id': requestId }));
    // Whoever does not close shall not keep the connection.
    setTimeout(() => socket.destroy(), LINGER_MS).unref();
  }

  return {
    onClientError(error, socket) {
      const { code = '' } = error;
      const target = code === 'HPE_INVALID_METHOD' ? targetIn(error) : undefined;
      if (target === undefined) refuse(socket, STATUS_OF_FAULT[code] ?? 400);
      else refuse(socket, 405, { allow: options.allowedAt(target) });
    },
    watch(server) {
      server.on('connection', (socket) => {
        open += 1;
        socket.once('close', () => (open -= 1));
        if (open > options.maxConnections) refuse(socket, 503, { 'retry-after': String(RETRY_AFTER_SECONDS) });
      });
      // Without a listener Node closes the connection without a word.
      server.on('connect', (_request: IncomingMessage, socket: Duplex) => refuse(socket, 405, { allow: '' }));
      // Node's own answer has no body.
      server.on('checkExpectation', ({ socket }: IncomingMessage) => refuse(socket, 417));
    },
  };
}

/** What a request with an unknown method was for; undefined where it is no request at all. */
function targetIn(error: object): string | undefined {
  if (!('rawPacket' in error) || !Buffer.isBuffer(error.rawPacket)) return undefined;
  return REQUEST_LINE.exec(error.rawPacket.toString('latin1'))?.[1];
}

function rawAnswer(status: number, headers: Record<string, string>): string {
  const { code, message, suggestion } = REFUSALS[status] ?? NOT_HTTP;
  const body = JSON.stringify({ ok: false, error: renderError(new GatewayError(code, message, { suggestion })) });
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]!}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
    ...lines,
    '',
    body,
  ].join('\r\n');
}
