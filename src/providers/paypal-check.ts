import { type PaypalApi, type PaypalContext, type PaypalInstance, refusedCredentials } from './paypal-api.ts';
import { PAYPAL_EVENTS } from './paypal-messages.ts';
import { readWebhook } from './paypal-objects.ts';
import { NoAnswer } from './provider-http.ts';
import type { CheckResult, Finding } from './provider.ts';

const CHECK_TIMEOUT_MS = 8000;
const DASHBOARD = 'https://developer.paypal.com/dashboard/applications';
const DISPUTES = 'https://uri.paypal.com/services/disputes/read-seller';

/** Checks whether an instance can take payments: credentials, webhook, permission to read disputes. */
export async function checkPaypal(
  { call, scope }: PaypalApi,
  { settings }: PaypalInstance,
  { callbackUrl }: PaypalContext,
): Promise<CheckResult> {
  const { webhookId } = settings;
  try {
    const path = `/v1/notifications/webhooks/${encodeURIComponent(webhookId)}`;
    const answer = await call('GET', path, { timeoutMs: CHECK_TIMEOUT_MS });
    const refusal = answer.status === 401 ? refusedCredentials(answer) : undefined;
    if (refusal !== undefined) {
      const todo = `Copy the client id and the secret of the app at ${DASHBOARD}, for the right environment, and restart.`;
      return { ready: false, findings: [{ level: 'error', message: refusal, todo }] };
    }
    if (answer.status >= 500 || answer.status === 429)
      return { ready: false, findings: [{ level: 'error', message: `PayPal answered ${answer.status} to the check` }] };
    const webhook = answer.status === 200 ? readWebhook(answer.json) : undefined;
    const accepted: Finding = { level: 'ok', message: 'the credentials are accepted' };
    return {
      ready: true,
      findings: [accepted, webhookFinding(webhook, webhookId, callbackUrl), ...disputeFinding(scope())],
    };
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    const todo = 'Allow requests to api-m.paypal.com or api-m.sandbox.paypal.com.';
    return {
      ready: false,
      findings: [{ level: 'error', message: `PayPal cannot be reached: ${error.message}`, todo }],
    };
  }
}

/** Finding about the webhook at PayPal. A missing webhook is only a warning, because inquiries replace missing callbacks. */
function webhookFinding(webhook: ReturnType<typeof readWebhook>, id: string, callbackUrl: string): Finding {
  if (!webhook) {
    const todo = `Set PAYPAL_WEBHOOK_ID to the id of the app's webhook at ${DASHBOARD}.`;
    return { level: 'warning', message: `the app has no webhook ${id}, so callbacks are rejected`, todo };
  }
  if (webhook.url !== callbackUrl) {
    const message = `the webhook ${id} has the URL ${webhook.url}, not ${callbackUrl}`;
    return { level: 'warning', message, todo: `Change the URL of the webhook at ${DASHBOARD}.` };
  }
  const names = webhook.event_types.map(({ name }) => name);
  const missing = names.includes('*') ? [] : PAYPAL_EVENTS.filter((event) => !names.includes(event));
  if (missing.length === 0) return { level: 'ok', message: `the webhook ${id} gets all events` };
  const todo = `Add to the webhook: ${missing.join(', ')}`;
  return { level: 'warning', message: `the webhook ${id} does not get all events`, todo };
}

function disputeFinding(scope: string): Finding[] {
  if (scope === '' || scope.split(' ').includes(DISPUTES)) return [];
  const message = 'the app must not read disputes, so chargebacks are not booked';
  return [{ level: 'warning', message, todo: `Turn on Disputes in the features of the app at ${DASHBOARD}.` }];
}
