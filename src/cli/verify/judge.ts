import { WebhookVerificationError, webhooks } from '../../../sdk/src/index.ts';
import { diagnose } from './diagnose.ts';
import type { Diagnosis, Finding, Received } from './diagnosis.ts';
import { headerOf } from './headers.ts';

/**
 * Whether a delivery is genuine, and why not. What the diagnosis finds nothing amiss in is held against the SDK at last:
 * genuine is what a receiver accepts, so that body and headers name the same event, and the body is one.
 */
export async function judge(received: Received): Promise<Diagnosis> {
  const diagnosis = diagnose(received);
  if (!diagnosis.genuine) return diagnosis;
  const findings = await refusalOf(received);
  return findings.length === 0 ? diagnosis : { ...diagnosis, genuine: false, findings };
}

/** Why a receiver with the SDK refuses it; nothing where it takes it under one of the secrets. */
async function refusalOf({ headers, body, secrets, now, toleranceSeconds }: Received): Promise<Finding[]> {
  const options = { toleranceSeconds, now: now * 1000 };
  const refusals: WebhookVerificationError[] = [];
  for (const { secret } of secrets) {
    try {
      await webhooks.verify(body, { get: (name) => headerOf(headers, name) }, secret, options);
      return [];
    } catch (error) {
      if (!(error instanceof WebhookVerificationError)) throw error;
      refusals.push(error);
    }
  }
  // What is refused for its body was rightly signed: that is the secret it is about.
  const told = refusals.find(({ reason }) => reason === 'invalid_payload') ?? refusals[0];
  if (!told) return [];
  const { reason, message, suggestion = '' } = told;
  return [{ cause: reason, certainty: 'proven', message, fix: suggestion }];
}
