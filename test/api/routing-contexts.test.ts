import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RoutingBacktest } from '../../sdk/src/index.ts';
import { tellDecision } from '../../src/cli/routes/routing-text.ts';
import type { ProviderFailure } from '../../src/domain/failure.ts';
import { instrumentById } from '../../src/simulator/test-instruments.ts';
import { reportPayment } from '../fixtures/provider-reports.ts';
import { attempt, createSession, fieldsOf, startAt, submit } from '../simulator/buyer.ts';
import { paymentsOf } from '../support/gateway.ts';
import { type DryRun, ask, decisionsOf, replayOf, saveRules, twinRoutes } from '../support/routing.ts';
import { type TestService, startTestService } from '../support/service.ts';

// oxlint-disable unicorn/no-thenable -- the rule language says then

const COUNTRY = { ROUTING_METADATA_KEY: 'country' };
const SETTLED_MS = 60_000;

/** Pays by card from `country`; the bank declines the payment if it is on the route `declining`. */
async function payFrom(on: TestService, country: string, order: number, declining: string | null): Promise<void> {
  const sessionId = await createSession(on, { metadata: { country }, clientReferenceId: `order-${order}` });
  const page = await startAt(on, sessionId, 'card');
  const [payment] = await paymentsOf(on, sessionId);
  const outcome = payment!.route.id === declining ? 'declined' : 'paid';
  await submit(page, fieldsOf('card', instrumentById(outcome)!));
  await on.pass(60_000);
}

function dryRun(on: TestService, country: string): Promise<DryRun> {
  const body = { amount: 49.99, kind: 'card', metadata: { country } };
  return ask('POST', on, 'dry-run', body);
}

describe('contexts of payments', () => {
  it('a route whose payments from one country are declined is expected to fail there, and the router avoids it there alone', async () => {
    using routes = twinRoutes();
    await using on = await startTestService({ variables: { ...COUNTRY, ROUTES_FILE: routes.path } });
    const first = (await dryRun(on, 'DE')).chosen!;
    const shares = ['sandbox_card_acquirer', 'sandbox_card_backup'].map((route) => ({ route, pct: 50 }));
    await saveRules(on, { id: 'both', then: { split: shares } });
    for (let number = 0; number < 30; number += 1) {
      await payFrom(on, 'FR', number, null);
      await payFrom(on, 'DE', number, first);
    }
    await saveRules(on);
    on.clock.advance(SETTLED_MS);
    await on.service.deps.router.refresh();

    const german = (await dryRun(on, 'DE')).candidates.find(({ route }) => route === first)!;
    const french = (await dryRun(on, 'FR')).candidates.find(({ route }) => route === first)!;
    const [offset] = german.offsets;
    assert.deepEqual([offset?.context, offset?.value], ['metadata', 'DE']);
    assert.ok(offset!.ratio > 1.2, String(offset!.ratio));
    assert.ok(german.expectedSuccess < french.expectedSuccess);
    assert.notEqual((await dryRun(on, 'DE')).chosen, first);

    const sessionId = await createSession(on, { metadata: { country: 'DE' } });
    await startAt(on, sessionId, 'card');
    const [offer, started] = await decisionsOf(on, sessionId);
    for (const decision of [offer!, started!]) {
      assert.ok(decision.candidates.some(({ offsets }) => offsets.some(({ value }) => value === 'DE')));
    }
    const chosen = started!.candidates.find(({ route }) => route === started!.chosen)!;
    assert.ok(chosen.offsets.length > 0);
    const { was } = await ask<RoutingBacktest>('POST', on, 'backtest', { limit: 1 });
    assert.equal(was.expectedSuccess, Math.round(chosen.expectedSuccess * 1_000_000) / 1_000_000);
    assert.match(
      tellDecision(started!, (_style, words) => words),
      /metadata DE: fails [\d.]+ times as often/,
    );
    assert.equal((await replayOf(on, sessionId)).identical, true);
  });
});

describe('the card that a provider has reported', () => {
  it('the next attempt of its buyer avoids the route that declines cards of this country', async () => {
    using routes = twinRoutes();
    await using on = await startTestService({ variables: { ROUTES_FILE: routes.path } });
    const { deps } = on.service;
    const [first, second] = ['sandbox_card_acquirer', 'sandbox_card_backup'] as const;
    /** Starts an attempt on a route, or on the best one, and lets the provider report its card and its end. */
    const pay = async (country: string, failure: ProviderFailure | null, route?: string, known?: string) => {
      await saveRules(on, ...(route === undefined ? [] : [{ id: 'only', then: { split: [{ route, pct: 100 }] } }]));
      const sessionId = known ?? (await createSession(on));
      await startAt(on, sessionId, 'card');
      const payment = (await paymentsOf(on, sessionId)).at(-1)!;
      const card = { country, group: 'visa debit' };
      const status = failure ? 'failed' : 'paid';
      const report = { sessionId, paymentId: payment.id, amount: payment.amount, status, failure, card } as const;
      await reportPayment(deps, report);
      await on.pass(60_000);
      return sessionId;
    };
    const declined = { code: 'declined', source: 'issuer', reason: null } as const;
    const withoutMoney = { code: 'insufficient_funds', source: 'buyer', reason: null } as const;
    for (let number = 0; number < 20; number += 1) {
      for (const route of [first, second]) {
        await pay('FR', null, route);
        await pay('DE', route === first ? declined : null, route);
      }
    }
    on.clock.advance(SETTLED_MS);
    await deps.router.refresh();

    // The buyer's own failure says nothing about the route.
    const sessionId = await pay('DE', withoutMoney, first);
    await pay('DE', null, undefined, sessionId);
    const decisions = await decisionsOf(on, sessionId);
    assert.deepEqual(
      decisions.slice(1).map(({ chosen }) => chosen),
      [first, second],
    );
    const offsets = decisions.map(({ candidates }) => candidates.find(({ route }) => route === first)!.offsets);
    const ofCard = offsets.map((each) => each.filter(({ context }) => context === 'country' || context === 'card'));
    assert.deepEqual(ofCard.slice(0, 2), [[], []], 'before the first report, the card is unknown');
    const [ofCountry] = ofCard[2]!;
    assert.deepEqual([ofCountry?.context, ofCountry?.value], ['country', 'DE']);
    assert.ok(ofCountry!.ratio > 1.2, String(ofCountry!.ratio));
    assert.equal((await replayOf(on, sessionId)).identical, true);
  });
});

describe('the retry of a buyer', () => {
  for (const [reason, outcome, isElsewhere] of [
    ['the bank declined', 'declined', true],
    ['the provider had an error', 'provider_error', true],
    ['the account was empty', 'decline_then_paid', false],
  ] as const) {
    it(`after ${reason}, the next payment of a session ${isElsewhere ? 'takes another route' : 'may take the same route'}`, async () => {
      using routes = twinRoutes();
      await using on = await startTestService({ variables: { ROUTES_FILE: routes.path } });
      await saveRules(on, { id: 'exploit', then: { explore: false } });
      const sessionId = await createSession(on);
      await attempt(on, sessionId, 'card', outcome);
      await on.pass(60_000);
      await startAt(on, sessionId, 'card');
      const decisions = await decisionsOf(on, sessionId);
      const [before, after] = decisions.slice(1).map(({ chosen }) => chosen);
      assert.equal(before !== after, isElsewhere);
    });
  }
});
