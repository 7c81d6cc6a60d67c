import assert from 'node:assert/strict';
import { type AppDeps, type Part, createApp } from '../../src/http/app.ts';
import { healthProbes } from '../../src/http/health-probes.ts';
import { createRandomBytes } from '../../src/runtime.ts';
import { call, sessionBody, startTestService } from '../support/service.ts';
import { type FuzzOptions, type FuzzTarget, fuzzBytes } from './fuzz.ts';
import { createKnownIds } from './known-ids.ts';

export interface FuzzedService extends FuzzTarget, AsyncDisposable {
  deps: AppDeps;
  /** Starts an app in which `part` injects a fault, and fuzzes this app. */
  fuzzInjected(part: Part, options: FuzzOptions, isReady?: () => boolean): ReturnType<typeof fuzzBytes>;
}

const SECRET_BYTES = 32;
const FIRST_SESSIONS = 20;

/** Starts the whole service, with running workers, on a new database with a few sessions. */
export async function startFuzzedService(): Promise<FuzzedService> {
  await using stack = new AsyncDisposableStack();
  const secrets: string[] = [];
  const systemBytes = createRandomBytes();
  const { service, url, logged } = stack.use(
    await startTestService({
      live: true,
      // Records the secrets that the service shares only with its simulated provider.
      randomBytes(size) {
        const bytes = systemBytes(size);
        if (size === SECRET_BYTES) secrets.push(Buffer.from(bytes).toString('base64url'));
        return bytes;
      },
    }),
  );
  const [apiKey = '', callbackSecret = ''] = secrets;
  const headers = { authorization: `Bearer ${apiKey}` };
  const { status } = await fetch(`${url}/simulator/api/payments/none`, { headers });
  assert.equal(status, 404, 'the first secret is not the API key of the simulated provider');
  const sessions: string[] = [];
  for (let index = 0; index < FIRST_SESSIONS; index++) {
    sessions.push((await call<{ id: string }>('POST', `${url}/api/gateway/sessions`, sessionBody())).body.id);
  }
  const { host, port } = new URL(url);
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
        return await fuzzBytes({ ...target, port: Number(injected.port), world }, options);
      } finally {
        await app.close();
      }
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
