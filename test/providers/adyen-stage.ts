import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, beforeEach } from 'node:test';
import type { LedgerBalances } from '../../sdk/src/index.ts';
import type { Payment } from '../../src/domain/records.ts';
import { submit } from '../simulator/buyer.ts';
import { type Gateway, gatewayOf } from '../support/gateway.ts';
import { type MerchantServer, startMerchant } from '../support/http-server.ts';
import { type TestService, sessionBody, startTestService } from '../support/service.ts';
import { assertSound } from '../support/sound.ts';
import { SECRET } from '../webhooks/fixtures.ts';
import type { PaymentAtAdyen } from './scripted-adyen-objects.ts';
import { type ScriptedAdyen, startScriptedAdyen } from './scripted-adyen.ts';
import { choose, keepLive, lastPayment } from './stripe-service.ts';

/** A payment that the buyer has started, and its payment page at Adyen. */
export interface StartedAtAdyen {
  sessionId: string;
  paymentId: string;
  /** Id of the payment link. */
  link: string;
  page: string;
}

/** A service that is configured for a scripted Adyen, a merchant that receives its webhooks, and the actions of tests. */
export interface AdyenStage extends AsyncDisposable {
  tillway: TestService;
  adyen: ScriptedAdyen;
  api: Gateway;
  merchant: MerchantServer;
  /** The buyer chooses the bank debit for a new session. */
  start(): Promise<StartedAtAdyen>;
  /** The buyer sends a form of the page at Adyen. */
  act(started: StartedAtAdyen, act: 'pay' | 'debit' | 'decline'): Promise<void>;
  /** A paid payment of 49.99, whose callback has arrived. */
  sell(): Promise<StartedAtAdyen & { charge: PaymentAtAdyen }>;
  /** Lets callbacks arrive, moves the clock, and runs all due work. */
  pass(ms?: number): Promise<void>;
  payment(started: Pick<StartedAtAdyen, 'paymentId'>): Promise<Payment>;
  /**
   * Asserts that the ledger sums to 0, and that its balance at the provider is Adyen's balance plus `unbooked` cents. Asserts that
   * all invariants hold.
   */
  assertBooks(unbooked?: number): Promise<void>;
}

/** The environment variables of a service that uses a scripted Adyen. */
export function adyenVariables(adyen: ScriptedAdyen): Record<string, string> {
  return {
    ADYEN_API_KEY: adyen.apiKey,
    ADYEN_MERCHANT_ACCOUNT: adyen.merchantAccount,
    ADYEN_HMAC_KEY: adyen.hmacKey,
    ADYEN_CALLBACK_USER: adyen.callbackUser,
    ADYEN_CALLBACK_PASSWORD: adyen.callbackPassword,
    ADYEN_API_BASE: adyen.url,
  };
}

interface StageOptions {
  /** False for an instance that has not received a notification. */
  isNotified?: boolean;
  variables?: Record<string, string>;
}

/** A stage that all tests of a suite share. Its routes stay live, and every test starts with callbacks that arrive. */
export function stageOfSuite(): () => AdyenStage {
  let stage: AdyenStage;
  before(async () => {
    stage = await openAdyenStage();
    await keepLive(stage.tillway);
  });
  beforeEach(() => {
    stage.adyen.sendingOf = () => ({ times: 1, delayMs: 0 });
  });
  after(() => stage[Symbol.asyncDispose]());
  return () => stage;
}

/** Starts the service, the scripted Adyen and the merchant. At the end, all requests and invariants are checked. */
export async function openAdyenStage({ isNotified = true, variables = {} }: StageOptions = {}): Promise<AdyenStage> {
  const merchant = await startMerchant();
  let on: TestService | undefined;
  const adyen = await startScriptedAdyen({ now: () => on?.clock.now() ?? 0 });
  const tillway = (on = await startTestService({
    variables: {
      ...adyenVariables(adyen),
      WEBHOOK_URL: merchant.url,
      WEBHOOK_SECRET: SECRET,
      ENCRYPTION_KEY: randomBytes(32).toString('base64'),
      ...variables,
    },
  }));
  adyen.callbackUrl = `${tillway.url}/api/providers/adyen_test/callbacks`;
  const api = gatewayOf(tillway);

  const stage: AdyenStage = {
    tillway,
    adyen,
    api,
    merchant,
    async start() {
      const { id: sessionId } = await api.post<{ id: string }>('sessions', sessionBody());
      await choose(tillway, sessionId, 'local');
      const { id: paymentId, providerUrl, providerReference } = await lastPayment(tillway, sessionId);
      assert.ok(providerUrl !== null && providerReference !== null, 'the payment has no page at Adyen');
      return { sessionId, paymentId, page: providerUrl, link: providerReference };
    },
    async act({ page }, act) {
      const { status, headers } = await submit(page, { act });
      if (act === 'decline') return assert.equal(status, 200);
      assert.equal((await fetch(headers.get('location')!)).status, 200);
    },
    async sell() {
      const started = await stage.start();
      await stage.act(started, 'pay');
      await stage.pass();
      const charge = [...adyen.payments.values()].find(({ reference }) => reference === started.paymentId)!;
      return { ...started, charge };
    },
    async pass(ms = 1000) {
      await adyen.sent();
      await tillway.pass(ms);
      await adyen.sent();
      await tillway.pass(0);
    },
    payment: async ({ paymentId }) => (await tillway.service.deps.store.payment(paymentId))!,
    async assertBooks(unbooked = 0) {
      const { environments } = await api.get<LedgerBalances>('ledger/balances?environment=sandbox');
      const { accounts, total } = environments[0]!;
      const clearing = accounts.find(({ account }) => account === 'provider_clearing')!.balance;
      assert.deepEqual([total, Math.round(clearing * 100)], [0, adyen.balance() + unbooked]);
      await assertSound(tillway.databaseUrl);
    },
    async [Symbol.asyncDispose]() {
      try {
        assert.deepEqual(
          adyen.requests.flatMap(({ problems }) => problems),
          [],
        );
        await assertSound(tillway.databaseUrl);
      } finally {
        for (const each of [tillway, adyen, merchant]) await each[Symbol.asyncDispose]();
      }
    },
  };
  if (isNotified) {
    await adyen.sendTest();
    await stage.pass(0);
  }
  return stage;
}
