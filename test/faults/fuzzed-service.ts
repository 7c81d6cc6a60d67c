import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { readConfig } from '../../src/config.ts';
import type { AppDeps } from '../../src/http/app.ts';
import { createRandomBytes, systemClock } from '../../src/runtime.ts';
import { startService } from '../../src/service.ts';
import { openStore } from '../../src/store/open.ts';
import { NO_RATE_LIMITS } from '../support/rate-limits.ts';
import { sessionBody } from '../support/service.ts';
import type { Target } from './fuzz-requests.ts';

export interface FuzzedService extends Target, AsyncDisposable {
  deps: AppDeps;
}

const SECRET_BYTES = 32;
const FIRST_SESSIONS = 20;

/** The whole service with its workers running, on a database of its own, holding a few sessions. */
export async function startFuzzedService(): Promise<FuzzedService> {
  const folder = mkdtempSync(join(tmpdir(), 'tillway-fuzz-'));
  const logged: string[] = [];
  const secrets: string[] = [];
  const systemBytes = createRandomBytes();
  const service = await startService(
    readConfig({ ...NO_RATE_LIMITS, PORT: '0', DATABASE_URL: `sqlite:${join(folder, 'fuzz.db')}` }),
    {
      clock: systemClock,
      // The service shares what it agrees on with its simulated provider with nobody: seen here as it is drawn.
      randomBytes(size) {
        const bytes = systemBytes(size);
        if (size === SECRET_BYTES) secrets.push(Buffer.from(bytes).toString('base64url'));
        return bytes;
      },
      log: pino({ level: 'info', base: null }, { write: (line: string) => void logged.push(line) }),
      openStore,
      background: true,
      onFatal(error) {
        throw error;
      },
    },
  );
  const [apiKey = '', callbackSecret = ''] = secrets;
  const { status } = await fetch(`${service.url}/simulator/api/payments/none`, {
    headers: { authorization: `Bearer ${apiKey}` },
  });
  if (status !== 404) {
    // What is left running would keep the tests from ending.
    await service.stop();
    assert.fail('the key of the simulated provider is another one');
  }

  const sessions: string[] = [];
  for (let index = 0; index < FIRST_SESSIONS; index++) {
    const answer = await fetch(`${service.url}/api/gateway/sessions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(sessionBody()),
    });
    sessions.push(((await answer.json()) as { id: string }).id);
  }
  const { host, port } = new URL(service.url);
  return {
    port: Number(port),
    world: { host, ids: new Map([['chk', sessions]]), apiKey, callbackSecret },
    logged,
    deps: service.deps as AppDeps,
    async [Symbol.asyncDispose]() {
      await service.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
