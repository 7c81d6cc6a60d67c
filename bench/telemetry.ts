import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Measured } from './support/goals.ts';
import { httpRequest, median, runLoad } from './support/load.ts';
import { launchServer } from './support/process.ts';
import { sessionBody } from './support/session-body.ts';

const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 12);
const SLICE_MS = 1000;
const WARM_UP_MS = 2000;
const CONNECTIONS = 64;
const KEY = `sk_sandbox_${'k'.repeat(43)}`;
const NAMES = ['off', 'twin', 'usual', 'metrics', 'traced'] as const;
type Name = (typeof NAMES)[number];

/**
 * Measures POST sessions with metrics and traces against a service without telemetry (`off`). `twin` is a second service without
 * telemetry, which shows the noise. `usual` has metrics, the log of every request, and callers with an API key. `traced` sends metrics
 * and a trace of every request.
 */
export async function benchmarkTelemetry(): Promise<Measured[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tillway-bench-'));
  const collector = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'));
  });
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
  const address = collector.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const traces = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${address.port}` };
  const variables: Record<Name, Record<string, string>> = {
    off: {},
    twin: {},
    usual: { METRICS_PORT: '0', LOG_LEVEL: 'info', BOOTSTRAP_API_KEYS: KEY },
    metrics: { METRICS_PORT: '0' },
    traced: { METRICS_PORT: '0', ...traces },
  };
  const servers = new Map<Name, Awaited<ReturnType<typeof launchServer>>>();
  try {
    for (const name of NAMES) {
      const DATABASE_URL = `sqlite:${join(folder, `${name}.db`)}`;
      servers.set(
        name,
        await launchServer(new URL('../src/main.ts', import.meta.url), { DATABASE_URL, ...variables[name] }),
      );
    }
    return await compare(servers);
  } finally {
    await Promise.all([...servers.values()].map((server) => server.stop()));
    collector.closeAllConnections();
    await new Promise((resolve) => collector.close(resolve));
    rmSync(folder, { recursive: true, force: true });
  }
}

async function compare(servers: ReadonlyMap<Name, Awaited<ReturnType<typeof launchServer>>>): Promise<Measured[]> {
  async function slice(name: Name, durationMs: number): Promise<{ rate: number; cpuMicros: number }> {
    const server = servers.get(name)!;
    const cpuBefore = server.cpuMs();
    const headers: Record<string, string> = name === 'usual' ? { authorization: `Bearer ${KEY}` } : {};
    const nextRequest = () => httpRequest('POST', '/api/gateway/sessions', JSON.stringify(sessionBody()), headers);
    const { rate, failures } = await runLoad({ port: server.port, connections: CONNECTIONS, durationMs, nextRequest });
    if (failures > 0) throw new Error(`${name}: ${failures} requests failed`);
    return { rate, cpuMicros: ((server.cpuMs() - cpuBefore) * 1000) / ((rate * durationMs) / 1000) };
  }

  for (const name of NAMES) await slice(name, WARM_UP_MS);
  const rounds: Record<Name, { rate: number; cpuMicros: number }>[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const found: Partial<Record<Name, { rate: number; cpuMicros: number }>> = {};
    for (const name of round % 2 === 0 ? NAMES : NAMES.toReversed()) found[name] = await slice(name, SLICE_MS);
    rounds.push(found as Record<Name, { rate: number; cpuMicros: number }>);
  }
  process.stdout.write(
    `\nPOST sessions with and without telemetry, ${CONNECTIONS} connections, ${ROUNDS} rounds of ${SLICE_MS} ms\n`,
  );
  for (const name of NAMES) {
    const ratio = median(rounds.map((each) => each[name].rate / each.off.rate));
    const cpu = median(rounds.map((each) => each[name].cpuMicros));
    const rate = median(rounds.map((each) => each[name].rate));
    process.stdout.write(
      `  ${name.padEnd(10)} ratio ${ratio.toFixed(2)}  ${rate.toFixed(0)} a second  cpu ${cpu.toFixed(0)} us/request\n`,
    );
  }
  const ratioOf = (name: Name) => median(rounds.map((each) => each[name].rate / each.off.rate));
  const name = 'POST sessions with key, metrics and log, relative to without';
  return [{ name, value: ratioOf('usual'), twin: ratioOf('twin') }];
}

if (import.meta.main) await benchmarkTelemetry();
