import { type Socket, connect } from 'node:net';

export interface LoadOptions {
  port: number;
  connections: number;
  durationMs: number;
  /** Returns a complete HTTP/1.1 request. */
  nextRequest(): string;
}

export interface LoadResult {
  /** Responses per second. */
  rate: number;
  p50Ms: number;
  p99Ms: number;
  /** Number of responses with a status other than 200 and of broken connections. */
  failures: number;
}

const HEADER_END = Buffer.from('\r\n\r\n');

/** Closed-loop load over plain sockets: every connection sends its next request after it has received a response. */
export async function runLoad({ port, connections, durationMs, nextRequest }: LoadOptions): Promise<LoadResult> {
  const latencies: number[] = [];
  let failures = 0;
  const started = performance.now();
  const deadline = started + durationMs;

  function drive(socket: Socket, finish: () => void): void {
    let buffered: Buffer = Buffer.alloc(0);
    let sentAt = 0;
    function send(): void {
      sentAt = performance.now();
      if (sentAt >= deadline) {
        socket.destroy();
        finish();
        return;
      }
      socket.write(nextRequest());
    }
    socket.on('data', (chunk: Buffer) => {
      buffered = buffered.length === 0 ? chunk : Buffer.concat([buffered, chunk]);
      const headerEnd = buffered.indexOf(HEADER_END);
      if (headerEnd === -1) return;
      const head = buffered.toString('latin1', 0, headerEnd);
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
      if (buffered.length < headerEnd + HEADER_END.length + length) return;
      buffered = Buffer.alloc(0);
      latencies.push(performance.now() - sentAt);
      if (!head.startsWith('HTTP/1.1 200')) failures++;
      send();
    });
    socket.on('error', () => {
      failures++;
      finish();
    });
    socket.setNoDelay(true);
    socket.on('connect', send);
  }

  await Promise.all(
    Array.from(
      { length: connections },
      () => new Promise<void>((resolve) => drive(connect(port, '127.0.0.1'), resolve)),
    ),
  );
  const seconds = (performance.now() - started) / 1000;
  latencies.sort((a, b) => a - b);
  return {
    rate: latencies.length / seconds,
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
    failures,
  };
}

/** A complete HTTP/1.1 request, with `body` as JSON if given. */
export function httpRequest(
  method: 'GET' | 'POST',
  path: string,
  body?: string,
  headers: Record<string, string> = {},
): string {
  const lines = Object.entries({ host: '127.0.0.1', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `${method} ${path} HTTP/1.1\r\n${lines.join('')}`;
  if (body === undefined) return `${head}\r\n`;
  return `${head}content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  return quantile(
    values.toSorted((a, b) => a - b),
    0.5,
  );
}
