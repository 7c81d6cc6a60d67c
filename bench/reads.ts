import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fillPayments } from './support/fill.ts';
import type { Measured } from './support/goals.ts';
import { httpRequest, median, runLoad } from './support/load.ts';
import { launchServer } from './support/process.ts';

const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 8);
const SLICE_MS = 600;
const WARM_UP_MS = 1200;
const CONNECTIONS = 32;
const PAYMENTS = 10_000;

/** Measures GET of one payment and of 20 payments against a bare Fastify server that sends a prepared response of the same shape. */
export async function benchmarkReads(): Promise<Measured[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tillway-bench-'));
  const path = join(folder, 'bench.db');
  const { middle } = await fillPayments(path, PAYMENTS);
  const tillway = await launchServer(new URL('../src/main.ts', import.meta.url), {
    DATABASE_URL: `sqlite:${path}`,
  });
  const echo = await launchServer(new URL('./support/echo-server.ts', import.meta.url), {});
  const twin = await launchServer(new URL('./support/echo-server.ts', import.meta.url), {});
  const measured: Measured[] = [];
  try {
    process.stdout.write(`\nReads, ${CONNECTIONS} connections, ${ROUNDS} rounds of ${SLICE_MS} ms, alternating\n`);
    for (const [name, path, baseline] of [
      ['GET payment', `/api/gateway/payments/${middle}`, '/payment'],
      ['GET 20 payments', `/api/gateway/payments?startingAfter=${middle}`, '/list'],
    ] as const) {
      const ratios: number[] = [];
      const latencies: number[] = [];
      const twins: number[] = [];
      await load(tillway.port, path, WARM_UP_MS);
      for (const { port } of [echo, twin]) await load(port, baseline, WARM_UP_MS);
      for (let round = 0; round < ROUNDS; round++) {
        const ours = await load(tillway.port, path, SLICE_MS);
        const theirs = await load(echo.port, baseline, SLICE_MS);
        twins.push((await load(twin.port, baseline, SLICE_MS)).rate / theirs.rate);
        ratios.push(ours.rate / theirs.rate);
        latencies.push(ours.p99Ms / theirs.p99Ms);
      }
      measured.push({ name, value: median(ratios), twin: median(twins) });
      process.stdout.write(
        `  ${name.padEnd(16)} ratio ${median(ratios).toFixed(2)}  p99 ratio ${median(latencies).toFixed(2)}\n`,
      );
    }
  } finally {
    await Promise.all([tillway, echo, twin].map((server) => server.stop()));
    rmSync(folder, { recursive: true, force: true });
  }
  return measured;
}

async function load(port: number, path: string, durationMs: number) {
  const request = httpRequest('GET', path);
  const result = await runLoad({ port, connections: CONNECTIONS, durationMs, nextRequest: () => request });
  if (result.failures > 0) throw new Error(`${path}: ${result.failures} requests failed`);
  return result;
}

if (import.meta.main) await benchmarkReads();
