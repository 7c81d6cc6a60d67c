import { type Socket, connect } from 'node:net';

export interface Load {
  port: number;
  connections: number;
  durationMs: number;
  /** The bytes of one whole HTTP/1.1 request. */
  nextRequest(): string;
}

export interface LoadResult {
  /** Answers a second. */
  rate: number;
  p50Ms: number;
  p99Ms: number;
  /** Answers other than 200. */
  failures: number;
}

const HEADER_END = Buffer.from('\r\n\r\n');

/** A closed loop over plain sockets: every connection sends the next request when it has its answer. */
export async function runLoad({ port, connections, durationMs, nextRequest }: Load): Promise<LoadResult> {
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

/** The bytes of a request with a JSON body, or of a GET without one. */
export function httpRequest(method: 'GET' | 'POST', path: string, body?: string): string {
  const head = `${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n`;
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
