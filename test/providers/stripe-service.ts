import assert from 'node:assert/strict';
import type { Checkout, Payment } from '../../src/domain/records.ts';
import type { RouteKind } from '../../src/domain/route.ts';
import { overrideHealth } from '../../src/operations/routing/override-health.ts';
import { saveRules } from '../../src/operations/routing/saved-rules.ts';
import { type TestService, type TestServiceOptions, startTestService } from '../support/service.ts';
import { type ScriptedStripe, startScriptedStripe } from './scripted-stripe.ts';

/** A service and the scripted Stripe that it is configured for. */
export interface StripeService extends AsyncDisposable {
  on: TestService;
  stripe: ScriptedStripe;
}

const START = Date.parse('2026-03-01T12:00:00.000Z');
/** Total that the buyer accepts, in cents, higher than every total in the tests. */
const ANY_TOTAL = '10000000';

/** The variables with which a merchant connects the scripted Stripe. */
export function stripeVariables({ secretKey, webhookSecret, url }: ScriptedStripe): Record<string, string> {
  return { STRIPE_SECRET_KEY: secretKey, STRIPE_WEBHOOK_SECRET: webhookSecret, STRIPE_API_BASE: url };
}

/** Starts a scripted Stripe and a service that is configured for it by environment variables; both use the same clock. */
export async function startStripeService(options: TestServiceOptions = {}): Promise<StripeService> {
  let on: TestService | undefined;
  const stripe = await startScriptedStripe({ now: () => on?.clock.now() ?? START });
  on = await startTestService({
    ...options,
    variables: { ...stripeVariables(stripe), ...options.variables },
  });
  stripe.callbackUrl = `${on.url}/api/providers/stripe_test/callbacks`;
  return {
    on,
    stripe,
    async [Symbol.asyncDispose]() {
      await on[Symbol.asyncDispose]();
      await stripe[Symbol.asyncDispose]();
    },
  };
}

/** Removes all other routes from the service. */
export function keepRoutes({ service: { deps } }: TestService, ...ids: string[]): void {
  deps.routes = deps.routes.filter(({ id }) => ids.includes(id));
}

/** Replaces the routing rules by one that prefers a route; without a route, removes all rules. */
export async function preferRoute({ service: { deps } }: TestService, route?: string): Promise<void> {
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of the rule language
  const rules = route === undefined ? [] : [{ id: 'first', then: { priority: [route] } }];
  await saveRules(deps, { version: 1, rules });
}

/** Overrides the health of all routes, so that they stay live whatever happens to their payments. */
export async function keepLive({ service: { deps } }: TestService): Promise<void> {
  for (const { id } of deps.routes) await overrideHealth(deps, id, { health: 'live', reason: 'a test of faults' });
}

/** Session with its payments and invoices, from the store of the service. */
export async function checkoutOf({ service }: TestService, id: string): Promise<Checkout> {
  return (await service.deps.store.checkout(id))!;
}

/** Newest payment of a session. */
export async function lastPayment(on: TestService, id: string): Promise<Payment> {
  return (await checkoutOf(on, id)).payments.at(-1)!;
}

/** Id of Stripe's Checkout Session for the newest payment. */
export async function stripeSessionOf(on: TestService, id: string): Promise<string> {
  const { providerReference } = await lastPayment(on, id);
  assert.ok(providerReference);
  return providerReference;
}

/** Sends a form of the current checkout page; returns the URL of the redirect. */
export async function sendForm(on: TestService, id: string, step: string, fields: Record<string, string> = {}) {
  const { session } = await checkoutOf(on, id);
  const body = new URLSearchParams({ attempt: String(session.attempts), ...fields });
  const url = `${on.url}/checkout/${id}/${step}`;
  const answer = await fetch(url, { method: 'POST', redirect: 'manual', body });
  await answer.arrayBuffer();
  assert.equal(answer.status, 303, `the form ${step} got the status ${answer.status}`);
  return answer.headers.get('location')!;
}

/** The buyer chooses a payment method; returns the URL of the redirect. */
export function choose(on: TestService, id: string, kind: RouteKind): Promise<string> {
  return sendForm(on, id, 'pay', { kind, [`total_${kind}`]: ANY_TOTAL });
}

/** Text of a page of the checkout, without markup. */
export async function pageText({ url }: TestService, path: string): Promise<string> {
  const page = await (await fetch(new URL(path, url))).text();
  return page.replace(/<style[\s\S]*?<\/style>|<[^>]+>/g, ' ').replace(/\s+/g, ' ');
}

/** Waits for the callbacks, moves the clock by `ms`, and runs the due work. */
export async function deliver({ on, stripe }: StripeService, ms = 1000): Promise<void> {
  await stripe.sent();
  await on.pass(ms);
}
