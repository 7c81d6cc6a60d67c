import { type Socket, connect } from 'node:net';

export interface RawAnswer {
  status: number;
  /** Names in lower case; of a repeated header the last one. */
  headers: Map<string, string>;
  body: Buffer;
}

export interface RawClient {
  /** Sends bytes as they are. Answers what came back, or, as a string, why no whole answer did. */
  exchange(bytes: Buffer, options: { method: string; last: boolean }): Promise<RawAnswer | string>;
  close(): void;
}

const HEADER_END = '\r\n\r\n';

/** One keep-alive connection that sends whatever it is given, valid or not; made anew where the server ends it. */
export function createRawClient(port: number, timeoutMs: number): RawClient {
  let socket: Socket | undefined;
  let received: Buffer = Buffer.alloc(0);
  let settle: ((outcome: RawAnswer | string) => void) | undefined;
  let method = '';

  function open(): Socket {
    const fresh = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
    fresh.setTimeout(timeoutMs, () => drop(fresh, `no answer within ${timeoutMs} ms`));
    fresh.on('data', (chunk: Buffer) => {
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
      finishWith(fresh, false);
    });
    fresh.on('end', () => {
      finishWith(fresh, true);
      drop(fresh, 'closed without an answer');
    });
    fresh.on('error', (error) => drop(fresh, `closed without an answer: ${error.message}`));
    return fresh;
  }

  function finishWith(from: Socket, ended: boolean): void {
    if (from !== socket || !settle) return;
    const parsed = parseAnswer(received, method, ended);
    if (!parsed) return;
    const { answer, rest } = parsed;
    const done = settle;
    settle = undefined;
    received = Buffer.alloc(0);
    // Further bytes belong to no request of this client.
    if (rest > 0 || answer.headers.get('connection') === 'close') drop(from, '');
    done(answer);
  }

  function drop(from: Socket, reason: string): void {
    from.destroy();
    if (from !== socket) return;
    socket = undefined;
    received = Buffer.alloc(0);
    const waiting = settle;
    settle = undefined;
    waiting?.(reason);
  }

  return {
    exchange(bytes, options) {
      method = options.method;
      socket ??= open();
      const used = socket;
      const outcome = new Promise<RawAnswer | string>((resolve) => (settle = resolve));
      if (options.last) used.end(bytes);
      else used.write(bytes);
      if (!options.last) return outcome;
      return outcome.finally(() => drop(used, ''));
    },
    close() {
      if (socket) drop(socket, 'closed');
    },
  };
}

/** The first whole answer; undefined where more bytes must come. */
function parseAnswer(bytes: Buffer, method: string, ended: boolean): { answer: RawAnswer; rest: number } | undefined {
  const headEnd = bytes.indexOf(HEADER_END);
  if (headEnd === -1) return undefined;
  const [statusLine = '', ...lines] = bytes.toString('latin1', 0, headEnd).split('\r\n');
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(statusLine)?.[1] ?? Number.NaN);
  const start = headEnd + HEADER_END.length;
  // An interim answer, such as 100 Continue.
  if (status < 200) return parseAnswer(bytes.subarray(start), method, ended);
  const headers = new Map(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  const rest = bytes.subarray(start);
  const whole = (body: Buffer, used: number) => ({ answer: { status, headers, body }, rest: rest.length - used });
  if (method === 'HEAD' || status === 204 || status === 304) return whole(Buffer.alloc(0), 0);
  if (headers.get('transfer-encoding') === 'chunked') {
    const chunks = parseChunks(rest);
    return chunks && whole(chunks.body, chunks.used);
  }
  const length = headers.get('content-length');
  if (length === undefined) return ended ? whole(rest, rest.length) : undefined;
  return rest.length < Number(length) ? undefined : whole(rest.subarray(0, Number(length)), Number(length));
}

function parseChunks(bytes: Buffer): { body: Buffer; used: number } | undefined {
  const chunks: Buffer[] = [];
  let at = 0;
  for (;;) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd === -1) return undefined;
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
    const end = lineEnd + 2 + size + 2;
    if (bytes.length < end) return undefined;
    if (size === 0) return { body: Buffer.concat(chunks), used: end };
    chunks.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = end;
  }
}
