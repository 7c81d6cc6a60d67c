import { after, before, describe, test } from 'node:test';
import { ONLY_IN_FULL_RUN } from '../support/for-all.ts';
import { startServer } from '../support/http-server.ts';
import { RULES, type World, checkEnds, startWorld } from './conformance.ts';
import { startAdyen } from './conformance-adyen.ts';

describe('the adapter of Adyen', { concurrency: false }, () => {
  let world: World;
  before(async () => {
    world = await startWorld(startAdyen);
  });
  after(() => world[Symbol.asyncDispose]());

  for (const [rule, holds] of Object.entries(RULES)) test(rule, () => holds(world));

  test('a check ends within 10 s, even if the provider does not answer', ONLY_IN_FULL_RUN, async () => {
    await using silent = await startServer(() => undefined);
    await checkEnds(world, silent.url);
  });
});
