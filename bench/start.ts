import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { median } from './support/load.ts';
import { startServer } from './support/process.ts';

const ROUNDS = 7;
const IDLE_MS = 500;

/** Start to the first answer, and memory at rest, against a bare Fastify process. */
export async function run(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'tillway-bench-'));
  const starts: number[] = [];
  const memories: number[] = [];
  try {
    for (let round = 0; round < ROUNDS; round++) {
      const echo = await measure('./support/bare-server.ts', {});
      const tillway = await measure('../src/main.ts', { DATABASE_URL: `sqlite:${join(folder, `${round}.db`)}` });
      starts.push(tillway.startMs / echo.startMs);
      memories.push(tillway.memoryMiB / echo.memoryMiB);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  process.stdout.write(`\nStart and rest, against a bare Fastify process, ${ROUNDS} rounds\n`);
  process.stdout.write(`  cold start       ratio ${median(starts).toFixed(2)}\n`);
  process.stdout.write(`  memory at rest   ratio ${median(memories).toFixed(2)}\n`);
}

async function measure(file: string, variables: Record<string, string>) {
  const server = await startServer(new URL(file, import.meta.url), variables);
  await sleep(IDLE_MS);
  const measured = { startMs: server.startMs, memoryMiB: server.memoryMiB() };
  await server.stop();
  return measured;
}

if (import.meta.main) await run();
