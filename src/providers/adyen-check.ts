import { type AdyenCall, type AdyenInstance, refusedKey } from './adyen-api.ts';
import { dollars } from './adyen-messages.ts';
import { readMethods } from './adyen-objects.ts';
import { ADYEN_NETWORKS, adyenMethodOf } from './adyen-settings.ts';
import { NoAnswer } from './provider-http.ts';
import type { CheckResult, Finding } from './provider.ts';

const CHECK_TIMEOUT_MS = 8000;
// Some payment methods have a minimum or a maximum, so the check asks for those of a usual amount.
const USUAL_CENTS = 5000;

/** Checks whether an instance can take payments: API key, merchant account and payment methods, and the arrival of callbacks. */
export async function checkAdyen(
  call: AdyenCall,
  instance: AdyenInstance,
  arrival: () => Promise<Finding>,
): Promise<CheckResult> {
  const [{ finding, unavailable }, arrived] = await Promise.all([findMethods(call, instance), arrival()]);
  const findings = [finding, arrived];
  const ready = findings.every(({ level }) => level !== 'error');
  return { ready, findings, ...(unavailable && { unavailable }) };
}

async function findMethods(
  call: AdyenCall,
  { settings: { merchantAccount, country } }: AdyenInstance,
): Promise<{ finding: Finding; unavailable?: Record<string, string> }> {
  const json = { merchantAccount, countryCode: country, amount: dollars(USUAL_CENTS) };
  try {
    const answer = await call('POST', '/paymentMethods', { json, timeoutMs: CHECK_TIMEOUT_MS });
    const refusal = refusedKey(answer);
    if (refusal !== undefined) {
      const todo = `Set a valid API key with a role for ${merchantAccount}, and restart the service.`;
      return { finding: { level: 'error', message: refusal, todo } };
    }
    const methods = answer.status === 200 ? readMethods(answer.json) : undefined;
    if (!methods) return { finding: { level: 'error', message: `Adyen answered ${answer.status} to the check` } };
    const offered = new Set(methods.paymentMethods.map(({ type }) => type));
    const missing = ADYEN_NETWORKS.filter((network) => !offered.has(adyenMethodOf(network)!));
    const reasons = missing.map((network) => [network, `${merchantAccount} does not offer ${adyenMethodOf(network)}`]);
    return {
      finding: { level: 'ok', message: `merchant account ${merchantAccount} can take payments` },
      unavailable: Object.fromEntries(reasons) as Record<string, string>,
    };
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    const todo = 'Allow requests to adyen.com and adyenpayments.com.';
    return { finding: { level: 'error', message: `Adyen cannot be reached: ${error.message}`, todo } };
  }
}
