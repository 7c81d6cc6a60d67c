import { SAMPLE_IDS } from '../../contract/sample-ids.ts';
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
  example: ({ routes }) => {
    const request = webhookExampleRequest.parse({ routeId: sampleRoute(routes).id });
    const { headers, payload } = webhookExample({ routes }, request, SAMPLE_TIME);
    const { id, type, data } = payload;
    const { session_id, status, amount } = data;
    return {
      request: {},
      response: {
        headers: { 'x-gateway-signature': headers['x-gateway-signature'] },
        payload: { id, type, data: { session_id, status, amount } },
      },
    };
  },
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
  example: () => ({
    request: { payload: { eventId: 'your-event-id', sessionId: SAMPLE_IDS.chk, status: 'paid', amount: 49.99 } },
    response: { accepted: true, merchantWebhookQueued: false, signatureVerified: false },
  }),
  run: async (deps, input, sent) => ({ result: await verifySample(deps, input, sent) }),
});
