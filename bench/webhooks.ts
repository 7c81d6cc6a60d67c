import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../src/runtime.ts';
import { openSqlite } from '../src/store/sqlite.ts';
import { bareLoopTo, dispatcherOn, rateOf, startReceiver } from './support/deliveries.ts';
import type { Measured } from './support/goals.ts';
import { median } from './support/load.ts';

const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 8);
const EVENTS = 4000;
const WARM_UP = 2000;

/**
 * Measures the deliveries per second of the dispatcher, with durable claims and outcomes in SQLite, against a loop that signs and
 * posts the same bodies to the same receiver with the same concurrency. The rounds of both alternate.
 */
export async function benchmarkWebhooks(): Promise<Measured[]> {
  await using receiver = await startReceiver();
  const folder = mkdtempSync(join(tmpdir(), 'tillway-bench-'));
  try {
    const path = join(folder, 'bench.db');
    const log = { info: () => undefined, warn: () => undefined };
    await using dispatcher = await dispatcherOn(
      await openSqlite({ path, clock: systemClock, log, onFatal }),
      receiver.url,
    );
    await using bare = bareLoopTo(receiver.url);
    for (const sender of [bare, dispatcher]) await rateOf(sender, WARM_UP);
    const ratios: number[] = [];
    const twins: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const baseline = await rateOf(bare, EVENTS);
      ratios.push((await rateOf(dispatcher, EVENTS)) / baseline);
      twins.push((await rateOf(bare, EVENTS)) / baseline);
    }
    const range = `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`;
    process.stdout.write(`\nWebhook deliveries on SQLite, ${ROUNDS} rounds of ${EVENTS} events\n`);
    process.stdout.write(`  ratio ${median(ratios).toFixed(2)} to a bare loop of signed POSTs (${range})\n`);
    return [{ name: 'Webhook deliveries on SQLite', value: median(ratios), twin: median(twins) }];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function onFatal(error: Error): never {
  throw error;
}

if (import.meta.main) await benchmarkWebhooks();
