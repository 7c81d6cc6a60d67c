import { rmSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SLOW_BODY, SLOW_HEADERS, openSlowSockets } from '../test/support/slow-sockets.ts';
import { type ServerProcess, launchServer } from './support/process.ts';
import { sessionBody } from './support/session-body.ts';

const SLOW_CALLERS = 4000;
const ROUNDS = 4;
const CALLS = 600;
const SETTLE_MS = 500;

/**
 * Measures the latency of an API call while 2,000 clients send headers and 2,000 clients send bodies very slowly, against the
 * latency without these clients. The measurements alternate; the result is the ratio, because times differ between machines.
 */
export async function benchmarkSlowloris(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'tillway-slow-'));
  try {
    await measure(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function measure(folder: string): Promise<void> {
  const server = await launchServer(new URL('../src/main.ts', import.meta.url), {
    DATABASE_URL: `sqlite:${join(folder, 'slow.db')}`,
  });
  const withoutSlowClients: number[] = [];
  const withSlowClients: number[] = [];
  let openConnections = 0;
  try {
    await measureCalls(server, []);
    for (let round = 0; round < ROUNDS; round++) {
      await measureCalls(server, withoutSlowClients);
      await using slow = await openSlowSockets(server.port, SLOW_CALLERS, [SLOW_HEADERS, SLOW_BODY]);
      await sleep(SETTLE_MS);
      await measureCalls(server, withSlowClients);
      openConnections += slow.open();
    }
  } finally {
    await server.stop();
  }
  process.stdout.write(
    `${(openConnections / ROUNDS).toFixed(0)} slow connections were open at the end of each round\n`,
  );
  for (const share of [0.5, 0.99]) {
    const [before, during] = [quantile(withoutSlowClients, share), quantile(withSlowClients, share)];
    process.stdout.write(
      `p${share * 100}: ${before.toFixed(2)} ms without slow clients, ${during.toFixed(2)} ms with slow clients: ratio ${(during / before).toFixed(2)}\n`,
    );
  }
}

/** Creates sessions one after the other, and adds the time of each call in milliseconds to `durations`. */
async function measureCalls({ port }: ServerProcess, durations: number[]): Promise<void> {
  for (let call = 0; call < CALLS; call++) {
    const startedAt = performance.now();
    const answer = await fetch(`http://127.0.0.1:${port}/api/gateway/sessions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(sessionBody()),
    });
    await answer.arrayBuffer();
    if (answer.status !== 200) throw new Error(`the service answered ${answer.status}`);
    durations.push(performance.now() - startedAt);
  }
}

function quantile(values: readonly number[], share: number): number {
  return values.toSorted((one, other) => one - other)[Math.floor((values.length - 1) * share)]!;
}
