import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { median } from './support/load.ts';
import { launchServer } from './support/process.ts';

const ROUNDS = 7;
const IDLE_MS = 500;
const BARE = new URL('./support/bare-server.ts', import.meta.url);
// The file that `npm start` runs.
const TILLWAY = new URL('../bin/tillway.js', import.meta.url);

/**
 * Measures the time from process start to the first response, and the idle memory, against a bare Fastify process. Every start
 * of Tillway creates a database. The first start fills Node's compile cache, which the later starts use.
 */
export async function benchmarkStart(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'tillway-bench-'));
  const variablesOf = (name: string) => ({
    DATABASE_URL: `sqlite:${join(folder, `${name}.db`)}`,
    XDG_CACHE_HOME: join(folder, 'cache'),
    SHUTDOWN_DELAY: '0',
  });
  const starts: number[] = [];
  const memories: number[] = [];
  let firstStart: number;
  try {
    firstStart = (await ratios(variablesOf('first'))).start;
    for (let round = 0; round < ROUNDS; round++) {
      const { start, memory } = await ratios(variablesOf(String(round)));
      starts.push(start);
      memories.push(memory);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  process.stdout.write(`\nStart time and idle memory, against a bare Fastify process, ${ROUNDS} rounds\n`);
  process.stdout.write(`  first start      ratio ${firstStart.toFixed(2)}\n`);
  process.stdout.write(`  later starts     ratio ${median(starts).toFixed(2)}\n`);
  process.stdout.write(`  idle memory      ratio ${median(memories).toFixed(2)}\n`);
}

async function ratios(variables: Record<string, string>): Promise<{ start: number; memory: number }> {
  const bare = await measure(BARE, {});
  const tillway = await measure(TILLWAY, variables);
  return { start: tillway.startMs / bare.startMs, memory: tillway.memoryMiB / bare.memoryMiB };
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
