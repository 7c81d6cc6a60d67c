// @run needs=process
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { sessionBody } from '../support/service.ts';
import { createTestDatabase } from '../support/database.ts';
import { SLOW_BODY, SLOW_HEADERS, openSlowSockets } from '../support/slow-sockets.ts';
import { type RunningService, startServiceProgram, statusOf } from '../process/program.ts';
import { until } from '../support/until.ts';

const SENDER = new URL('send-burst.ts', import.meta.url).pathname;
const CONNECTIONS = 1500;
/** Observation time; a single burst ends well within it. */
const OBSERVED_MS = 3000;
const MIB = 1024 * 1024;

test('bursts of pipelined requests delay other clients by at most 1 s more than one request on each connection', async () => {
  await using database = await createTestDatabase();
  await using service = await startServiceProgram({ DATABASE_URL: database.url, LOG_LEVEL: 'error' });
  const single = await longestDelay(service, 1);
  // About 60 KiB of requests on each connection, nearly a whole chunk of Node's reads.
  const delayMs = await longestDelay(service, 1200);
  assert.ok(delayMs <= single + 1000, `1200 requests on each connection: ${delayMs} ms; one: ${single} ms`);
});

/** Longest time for which another client waited for a response during a burst. */
async function longestDelay({ url }: RunningService, copies: number): Promise<number> {
  const sender = spawn(process.execPath, [SENDER, new URL(url).port, String(CONNECTIONS), String(copies)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(sender, 'close');
  try {
    let longestMs = 0;
    let isObserving = true;
    const observe = async (ask: () => Promise<number>) => {
      while (isObserving) {
        const began = performance.now();
        // The response is 503 if the database is overloaded; its delay counts too.
        assert.ok([200, 503].includes(await ask()), 'no answer');
        longestMs = Math.max(longestMs, performance.now() - began);
      }
    };
    const stop = async () => {
      await once(sender.stdout, 'data');
      await new Promise((resolve) => setTimeout(resolve, OBSERVED_MS));
      isObserving = false;
    };
    await Promise.all([stop(), observe(() => statusOf(`${url}/readyz`)), observe(() => createSession(url))]);
    return longestMs;
  } finally {
    sender.kill();
    await exited;
  }
}

async function createSession(url: string): Promise<number> {
  const response = await fetch(`${url}/api/gateway/sessions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify(sessionBody()),
  });
  await response.arrayBuffer();
  return response.status;
}

const MAX_CONNECTIONS = 8192;
const ATTEMPTS = 10_000;
const canOpen =
  Number(/^Max open files +\d+ +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]) > ATTEMPTS + 500;

test(
  '10,000 connections take at most 300 MiB, and connections beyond MAX_CONNECTIONS are closed',
  { skip: !canOpen },
  async () => {
    await using database = await createTestDatabase();
    const patience = { HEADERS_TIMEOUT: '300', REQUEST_TIMEOUT: '400' };
    await using service = await startServiceProgram({ DATABASE_URL: database.url, LOG_LEVEL: 'error', ...patience });
    assert.equal(await createSession(service.url), 200);
    const before = memoryOf(service);
    await using slow = await openSlowSockets(Number(new URL(service.url).port), ATTEMPTS, [SLOW_HEADERS, SLOW_BODY]);
    await until(() => slow.open() <= MAX_CONNECTIONS);
    const grownMib = (memoryOf(service) - before) / MIB;
    assert.equal(slow.open(), MAX_CONNECTIONS);
    assert.ok(grownMib <= 300, `${grownMib} MiB`);
    await slow[Symbol.asyncDispose]();
    await until(async () => (await createSession(service.url).catch(() => 0)) === 200);
  },
);

function memoryOf({ pid }: RunningService): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) * 1024;
}
