import type { AdapterContext } from './adapter-context.ts';
import { NoAnswer } from './provider-http.ts';
import type { CheckResult, Finding } from './provider.ts';
import { type StripeCall, type StripeInstance, refusedKey } from './stripe-api.ts';
import { STRIPE_EVENTS } from './stripe-messages.ts';
import { type StripeAccount, readAccount, readEndpoints } from './stripe-objects.ts';
import { STRIPE_NETWORKS, stripeMethodOf } from './stripe-settings.ts';

// Timeout of each of the two requests of a check. They run concurrently, so a check takes no longer.
const CHECK_TIMEOUT_MS = 8000;

/** Checks whether an instance can take payments: key, account, webhook endpoint, payment methods. */
export async function checkStripe(
  call: StripeCall,
  { settings }: StripeInstance,
  { callbackUrl }: AdapterContext,
): Promise<CheckResult> {
  const [found, endpoint] = await Promise.all([
    findAccount(call, settings.account),
    endpointFinding(call, callbackUrl).catch(unreachable),
  ]);
  const isKnown = found.findings.some(({ message }) => message === endpoint.message);
  const findings = isKnown ? found.findings : [...found.findings, endpoint];
  const ready = findings.every(({ level }) => level !== 'error');
  const unavailable = found.account && unavailableMethods(found.account);
  return { ready, findings, ...(unavailable && { unavailable }) };
}

async function findAccount(
  call: StripeCall,
  wanted: string | undefined,
): Promise<{ account?: StripeAccount; findings: Finding[] }> {
  try {
    const answer = await call('GET', '/v1/account', { timeoutMs: CHECK_TIMEOUT_MS });
    const refusal = refusedKey(answer);
    if (refusal !== undefined) {
      const todo = 'Set a valid secret key, and restart the service.';
      return { findings: [{ level: 'error', message: refusal, todo }] };
    }
    const account = answer.status === 200 ? readAccount(answer.json) : undefined;
    if (account) return { account, findings: accountFindings(account, wanted) };
    return { findings: [{ level: 'error', message: `Stripe answered ${answer.status} to the check` }] };
  } catch (error) {
    return { findings: [unreachable(error)] };
  }
}

function accountFindings(account: StripeAccount, wanted: string | undefined): Finding[] {
  const { id, charges_enabled: chargesEnabled, default_currency: currency } = account;
  const findings: Finding[] = [];
  if (wanted !== undefined && wanted !== id) {
    const todo = `Set the secret key of ${wanted}, or correct the account in the settings.`;
    findings.push({ level: 'error', message: `the key belongs to account ${id}, not to ${wanted}`, todo });
  }
  if (!chargesEnabled) {
    const todo = 'Complete the account at https://dashboard.stripe.com/account.';
    findings.push({ level: 'error', message: `account ${id} cannot take payments yet`, todo });
  }
  if (typeof currency === 'string' && currency !== 'usd') {
    const message = `account ${id} settles in ${currency.toUpperCase()}, so its costs cannot be booked in USD`;
    findings.push({ level: 'warning', message, todo: 'Add a USD bank account at Stripe.' });
  }
  return findings.length > 0 ? findings : [{ level: 'ok', message: `account ${id} can take payments` }];
}

/** Finding about the webhook endpoint at Stripe. A missing endpoint is only a warning, because inquiries replace missing callbacks. */
async function endpointFinding(call: StripeCall, callbackUrl: string): Promise<Finding> {
  const answer = await call('GET', '/v1/webhook_endpoints?limit=100', { timeoutMs: CHECK_TIMEOUT_MS });
  const endpoints = answer.status === 200 ? readEndpoints(answer.json)?.data : undefined;
  if (!endpoints) {
    const message = `the webhook endpoints cannot be read (${answer.status})`;
    return { level: 'warning', message, todo: 'Give the restricted key read access to Webhook Endpoints.' };
  }
  const ours = endpoints.filter(({ url }) => url === callbackUrl);
  if (ours.length === 0) {
    const message = `no webhook endpoint at Stripe has the URL ${callbackUrl}`;
    const todo = `Add one with the events of docs/stripe.md, or run: stripe listen --forward-to ${callbackUrl}`;
    return { level: 'warning', message, todo };
  }
  const enabled = ours.find(({ status }) => status === 'enabled');
  if (!enabled) {
    const todo = 'Enable it at https://dashboard.stripe.com/webhooks.';
    return { level: 'warning', message: `the webhook endpoint ${callbackUrl} is disabled`, todo };
  }
  const events = enabled.enabled_events;
  const missing = events.includes('*') ? [] : STRIPE_EVENTS.filter((event) => !events.includes(event));
  if (missing.length === 0) return { level: 'ok', message: `the webhook endpoint ${callbackUrl} gets all events` };
  const todo = `Add to the endpoint: ${missing.join(', ')}`;
  return { level: 'warning', message: `the webhook endpoint ${callbackUrl} does not get all events`, todo };
}

function unavailableMethods({ id, capabilities }: StripeAccount): Record<string, string> | undefined {
  if (!capabilities) return undefined;
  const reasons = STRIPE_NETWORKS.flatMap((network): [string, string][] => {
    const { capability } = stripeMethodOf(network)!;
    const state = capabilities[capability];
    return state === 'active' ? [] : [[network, `account ${id}: ${capability} is ${state ?? 'not requested'}`]];
  });
  return reasons.length === 0 ? undefined : Object.fromEntries(reasons);
}

function unreachable(error: unknown): Finding {
  if (!(error instanceof NoAnswer)) throw error;
  return {
    level: 'error',
    message: `Stripe cannot be reached: ${error.message}`,
    todo: 'Allow requests to api.stripe.com.',
  };
}
