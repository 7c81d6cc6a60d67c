// @run needs=process
import { after, before, describe, test } from 'node:test';
import { startServer } from '../support/http-server.ts';
import { RULES, type World, checkEnds, startWorld } from '../providers/conformance.ts';
import { startUsdc } from './usdc-party.ts';

describe('the adapter of USDC on a chain', { concurrency: false }, () => {
  let world: World;
  before(async () => {
    world = await startWorld(startUsdc);
  });
  after(() => world[Symbol.asyncDispose]());

  for (const [rule, holds] of Object.entries(RULES)) test(rule, () => holds(world));

  test('a check ends within 10 s, even if the provider does not answer', async () => {
    await using silent = await startServer(() => undefined);
    await checkEnds(world, silent.url);
  });
});
