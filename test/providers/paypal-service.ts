import type { TestServiceOptions } from '../support/service.ts';
import { type TestService, startTestService } from '../support/service.ts';
import { type ScriptedPaypal, startScriptedPaypal } from './scripted-paypal.ts';

/** A service and the scripted PayPal that it is configured for. */
export interface PaypalService extends AsyncDisposable {
  on: TestService;
  paypal: ScriptedPaypal;
  /** Waits for the callbacks, moves the clock by `ms`, and runs the due work, until its own callbacks are handled. */
  deliver(ms?: number): Promise<void>;
}

const START = Date.parse('2026-03-01T12:00:00.000Z');

/** The variables with which a merchant connects the scripted PayPal. */
export function paypalVariables({ clientId, clientSecret, webhookId, url }: ScriptedPaypal): Record<string, string> {
  return {
    PAYPAL_CLIENT_ID: clientId,
    PAYPAL_CLIENT_SECRET: clientSecret,
    PAYPAL_WEBHOOK_ID: webhookId,
    PAYPAL_API_BASE: url,
  };
}

/** Starts a scripted PayPal and a service that is configured for it by environment variables; both use the same clock. */
export async function startPaypalService(options: TestServiceOptions = {}): Promise<PaypalService> {
  let on: TestService | undefined;
  const paypal = await startScriptedPaypal({ now: () => on?.clock.now() ?? START });
  on = await startTestService({ ...options, variables: { ...paypalVariables(paypal), ...options.variables } });
  paypal.callbackUrl = `${on.url}/api/providers/paypal_test/callbacks`;
  await on.pass(0);
  return {
    on,
    paypal,
    async deliver(ms = 1000) {
      await paypal.sent();
      await on.pass(ms);
      await paypal.sent();
      await on.pass(0);
    },
    async [Symbol.asyncDispose]() {
      await on[Symbol.asyncDispose]();
      await paypal[Symbol.asyncDispose]();
    },
  };
}
