// @run needs=process
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { sessionBody } from '../support/service.ts';
import { createServiceDatabase } from '../support/database.ts';
import { SLOW_BODY, SLOW_HEADERS, openSlowSockets } from '../support/slow-sockets.ts';
import { type RunningService, startServiceProgram } from '../process/program.ts';
import { until } from '../support/until.ts';

const MIB = 1024 * 1024;

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
    await using database = await createServiceDatabase();
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
