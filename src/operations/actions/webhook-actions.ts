import { SAMPLE_IDS, SAMPLE_PROVIDER } from '../../contract/sample-ids.ts';
import {
  verifySampleRequest,
  verifySampleResult,
  webhookExampleRequest,
  webhookExampleResult,
} from '../../contract/action-contract.ts';
import { optionsOf } from '../capabilities.ts';
import { READ_ONLY, defineAction } from '../operation.ts';
import { verifySample, sampleRoute, webhookExample } from '../webhook-samples.ts';

const SAMPLE_TIME = Date.parse('2026-01-15T09:30:00.000Z');

export const webhookExampleAction = defineAction({
  name: 'webhook.example',
  title: 'Show a webhook delivery',
  description:
    'Answers headers and body of a delivery, signed with webhooks.sampleSecret. Use it to build a receiver, not to learn about a payment. Sends nothing, reads no record.',
  input: webhookExampleRequest,
  output: webhookExampleResult,
  annotations: READ_ONLY,
  access: 'look',
  errors: [],
  next: 'POST JSON.stringify(payload) with headers to your endpoint: it must answer 200.',
  command: (input) => ['webhook', 'example', ...optionsOf(input)],
  example: ({ routes }) => ({
    request: {},
    response: webhookExample({ routes }, webhookExampleRequest.parse({ routeId: sampleRoute(routes).id }), SAMPLE_TIME),
  }),
  run: (deps, input) => ({ result: webhookExample(deps, input, deps.now(), deps.realNow()) }),
});

export const webhookVerifySample = defineAction({
  name: 'webhook.verify_sample',
  title: 'Verify a sample provider callback',
  description:
    'Checks a provider callback. Use it to test signing, or to change a sandbox session without a buyer: a correctly signed sample is applied to the session and queues its event; failed ends the session. Not for webhooks that you receive. Never changes production.',
  input: verifySampleRequest,
  output: verifySampleResult,
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  access: 'write',
  errors: [{ code: 'invalid_signature', recovery: 'fix_input', do: 'Sign as webhooks.verifySample says.' }],
  next: 'If merchantWebhookQueued, read getPayment with sessionId.',
  command: ({ payload, ...others }) => [
    'webhook',
    'verify-sample',
    ...optionsOf({ ...(payload as Record<string, unknown>), ...others }),
  ],
  example: () => {
    const named = { eventId: 'your-event-id', sessionId: SAMPLE_IDS.chk, status: 'paid' };
    return {
      request: { payload: { ...named, amount: 49.99 } },
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
