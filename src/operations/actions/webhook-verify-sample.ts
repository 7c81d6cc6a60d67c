import { SAMPLE_PROVIDER, SAMPLE_SESSION_ID } from '../../contract/sample-ids.ts';
import { verifySampleRequest, verifySampleResult } from '../../contract/action-contract.ts';
import { optionsOf } from '../capabilities/command-line.ts';
import { INVALID_INPUT, INVALID_JSON, UNAVAILABLE, defineAction } from '../operation.ts';
import { verifySample } from '../verify-sample.ts';

const OPTIONS = {
  eventId: 'event-id',
  sessionId: 'session',
  status: 'status',
  amount: 'amount',
  txHash: 'tx-hash',
  provider: 'provider',
  signature: 'signature',
};

export const webhookVerifySample = defineAction({
  name: 'webhook.verify_sample',
  title: 'Verify a sample provider callback',
  description:
    'Checks a provider callback. Use it to test signing, or to change a sandbox session without a buyer: a correctly signed sample is applied to the session and queues its event; failed ends the session. Not for webhooks that you receive. Never changes production.',
  input: verifySampleRequest,
  output: verifySampleResult,
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  access: 'write',
  errors: [
    INVALID_INPUT,
    INVALID_JSON,
    {
      code: 'invalid_signature',
      recovery: 'fix_input',
      do: 'Sign as webhooks.verifySample says.',
    },
    UNAVAILABLE,
  ],
  next: 'If merchantWebhookQueued, read getPayment with sessionId.',
  command: ({ payload, ...others }) => [
    'webhook',
    'verify-sample',
    ...optionsOf({ ...(payload as Record<string, unknown>), ...others }, OPTIONS),
  ],
  example: () => {
    const payload = {
      eventId: 'your-event-id',
      sessionId: SAMPLE_SESSION_ID,
      status: 'paid',
      amount: 49.99,
    };
    const { amount: _amount, ...named } = payload;
    return {
      request: { payload },
      response: {
        accepted: true,
        provider: SAMPLE_PROVIDER,
        ...named,
        merchantWebhookQueued: false,
        signatureVerified: false,
      },
    };
  },
  run: async (deps, input, sent) => ({ result: await verifySample(deps, input, sent) }),
});
