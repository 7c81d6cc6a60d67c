import assert from 'node:assert/strict';
import { pino } from 'pino';
import { readConfig } from '../../src/config.ts';
import { type AppDeps, type Part, createApp } from '../../src/http/app.ts';
import { healthProbes } from '../../src/http/health-probes.ts';
import { createRandomBytes, systemClock } from '../../src/runtime.ts';
import { startService } from '../../src/service.ts';
import { openStore } from '../../src/store/open.ts';
import { createServiceDatabase } from '../support/database.ts';
import { NO_RATE_LIMITS } from '../support/rate-limits.ts';
import { call, sessionBody } from '../support/service.ts';
import { type FuzzOptions, type FuzzReport, type Target, fuzz } from './fuzz.ts';
import { createKnownIds } from './known-ids.ts';

export interface FuzzedService extends Target, AsyncDisposable {
  deps: AppDeps;
  /** Fuzzes an app with an injected fault. */
  fuzzInjected(part: Part, options: FuzzOptions, isReady?: () => boolean): Promise<FuzzReport>;
}

const SECRET_BYTES = 32;
const FIRST_SESSIONS = 20;

/** The whole service with its workers running, on a database of its own that holds a few sessions. */
export async function startFuzzedService(): Promise<FuzzedService> {
  await using stack = new AsyncDisposableStack();
  const database = stack.use(await createServiceDatabase());
  const logged: string[] = [];
  const secrets: string[] = [];
  const systemBytes = createRandomBytes();
  const service = await startService(readConfig({ ...NO_RATE_LIMITS, PORT: '0', DATABASE_URL: database.url }), {
    clock: systemClock,
    // Records the secrets that the service shares only with its simulated provider.
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
  });
  stack.defer(() => service.stop());
  const [apiKey = '', callbackSecret = ''] = secrets;
  const headers = { authorization: `Bearer ${apiKey}` };
  const { status } = await fetch(`${service.url}/simulator/api/payments/none`, { headers });
  assert.equal(status, 404, 'the first secret is not the API key of the simulated provider');
  const sessions: string[] = [];
  for (let index = 0; index < FIRST_SESSIONS; index++) {
    sessions.push((await call<{ id: string }>('POST', `${service.url}/api/gateway/sessions`, sessionBody())).body.id);
  }
  const { host, port } = new URL(service.url);
  const target = { port: Number(port), world: { host, ids: createKnownIds(sessions), apiKey, callbackSecret }, logged };
  const deps = service.deps as AppDeps;
  const owned = stack.move();
  return {
    ...target,
    deps,
    async fuzzInjected(part, options, isReady = () => true) {
      const app = await createApp({ ...deps, isReady }, [healthProbes, part]);
      await app.listen({ host: '127.0.0.1', port: 0 });
      const injected = new URL(app.listeningOrigin);
      try {
        const world = { ...target.world, host: injected.host };
        return await fuzz({ ...target, port: Number(injected.port), world }, options);
      } finally {
        await app.close();
      }
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
