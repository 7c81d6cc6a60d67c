import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Stripe } from 'stripe';
import { STRIPE_EVENTS } from '../../src/providers/stripe-messages.ts';
import { CALLBACK_URL, type StripeWorld, startStripeWorld } from './stripe-fixtures.ts';

type Literal<Union> = Union extends string ? (string extends Union ? never : Union) : never;

const EVENTS: Literal<Stripe.WebhookEndpointCreateParams.EnabledEvent>[] = [
  'checkout.session.completed',
  'checkout.session.async_payment_succeeded',
  'checkout.session.async_payment_failed',
  'checkout.session.expired',
  'refund.created',
  'refund.updated',
  'refund.failed',
  'charge.dispute.created',
  'charge.dispute.funds_withdrawn',
  'charge.dispute.funds_reinstated',
  'charge.dispute.closed',
  'payout.paid',
  'payout.failed',
];

async function startCheckedWorld(settings?: Record<string, unknown>): Promise<StripeWorld> {
  const world = await startStripeWorld(settings);
  world.stripe.endpoints.push({ url: CALLBACK_URL, status: 'enabled', enabled_events: [...EVENTS] });
  return world;
}

/** Runs a check; returns its readiness and its errors and warnings, one line each. */
async function problemsOf({ provider }: StripeWorld) {
  const { ready, findings, unavailable } = await provider.check();
  const problems = findings.filter(({ level }) => level !== 'ok');
  return {
    ready,
    unavailable,
    problems: problems.map(({ level, message, todo = '' }) => `${level}: ${message} | ${todo}`),
  };
}

describe('the check of a Stripe instance', () => {
  test('the check finds no problem in a correct account, and every subscribed event exists in Stripe', async () => {
    await using world = await startCheckedWorld();
    assert.deepEqual(STRIPE_EVENTS, EVENTS);
    const { ready, findings, unavailable } = await world.provider.check();
    assert.deepEqual([ready, findings.map(({ level }) => level), unavailable], [true, ['ok', 'ok'], undefined]);
    world.stripe.endpoints[0]!.enabled_events = ['*'];
    assert.deepEqual((await problemsOf(world)).problems, []);
  });

  const FAULTS: [name: string, ready: boolean, problem: RegExp, breaks: (world: StripeWorld) => unknown][] = [
    [
      'a revoked key',
      false,
      /^error: the key was refused \(401\).*\[key\]/,
      ({ stripe }) => (stripe.isKeyRevoked = true),
    ],
    ['Stripe down', false, /^error: Stripe cannot be reached/, ({ stripe }) => stripe.goDown()],
    [
      'a 500',
      false,
      /^error: Stripe answered 500/,
      ({ stripe }) => stripe.faults.push('error_500_before', 'error_500_before'),
    ],
    [
      'an empty answer',
      false,
      /^error: Stripe answered 200/,
      ({ stripe }) => stripe.faults.push('empty_after', 'empty_after'),
    ],
    [
      'charges that are not enabled',
      false,
      /^error: account \w+ cannot take/,
      ({ stripe }) => (stripe.account.charges_enabled = false),
    ],
    [
      'another currency',
      true,
      /^warning: account \w+ settles in EUR/,
      ({ stripe }) => (stripe.account.default_currency = 'eur'),
    ],
    [
      'no webhook endpoint',
      true,
      /^warning: no webhook endpoint.*stripe listen/,
      ({ stripe }) => stripe.endpoints.pop(),
    ],
    [
      'a disabled endpoint',
      true,
      /^warning: .*is disabled/,
      ({ stripe }) => (stripe.endpoints[0]!.status = 'disabled'),
    ],
    [
      'a missing event',
      true,
      /^warning: .*not get all events.*payout\.failed/,
      ({ stripe }) => stripe.endpoints[0]!.enabled_events.pop(),
    ],
  ];
  for (const [name, ready, problem, breaks] of FAULTS) {
    test(`the check of a Stripe instance detects ${name}, and no finding or log line contains the key`, async () => {
      await using world = await startCheckedWorld();
      await breaks(world);
      const found = await problemsOf(world);
      assert.equal(found.ready, ready);
      assert.ok(
        found.problems.some((line) => problem.test(line)),
        found.problems.join('\n'),
      );
      assert.ok(!JSON.stringify([found, world.log]).includes(world.stripe.secretKey));
    });
  }

  test('the check reports "not ready" for a key of another account than the configured account', async () => {
    await using world = await startCheckedWorld({ account: 'acct_other' });
    const { ready, problems } = await problemsOf(world);
    assert.equal(ready, false);
    assert.match(problems[0]!, new RegExp(`belongs to account ${world.stripe.account.id}, not to acct_other`));
  });

  test('the check reports as unavailable the networks whose capability the account lacks', async () => {
    await using world = await startCheckedWorld();
    const { capabilities } = world.stripe.account;
    delete capabilities['crypto_payments'];
    capabilities['us_bank_account_ach_payments'] = 'pending';
    const { ready, unavailable } = await problemsOf(world);
    assert.equal(ready, true);
    assert.deepEqual(Object.keys(unavailable!), ['ach', 'stripe_crypto']);
    assert.match(unavailable!['ach']!, /is pending/);
    assert.match(unavailable!['stripe_crypto']!, /not requested/);
  });
});
