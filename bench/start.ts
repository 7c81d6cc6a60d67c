import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Measured } from './support/goals.ts';
import { median } from './support/load.ts';
import { launchServer } from './support/process.ts';

const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 8);
const IDLE_MS = 500;
const BARE = new URL('./support/bare-server.ts', import.meta.url);
// The file that `npm start` runs.
const TILLWAY = new URL('../bin/tillway.js', import.meta.url);

/**
 * Measures the time from process start to the first response, and the idle memory, against a bare Fastify process. Every start
 * of Tillway creates a database. The first start fills Node's compile cache, which the later starts use.
 */
export async function benchmarkStart(): Promise<Measured[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tillway-bench-'));
  const variablesOf = (name: string) => ({
    DATABASE_URL: `sqlite:${join(folder, `${name}.db`)}`,
    XDG_CACHE_HOME: join(folder, 'cache'),
    SHUTDOWN_DELAY: '0',
  });
  const starts: number[] = [];
  const memories: number[] = [];
  const twins: number[] = [];
  let firstStart: number;
  try {
    firstStart = (await ratios(variablesOf('first'))).start;
    for (let round = 0; round < ROUNDS; round++) {
      const { start, memory, twin } = await ratios(variablesOf(String(round)));
      starts.push(start);
      twins.push(twin);
      memories.push(memory);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  process.stdout.write(`\nStart time and idle memory, against a bare Fastify process, ${ROUNDS} rounds\n`);
  process.stdout.write(`  first start      ratio ${firstStart.toFixed(2)}\n`);
  process.stdout.write(`  later starts     ratio ${median(starts).toFixed(2)}\n`);
  process.stdout.write(`  idle memory      ratio ${median(memories).toFixed(2)}\n`);
  const twin = median(twins);
  return [
    { name: 'Later starts', value: median(starts), twin },
    { name: 'Idle memory', value: median(memories), twin },
  ];
}

async function ratios(variables: Record<string, string>) {
  const bare = await measure(BARE, {});
  const tillway = await measure(TILLWAY, variables);
  const twin = await measure(BARE, {});
  return {
    start: tillway.startMs / bare.startMs,
    memory: tillway.memoryMiB / bare.memoryMiB,
    twin: twin.startMs / bare.startMs,
  };
}

async function measure(file: URL, variables: Record<string, string>) {
  const server = await launchServer(file, variables);
  await sleep(IDLE_MS);
  const measured = { startMs: server.startMs, memoryMiB: server.memoryMiB() };
  // Node writes its compile cache only when the process exits by itself.
  const exited = once(server.process, 'exit');
  server.process.kill('SIGTERM');
  await exited;
  return measured;
}

if (import.meta.main) await benchmarkStart();
