import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ONLY_IN_FULL_RUN } from '../support/for-all.ts';
import { startServer } from '../support/http-server.ts';
import { RULES, type Rule, type StartParty, type World, checkEnds, startWorld } from './conformance.ts';
import { MUTANTS } from './conformance-mutants.ts';
import { startPaypal } from './conformance-paypal.ts';
import { startExample, startSimulator, startStripe } from './conformance-parties.ts';

const PARTIES: Record<string, StartParty> = {
  'the simulated provider': startSimulator,
  Stripe: startStripe,
  PayPal: startPaypal,
  'the example provider': startExample,
};

let silent: Awaited<ReturnType<typeof startServer>>;
before(async () => {
  silent = await startServer(() => undefined);
});
after(() => silent[Symbol.asyncDispose]());

// The adapters are tested concurrently, because the check of a provider that does not answer takes seconds.
describe('adapters', { concurrency: true }, () => {
  for (const [name, startParty] of Object.entries(PARTIES)) {
    describe(`the adapter of ${name}`, { concurrency: false }, () => {
      let world: World;
      let ended: Promise<void> | undefined;
      before(async () => {
        world = await startWorld(startParty);
        if (ONLY_IN_FULL_RUN.skip) return;
        ended = checkEnds(world, silent.url);
        ended.catch(() => undefined);
      });
      after(() => world[Symbol.asyncDispose]());

      for (const [rule, holds] of Object.entries(RULES)) test(rule, () => holds(world));
      test('a check ends within 10 s, even if the provider does not answer', ONLY_IN_FULL_RUN, () => ended);
    });
  }
});

describe('mutants of the conformance suite', { concurrency: 2, ...ONLY_IN_FULL_RUN }, () => {
  for (const [rule, defect, change] of MUTANTS) {
    test(`the suite detects an adapter that ${defect}, which breaks the rule: ${rule}`, async () => {
      await using world = await startWorld(startExample, (good, party) => ({ ...good, ...change(good, party) }));
      await assert.rejects(RULES[rule](world), assert.AssertionError);
    });
  }

  test('the suite detects an adapter whose check never ends', async () => {
    const never = () => new Promise<never>(() => undefined);
    await using world = await startWorld(startExample, (good) => ({ ...good, check: never }));
    await assert.rejects(checkEnds({ ...world, checkLimitMs: 100 }, silent.url), /within its limit/);
  });
});

test('every rule of the suite has a mutant adapter that breaks it', () => {
  const broken = new Set(MUTANTS.map(([rule]) => rule));
  assert.deepEqual(
    Object.keys(RULES).filter((rule) => !broken.has(rule as Rule)),
    [],
  );
});
