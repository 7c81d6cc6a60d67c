// @run needs=process
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { pino } from 'pino';
import { readConfig } from '../../src/config.ts';
import { createRandomBytes, systemClock } from '../../src/runtime.ts';
import { startService } from '../../src/service.ts';
import { type OpenStore, openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';
import { createServiceDatabase } from '../support/database.ts';
import { NO_RATE_LIMITS } from '../support/rate-limits.ts';
import { freePort, httpStatusOf, takenPort } from './program.ts';

/** A method of the store, and the HTTP status of a request at the time of the call; 0 if the port is closed. */
type StoreCall = [read: string, status: number];

const start = (variables: Record<string, string>, open: OpenStore = openStore) =>
  startService(readConfig({ ...NO_RATE_LIMITS, ...variables }), {
    clock: systemClock,
    randomBytes: createRandomBytes(),
    log: pino({ level: 'silent' }),
    openStore: open,
    background: false,
    onFatal(error) {
      throw error;
    },
  });

describe('the port of a starting service', () => {
  it('the port opens after the last call of the store, because a failing call ends the start', async () => {
    await using database = await createServiceDatabase();
    const PORT = String(await freePort());
    const url = `http://127.0.0.1:${PORT}/healthz`;
    const calls: StoreCall[] = [];
    const service = await start({ DATABASE_URL: database.url, PORT }, async (...args) => {
      const store = await openStore(...args);
      return new Proxy(store, {
        get(target, name: keyof Store) {
          const part = target[name] as (...args: unknown[]) => unknown;
          // `now` and `onCommit` do not call the database.
          if (typeof part !== 'function' || name === 'now' || name === 'onCommit') return part;
          return async (...args: unknown[]) => {
            calls.push([name, await httpStatusOf(url)]);
            return part.apply(target, args);
          };
        },
      });
    });
    assert.equal(await httpStatusOf(url), 200);
    const duringStart = calls.splice(0);
    await service.stop();
    assert.ok(duringStart.length > 0);
    assert.deepEqual(
      duringStart.filter(([, status]) => status !== 0),
      [],
    );
  });

  it('the port stays closed if the port for metrics is taken', async () => {
    await using taken = await takenPort();
    const PORT = await freePort();
    await assertRefused({ PORT: String(PORT), METRICS_PORT: String(taken.port) }, /^METRICS_PORT must be a free port/);
    assert.equal(await httpStatusOf(`http://127.0.0.1:${PORT}/healthz`), 0);
  });

  it('the public port opens last: if this port is taken, the service closes the store and the port for metrics', async () => {
    await using taken = await takenPort();
    const METRICS_PORT = await freePort();
    await assertRefused({ PORT: String(taken.port), METRICS_PORT: String(METRICS_PORT) }, /^PORT must be a free port/);
    assert.equal(await httpStatusOf(`http://127.0.0.1:${METRICS_PORT}/metrics`), 0);
  });

  /** Asserts that the service does not start and closes its store. */
  async function assertRefused(variables: Record<string, string>, message: RegExp): Promise<void> {
    await using database = await createServiceDatabase();
    let closed = 0;
    const starting = start({ DATABASE_URL: database.url, ...variables }, async (...args) => {
      const store = await openStore(...args);
      const close = () => {
        closed++;
        return store.close();
      };
      return { ...store, close };
    });
    await assert.rejects(starting, { message });
    assert.equal(closed, 1);
  }
});
