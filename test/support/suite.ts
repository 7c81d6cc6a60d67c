import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { type TestService, type TestServiceOptions, startTestService } from './service.ts';
import { assertSound } from './sound.ts';

interface SuiteOptions extends TestServiceOptions {
  /** True to check every invariant of the database, and the sum of the ledger, after the tests. */
  sound?: boolean;
}

/** A service that runs during the tests of this file or suite. `prepare` runs before the tests. */
export function suiteService(options?: SuiteOptions, prepare?: () => unknown): TestService {
  return suiteInstances(1, options, prepare)[0]!;
}

/** Several instances on one database, with the options of {@link suiteService}. */
export function suiteInstances(
  count: number,
  { sound = false, ...options }: SuiteOptions = {},
  prepare: () => unknown = () => undefined,
): TestService[] {
  const running: TestService[] = [];
  before(async () => {
    while (running.length < count) {
      const [first] = running;
      running.push(await startTestService({ ...options, ...(first && { beside: first }) }));
    }
    // `prepare` runs in the same hook, because Node runs several hooks of a file at the same time.
    await prepare();
  });
  after(async () => {
    try {
      if (!sound || !running[0]) return;
      const { databaseUrl, service } = running[0];
      await assertSound(databaseUrl);
      assert.equal(await service.deps.store.ledgerTotal(), 0);
    } finally {
      // The instances stop in reverse order, because the first instance removes the database.
      for (const each of running.toReversed()) await each[Symbol.asyncDispose]();
    }
  });
  // The services do not exist before the hook has run.
  const handle = (index: number): TestService =>
    new Proxy({} as TestService, { get: (_, name) => Reflect.get(running[index]!, name) as unknown });
  return Array.from({ length: count }, (_, index) => handle(index));
}
