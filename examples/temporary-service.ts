import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { readConfig } from '../src/config.ts';
import { createRandomBytes, systemClock } from '../src/runtime.ts';
import { type Service, startService } from '../src/service.ts';
import { openStore } from '../src/store/open.ts';

const POLL_MS = 250;

/** A service on this machine with an empty database in a temporary folder, which is removed at the end. */
export async function startTemporaryService(variables: Record<string, string>): Promise<Service & AsyncDisposable> {
  const folder = mkdtempSync(join(tmpdir(), 'tillway-example-'));
  const settings = { PORT: '0', DATABASE_URL: `sqlite:${join(folder, 'tillway.db')}`, ...variables };
  const removeFolder = () => rmSync(folder, { recursive: true });
  const started = startService(readConfig(settings), {
    clock: systemClock,
    randomBytes: createRandomBytes(),
    log: pino({ level: 'error' }, pino.destination(2)),
    openStore,
    background: true,
    onFatal(error) {
      throw error;
    },
  });
  const service = await started.catch((error: unknown) => {
    removeFolder();
    throw error;
  });
  return {
    ...service,
    async [Symbol.asyncDispose]() {
      await service.stop();
      removeFolder();
    },
  };
}

/** Waits until a condition holds; returns whether it did in time. */
export async function holdsWithin(ms: number, condition: () => Promise<boolean>): Promise<boolean> {
  const end = performance.now() + ms;
  while (!(await condition())) {
    if (performance.now() > end) return false;
    await sleep(POLL_MS);
  }
  return true;
}

export const dollars = (cents: number): string => (cents / 100).toFixed(2);

/** Exits with a message for the person at the terminal instead of a stack trace. */
export function giveUp(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

export const say = (line: string): void => void process.stdout.write(`${line}\n`);
