import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Measured } from './support/goals.ts';
import { httpRequest, median, runLoad } from './support/load.ts';
import { launchServer } from './support/process.ts';
import { sessionBody } from './support/session-body.ts';

const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 8);
const SLICE_MS = 1000;
const WARM_UP_MS = 2000;
const sessionRequest = () => httpRequest('POST', '/api/gateway/sessions', JSON.stringify(sessionBody()));

/**
 * Measures POST sessions, with durable writes, against `echo`, a server that only parses and validates the same body. `twin` is
 * a second echo server, which shows the noise.
 */
export async function benchmarkSessions(): Promise<Measured[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tillway-bench-'));
  const servers = {
    tillway: await launchServer(new URL('../src/main.ts', import.meta.url), {
      DATABASE_URL: `sqlite:${join(folder, 'bench.db')}`,
    }),
    echo: await launchServer(new URL('./support/echo-server.ts', import.meta.url), {}),
    twin: await launchServer(new URL('./support/echo-server.ts', import.meta.url), {}),
  };
  try {
    const measured: Measured[] = [];
    for (const connections of [64, 8] as const) measured.push(...(await compare(servers, connections)));
    return measured;
  } finally {
    await Promise.all(Object.values(servers).map((server) => server.stop()));
    rmSync(folder, { recursive: true, force: true });
  }
}

type Servers = Record<'tillway' | 'echo' | 'twin', Awaited<ReturnType<typeof launchServer>>>;

async function compare(servers: Servers, connections: 64 | 8): Promise<Measured[]> {
  const names = ['tillway', 'echo', 'twin'] as const;
  for (const name of names) await slice(servers, name, connections, WARM_UP_MS);
  const results: Record<(typeof names)[number], Awaited<ReturnType<typeof slice>>[]> = {
    tillway: [],
    echo: [],
    twin: [],
  };
  for (let round = 0; round < ROUNDS; round++) {
    const order = round % 2 === 0 ? names : names.toReversed();
    for (const name of order) results[name].push(await slice(servers, name, connections, SLICE_MS));
  }
  const ratio = (name: (typeof names)[number]) =>
    median(results[name].map(({ rate }, round) => rate / results.echo[round]!.rate));
  process.stdout.write(
    `\nPOST sessions, ${connections} connections, ${ROUNDS} rounds of ${SLICE_MS} ms, alternating\n`,
  );
  for (const name of names) {
    const p50 = median(results[name].map(({ p50Ms }) => p50Ms));
    const p99 = median(results[name].map(({ p99Ms }) => p99Ms));
    const cpu = median(results[name].map(({ cpuMicros }) => cpuMicros));
    process.stdout.write(
      `  ${name.padEnd(8)} ratio ${ratio(name).toFixed(2)}  p50 ${p50.toFixed(2)} ms  p99 ${p99.toFixed(2)} ms  cpu ${cpu.toFixed(0)} us/request\n`,
    );
  }
  const twin = ratio('twin');
  const slowest = median(results.tillway.map(({ p99Ms }, round) => p99Ms / results.echo[round]!.p99Ms));
  return [
    { name: `POST sessions, ${connections} connections`, value: ratio('tillway'), twin },
    ...(connections === 64 ? [{ name: 'POST sessions, 64 connections, p99', value: slowest, twin } as const] : []),
  ];
}

async function slice(servers: Servers, name: keyof Servers, connections: number, durationMs: number) {
  const server = servers[name];
  const cpuBefore = server.cpuMs();
  const result = await runLoad({ port: server.port, connections, durationMs, nextRequest: sessionRequest });
  if (result.failures > 0) throw new Error(`${name}: ${result.failures} requests failed`);
  const requests = (result.rate * durationMs) / 1000;
  return { ...result, cpuMicros: ((server.cpuMs() - cpuBefore) * 1000) / requests };
}

if (import.meta.main) await benchmarkSessions();
